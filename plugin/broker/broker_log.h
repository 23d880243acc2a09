// One line to the broker's log, safe for whatever bytes clients put into their ids and topics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/effect.h"
#include "core/time.h"

namespace keyed_sticky {

/// Writes "keyed_sticky: LINE", control characters as \xNN. Main thread only.
void broker_log(LogLevel level, std::string_view line);

/// text with every control character and byte that would break a log line written as \xNN, and
/// backslashes doubled.
std::string escaped(std::string_view text);

/// Lets each kind of message through at most `burst` times in `period`, and says how many were left
/// out. Pure: the time is passed in.
class LogLimiter {
  public:
    LogLimiter(std::uint32_t burst, Duration period) : burst_(burst), period_(period) {}

    struct Verdict {
        bool write = false;
        std::uint64_t left_out = 0;  ///< since the last one that was written
    };
    /// kind: a literal naming the message; few of them.
    Verdict allow(std::string_view kind, TimePoint now);

  private:
    struct Kind {
        TimePoint window_start;
        std::uint32_t written = 0;
        std::uint64_t left_out = 0;
    };
    std::uint32_t burst_;
    Duration period_;
    std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace keyed_sticky
