// Who owns which slot: pure arithmetic over what the dispatcher knows, no state of its own.
//
// Balance is counted over the slots in use, not over all slots of the group: after any sequence of
// first uses, joins (once their rebalance is done) and departures, the loads of the eligible
// members differ by at most one.
//
// Every result depends on slots, loads and client ids only. Neither the order of subscription nor
// the order of an input span changes it, so two brokers, or one broker after a restart, decide
// alike. Ties are broken by rendezvous hashing (Thaler, Ravishankar: "Using name-based mappings to
// increase hit rates", 1998): each (slot, client id) has a score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.h"

namespace keyed_sticky {

/// A member's number within its group. Numbers are small: the planners use memory in proportion to
/// the largest one.
using MemberIndex = std::uint32_t;

/// A member that may own slots now: present and confirmed.
struct EligibleMember {
    MemberIndex index = 0;       ///< no two alike in one call
    std::string_view client_id;  ///< no two alike in one call
};

/// A member with its load, for the first use of a slot.
struct Candidate {
    std::string_view client_id;  ///< no two alike in one call
    std::uint32_t load =
        0;  ///< slots in use that it owns, or is about to own by a handover under way
};

/// A slot in use.
struct OwnedSlot {
    Slot slot{};            ///< no two alike in one call
    MemberIndex owner = 0;  ///< who has it; where a handover is under way: who is to get it
    /// A handover is under way: it is planned again only where none of the owner's other slots
    /// would do.
    bool moving = false;
};

struct SlotMove {
    Slot slot{};
    MemberIndex from = 0;
    MemberIndex to = 0;
    bool operator==(const SlotMove&) const = default;
};

/// Rendezvous score of a client for a slot: the higher is preferred. XXH32 of the client id, seeded
/// with the slot.
std::uint32_t rendezvous_score(Slot slot, std::string_view client_id);

/// Index into `candidates` of the owner for a slot without one: the fewest slots in use, then the
/// highest score, then the smallest client id. Precondition: candidates is not empty.
/// O(candidates).
std::size_t pick_owner(Slot slot, std::span<const Candidate> candidates);

/// The fewest moves after which the loads of `eligible` differ by at most one; none if they already
/// do. Members who have too little receive from members who have too much; a newcomer ends with the
/// floor or the ceiling of its fair share, and a slot moves between two old members only where
/// balance needs it. Slots of owners who are not in `eligible` (their lease still runs) neither
/// count nor move. The moves come in the order of their slots. O(slots log slots + members log
/// members).
std::vector<SlotMove> plan_rebalance(std::span<const OwnedSlot> in_use,
                                     std::span<const EligibleMember> eligible);

/// Every slot of `leaver` to one of `remaining`, and no other slot. Where the loads of `remaining`
/// differed by at most one before, they do so afterwards. Empty where `remaining` is: the slots
/// then wait for a member, and a later call with the same leaver places them. Precondition: leaver
/// is not in `remaining`. O(slots log slots + members log members).
std::vector<SlotMove> plan_departure(std::span<const OwnedSlot> in_use, MemberIndex leaver,
                                     std::span<const EligibleMember> remaining);

}  // namespace keyed_sticky
