#include <gtest/gtest.h>

#include "broker/broker_log.h"

namespace keyed_sticky::test {
namespace {

// Promise: one line stays one line, and can be read back.
TEST(LogText, ControlCharactersAreWrittenOut) {
    EXPECT_EQ(escaped("plain text"), "plain text");
    EXPECT_EQ(escaped("a\nb\x1b[0m\x7f"), "a\\x0ab\\x1b[0m\\x7f");
    EXPECT_EQ(escaped("\\x0a"), "\\\\x0a");
    EXPECT_EQ(escaped("gr\u00fcn"), "gr\u00fcn");
}

// Promise: a burst, then silence, then how many were left out; each kind for itself.
TEST(LogText, RepetitionIsLimited) {
    LogLimiter limiter{2, seconds{10}};
    const TimePoint start{seconds{100}};
    EXPECT_TRUE(limiter.allow("a", start).write);
    EXPECT_TRUE(limiter.allow("a", start).write);
    EXPECT_FALSE(limiter.allow("a", start).write);
    EXPECT_FALSE(limiter.allow("a", start + seconds{9}).write);
    EXPECT_TRUE(limiter.allow("b", start).write);
    const auto later = limiter.allow("a", start + seconds{10});
    EXPECT_TRUE(later.write);
    EXPECT_EQ(later.left_out, 2U);
}

}  // namespace
}  // namespace keyed_sticky::test
