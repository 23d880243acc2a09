#include "percentiles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace keyed_sticky::bench {
namespace {

using std::chrono::nanoseconds;

// No samples are no latency, not an error.
TEST(Percentiles, OfNothingAreZero) {
    const auto values = percentiles({});
    EXPECT_EQ(values.p50, nanoseconds(0));
    EXPECT_EQ(values.max, nanoseconds(0));
}

// Nearest rank: always one of the samples, and for 1..1000 the rank itself.
TEST(Percentiles, AreTheNearestRank) {
    std::vector<nanoseconds> samples;
    for (int i = 1000; i >= 1; --i) samples.emplace_back(i);
    const auto values = percentiles(samples);
    EXPECT_EQ(values.p50, nanoseconds(500));
    EXPECT_EQ(values.p99, nanoseconds(990));
    EXPECT_EQ(values.p999, nanoseconds(999));
    EXPECT_EQ(values.max, nanoseconds(1000));
}

TEST(Percentiles, OfOneSampleAreThatSample) {
    const auto values = percentiles({nanoseconds(7)});
    EXPECT_EQ(values.p50, nanoseconds(7));
    EXPECT_EQ(values.p999, nanoseconds(7));
}

}  // namespace
}  // namespace keyed_sticky::bench
