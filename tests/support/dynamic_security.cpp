#include "support/dynamic_security.h"

#include <gtest/gtest.h>

#include <fstream>

namespace keyed_sticky::test {

const std::string kPassword =
    R"("salt": "a2V5ZWQtc3RpY2t5", "iterations": 101, "password": )"
    R"("ItZjaZJByNGpSVubx1AyZqE/fu/FzTSMe4KwRSbiQakQg6XMLHEmxzcTm4hbdXazXS7S3/2DPALb6o07FbZKMQ==")";

OtherPlugin dynamic_security(const std::string& name, const std::string& json) {
    const std::string file = testing::TempDir() + "keyed-sticky-" + name + ".json";
    std::ofstream(file) << json;
    return {Broker::stock_plugin("dynamic_security"), {{"config_file", file}}};
}

}  // namespace keyed_sticky::test
