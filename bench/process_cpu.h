// CPU time of another process, from the kernel's own accounting.
#pragma once

#include <chrono>

namespace keyed_sticky::bench {

struct CpuTimes {
    std::chrono::nanoseconds ran{0};
    std::chrono::nanoseconds waited{
        0};  ///< ready to run while something else had the core; 0 where unknown
};

/// Times of all live threads of `pid` so far: /proc/PID/task/*/schedstat, in nanoseconds; where the
/// kernel keeps none, utime + stime of /proc/PID/stat, in clock ticks (10 ms as a rule). Throws
/// std::runtime_error if there is no such process.
CpuTimes process_cpu(int pid);

/// Difference of two readings of one process.
CpuTimes operator-(const CpuTimes& later, const CpuTimes& earlier);
CpuTimes& operator+=(CpuTimes& total, const CpuTimes& part);

}  // namespace keyed_sticky::bench
