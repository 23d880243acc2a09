#include "core/effect.h"

#include <gtest/gtest.h>

namespace keyed_sticky {
namespace {

// The names are read by workers and scripts: they never change.
TEST(Effect, HandoverCausesHaveFixedNames) {
    EXPECT_EQ(to_string(HandoverCause::first_use), "first-use");
    EXPECT_EQ(to_string(HandoverCause::unsubscribed), "unsubscribed");
    EXPECT_EQ(to_string(HandoverCause::disconnected), "disconnected");
    EXPECT_EQ(to_string(HandoverCause::lease_expired), "lease-expired");
    EXPECT_EQ(to_string(HandoverCause::rebalanced), "rebalanced");
}

}  // namespace
}  // namespace keyed_sticky
