// What happened, counted: every record that was not simply sent is in one of these.
#pragma once

#include <cstdint>

namespace keyed_sticky {

struct Counters {
    std::uint64_t dispatched = 0;  ///< records taken over from the broker
    std::uint64_t sent = 0;  ///< deliveries handed to a member's connection, redeliveries included
    std::uint64_t redelivered = 0;        ///< of these, marked as redelivery
    std::uint64_t held = 0;               ///< records that had to wait in a lane, ever
    std::uint64_t dropped_overflow = 0;   ///< by the overflow policy
    std::uint64_t dropped_no_member = 0;  ///< held for hold_timeout while the group had no member
    std::uint64_t dropped_no_key = 0;     ///< refused by missing=reject
    std::uint64_t dropped_memory = 0;     ///< the broker or the system had no memory
    std::uint64_t unprotected = 0;        ///< sent, but not kept for redelivery as unacked_window
                                          ///< promises: the bounds were reached
    std::uint64_t handovers = 0;          ///< changes of a slot's owner, first use excluded
    std::uint64_t keys_evicted =
        0;  ///< idle keys forgotten; their next record starts a new generation
};

}  // namespace keyed_sticky
