// The load generator's options.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "load.h"

namespace keyed_sticky::bench {

struct BrokerAddress {
    std::uint16_t port = 0;  ///< on 127.0.0.1
    int pid = 0;
};

struct CommandLine {
    std::vector<BrokerAddress> brokers;  ///< loaded in turn
    std::uint64_t slice =
        10'000;        ///< messages of the saturating phase until it is the next one's turn
    LoadOptions load;  ///< port and pid are set per broker
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
/// unknown names, values that are not whole numbers or out of range, no broker, or one without a
/// process.
std::optional<CommandLine> parse_command_line(int argc, char** argv);

}  // namespace keyed_sticky::bench
