// Time as the core sees it: a point on the caller's monotonic clock, handed in. The core never
// reads a clock.
#pragma once

#include <chrono>

namespace keyed_sticky {

/// Tag of the caller's monotonic clock. It has no now(): whoever calls the core passes the time.
struct MonotonicClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<MonotonicClock>;
    static constexpr bool is_steady = true;
};

using TimePoint = MonotonicClock::time_point;
using Duration = std::chrono::nanoseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace keyed_sticky
