#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/mqtt_types.h"

namespace keyed_sticky::test {

// For INSTANTIATE_TEST_SUITE_P over both protocols.
inline auto each_protocol() {
    return testing::Values(Protocol::kMqtt311, Protocol::kMqtt5);
}
inline std::string protocol_name(const testing::TestParamInfo<Protocol>& protocol) {
    return protocol.param == Protocol::kMqtt5 ? "V5" : "V311";
}

}  // namespace keyed_sticky::test
