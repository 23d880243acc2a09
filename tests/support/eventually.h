#pragma once

#include <chrono>
#include <thread>

namespace keyed_sticky::test {

using Duration = std::chrono::milliseconds;

// How long a test waits for what must happen. It is only spent where the test fails.
inline constexpr Duration kDeadline{10'000};

// Waits until `condition()` is true; false where `deadline` passed first. The condition is asked at
// once, every 2 ms and once more after the deadline. Time passed is never a reason to go on: what
// must *not* happen is shown by a barrier (Client::barrier, RawClient::barrier), not by waiting.
template <typename Condition>
[[nodiscard]] bool eventually(Condition condition, Duration deadline = kDeadline) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return condition();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

}  // namespace keyed_sticky::test
