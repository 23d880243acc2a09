#include "broker/option_reader.h"

#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "broker/acl_policy.h"
#include "broker/broker_log.h"
#include "core/option_table.h"

namespace keyed_sticky {

namespace {

std::string_view text_or_empty(const char* text) {
    return text == nullptr ? "" : text;
}

void log_all(LogLevel level, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
        broker_log(level, line);
    }
}

}  // namespace

std::optional<LoadedOptions> read_options(const mosquitto_opt* options, int count) {
    std::vector<OptionSetting> settings;
    for (const mosquitto_opt& option : std::span{options, static_cast<std::size_t>(count)}) {
        settings.push_back({text_or_empty(option.key), text_or_empty(option.value)});
    }
    ParseResult parsed = parse_options(settings);
    if (const auto* errors = std::get_if<std::vector<std::string>>(&parsed)) {
        log_all(LogLevel::error, *errors);
        return std::nullopt;
    }
    Options result = std::get<Options>(std::move(parsed));

    std::string why;
    const AclPolicy policy = decide_acl_policy(result, read_broker_conf(why), why);
    log_all(LogLevel::error, policy.refusals);
    log_all(LogLevel::warning, policy.warnings);
    broker_log(LogLevel::notice, policy.explanation);
    result.broker_acl = policy.resolved;
    const auto broken = check_relations(result);
    log_all(LogLevel::error, broken);
    if (!policy.refusals.empty() || !broken.empty()) {
        return std::nullopt;
    }
    return LoadedOptions{std::move(result), policy.asked_first};
}

}  // namespace keyed_sticky
