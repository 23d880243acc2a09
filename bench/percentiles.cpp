#include "percentiles.h"

#include <algorithm>
#include <cstddef>

namespace keyed_sticky::bench {

Percentiles percentiles(std::vector<std::chrono::nanoseconds> samples) {
    if (samples.empty()) return {};
    std::sort(samples.begin(), samples.end());
    const auto at = [&](std::size_t per_mille) {
        return samples[(samples.size() * per_mille + 999) / 1000 - 1];
    };
    return {at(500), at(990), at(999), samples.back()};
}

}  // namespace keyed_sticky::bench
