// A11. With per_listener_settings true a plugin sees the clients of its own listener only, while a
// group's members may be on any: the plugin refuses to load.

#include <gtest/gtest.h>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

TEST(CaseA11, PerListenerSettingsAreRefusedWithAClearLine) {
    auto config = case_group();
    config.global_lines = {"per_listener_settings true"};
    const auto refused = Broker::start_expecting_failure(config);
    EXPECT_FALSE(refused.status.clean());
    EXPECT_NE(refused.log.find("per_listener_settings true is not supported"), std::string::npos)
        << refused.log;
}

// The control: the setting's other value, and the setting without the plugin, are accepted.
TEST(CaseA11, OtherwiseItLoads) {
    auto config = case_group();
    config.global_lines = {"per_listener_settings false"};
    EXPECT_TRUE(Broker(config).running());
    config = native_control();
    config.global_lines = {"per_listener_settings true"};
    EXPECT_TRUE(Broker(config).running());
}

}  // namespace
}  // namespace keyed_sticky::test
