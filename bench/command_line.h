// The load generator's options.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "load.h"

namespace keyed_sticky::bench {

struct CommandLine {
    LoadOptions load;
    std::uint64_t messages = 200'000;  ///< of the saturating phase
    std::uint64_t window = 256;        ///< of the saturating phase
    std::uint64_t paced_messages = 10'000;
    std::uint64_t paced_rate = 4'000;  ///< messages a second
    std::chrono::milliseconds warm_up{1'000};
    std::chrono::milliseconds limit{60'000};  ///< of each phase
};

/// The options' names, ranges and defaults.
std::string usage();

/// Nothing if help was asked for. Throws std::invalid_argument, saying which option and why:
/// unknown names, values that are not whole numbers or out of range, a missing --port or
/// --broker-pid.
std::optional<CommandLine> parse_command_line(int argc, char** argv);

}  // namespace keyed_sticky::bench
