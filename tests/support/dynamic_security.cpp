#include "support/dynamic_security.h"

#include "support/temporary_file.h"

namespace keyed_sticky::test {

const std::string kPassword =
    R"("salt": "a2V5ZWQtc3RpY2t5", "iterations": 101, "password": )"
    R"("ItZjaZJByNGpSVubx1AyZqE/fu/FzTSMe4KwRSbiQakQg6XMLHEmxzcTm4hbdXazXS7S3/2DPALb6o07FbZKMQ==")";

OtherPlugin dynamic_security(const std::string& json) {
    return {Broker::stock_plugin("dynamic_security"),
            {{"config_file", temporary_file("dynamic-security.json", json)}}};
}

}  // namespace keyed_sticky::test
