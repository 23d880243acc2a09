// Exact percentiles: every sample is kept.
#pragma once

#include <chrono>
#include <vector>

namespace keyed_sticky::bench {

struct Percentiles {
    std::chrono::nanoseconds p50{0};
    std::chrono::nanoseconds p99{0};
    std::chrono::nanoseconds p999{0};
    std::chrono::nanoseconds max{0};
};

/// Nearest rank: the smallest sample that at least the given share of all samples does not exceed.
/// All 0 if there are none.
Percentiles percentiles(std::vector<std::chrono::nanoseconds> samples);

}  // namespace keyed_sticky::bench
