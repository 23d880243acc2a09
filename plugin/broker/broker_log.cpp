#include "broker/broker_log.h"

#include "broker/compat.h"

namespace keyed_sticky {

namespace {

int broker_level(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return MOSQ_LOG_DEBUG;
        case LogLevel::info:
            return MOSQ_LOG_INFO;
        case LogLevel::notice:
            return MOSQ_LOG_NOTICE;
        case LogLevel::warning:
            return MOSQ_LOG_WARNING;
        case LogLevel::error:
            return MOSQ_LOG_ERR;
    }
    return MOSQ_LOG_ERR;
}

}  // namespace

void broker_log(LogLevel level, std::string_view line) {
    mosquitto_log_printf(broker_level(level), "keyed_sticky: %s", escaped(line).c_str());
}

}  // namespace keyed_sticky
