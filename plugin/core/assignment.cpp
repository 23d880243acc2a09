#include "core/assignment.h"

#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <tuple>

namespace keyed_sticky {

namespace {

struct Share {
    MemberIndex index = 0;
    std::string_view client_id;
    std::uint32_t load_before = 0;
    std::uint32_t load = 0;
    std::uint32_t score = 0;  ///< who is served first among equals, another order in every plan
};

/// Where in the list of members a member's number is found.
class Positions {
  public:
    explicit Positions(std::span<const Share> shares) {
        for (std::size_t i = 0; i < shares.size(); ++i) {
            const std::size_t number = shares[i].index;
            if (number >= by_number_.size()) {
                by_number_.resize(number + 1);
            }
            by_number_[number] = i;
        }
    }
    std::optional<std::size_t> find(MemberIndex number) const {
        return number < by_number_.size() ? by_number_[number] : std::nullopt;
    }

  private:
    std::vector<std::optional<std::size_t>> by_number_;
};

/// Members in the order of their client ids, so that the order of the input is gone from here on.
std::vector<Share> shares_of(std::span<const EligibleMember> members) {
    std::vector<Share> shares;
    shares.reserve(members.size());
    for (const EligibleMember& member : members) {
        shares.push_back({.index = member.index, .client_id = member.client_id});
    }
    std::sort(shares.begin(), shares.end(),
              [](const Share& a, const Share& b) { return a.client_id < b.client_id; });
    return shares;
}

void count_loads(std::span<const OwnedSlot> in_use, const Positions& positions,
                 std::vector<Share>& shares) {
    for (const OwnedSlot& owned : in_use) {
        if (const auto at = positions.find(owned.owner)) {
            ++shares[*at].load;
        }
    }
    for (Share& share : shares) {
        share.load_before = share.load;
    }
}

/// Heap order: the receiver to serve next is the greatest. The load before the plan comes second,
/// so that a newcomer takes the odd slot rather than an old member who already has its floor.
bool served_later(const Share& a, const Share& b) {
    return std::tie(a.load, a.load_before, b.score, a.client_id) >
           std::tie(b.load, b.load_before, a.score, b.client_id);
}

/// Gives each slot to the receiver with the least. Precondition: there is a receiver, or nothing to
/// give.
std::vector<SlotMove> deal(std::vector<OwnedSlot> slots, std::vector<Share> receivers) {
    std::vector<SlotMove> moves;
    if (slots.empty()) {
        return moves;
    }
    std::sort(slots.begin(), slots.end(),
              [](const OwnedSlot& a, const OwnedSlot& b) { return a.slot < b.slot; });
    for (Share& receiver : receivers) {
        receiver.score = rendezvous_score(slots.front().slot, receiver.client_id);
    }
    std::make_heap(receivers.begin(), receivers.end(), served_later);
    moves.reserve(slots.size());
    for (const OwnedSlot& owned : slots) {
        std::pop_heap(receivers.begin(), receivers.end(), served_later);
        Share& receiver = receivers.back();
        moves.push_back({.slot = owned.slot, .from = owned.owner, .to = receiver.index});
        ++receiver.load;
        std::push_heap(receivers.begin(), receivers.end(), served_later);
    }
    return moves;
}

/// The `count` slots a member parts with: those without a handover under way first, then those with
/// its lowest scores, which are the ones it would be the least likely to get at a first use.
void give_up(std::vector<OwnedSlot>& own, std::string_view client_id, std::size_t count,
             std::vector<OwnedSlot>& given) {
    using Rank = std::tuple<bool, std::uint32_t, Slot, std::size_t>;
    std::vector<Rank> ranked;
    ranked.reserve(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
        ranked.emplace_back(own[i].moving, rendezvous_score(own[i].slot, client_id), own[i].slot,
                            i);
    }
    const auto cut = ranked.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(ranked.begin(), cut, ranked.end());
    for (auto rank = ranked.begin(); rank != cut; ++rank) {
        given.push_back(own[std::get<3>(*rank)]);
    }
}

}  // namespace

std::uint32_t rendezvous_score(Slot slot, std::string_view client_id) {
    return XXH32(client_id.data(), client_id.size(), index(slot));
}

std::size_t pick_owner(Slot slot, std::span<const Candidate> candidates) {
    assert(!candidates.empty());
    std::size_t best = 0;
    std::uint32_t best_score = rendezvous_score(slot, candidates[0].client_id);
    for (std::size_t i = 1; i < candidates.size(); ++i) {
        const Candidate& candidate = candidates[i];
        if (candidate.load > candidates[best].load) {
            continue;
        }
        const std::uint32_t score = rendezvous_score(slot, candidate.client_id);
        if (std::tie(candidate.load, best_score, candidate.client_id) <
            std::tie(candidates[best].load, score, candidates[best].client_id)) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

std::vector<SlotMove> plan_rebalance(std::span<const OwnedSlot> in_use,
                                     std::span<const EligibleMember> eligible) {
    if (eligible.empty()) {
        return {};
    }
    std::vector<Share> shares = shares_of(eligible);
    const Positions positions{shares};
    count_loads(in_use, positions, shares);

    std::size_t total = 0;
    for (const Share& share : shares) {
        total += share.load;
    }
    const std::size_t floor = total / shares.size();
    std::size_t odd = total % shares.size();  // so many members end with floor + 1

    // Whoever is above the floor gives, and keeps an odd slot as long as there are any: each one
    // that stays with a giver is one move saved, whichever giver it is. (Loads are balanced exactly
    // when each is floor or floor + 1, so what lies above these targets is the fewest number of
    // moves.)
    std::vector<std::size_t> to_give(shares.size(), 0);
    std::vector<Share> receivers;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (shares[i].load <= floor) {
            receivers.push_back(shares[i]);
            continue;
        }
        const std::size_t keeps_odd = odd > 0 ? 1 : 0;
        odd -= keeps_odd;
        to_give[i] = shares[i].load - floor - keeps_odd;
    }

    std::vector<std::vector<OwnedSlot>> own(shares.size());
    for (const OwnedSlot& owned : in_use) {
        const auto at = positions.find(owned.owner);
        if (at && to_give[*at] > 0) {
            own[*at].push_back(owned);
        }
    }
    std::vector<OwnedSlot> given;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (to_give[i] > 0) {
            give_up(own[i], shares[i].client_id, to_give[i], given);
        }
    }
    return deal(std::move(given), std::move(receivers));
}

std::vector<SlotMove> plan_departure(std::span<const OwnedSlot> in_use, MemberIndex leaver,
                                     std::span<const EligibleMember> remaining) {
    if (remaining.empty()) {
        return {};
    }
    std::vector<Share> shares = shares_of(remaining);
    count_loads(in_use, Positions{shares}, shares);
    std::vector<OwnedSlot> left_behind;
    for (const OwnedSlot& owned : in_use) {
        if (owned.owner == leaver) {
            left_behind.push_back(owned);
        }
    }
    return deal(std::move(left_behind), std::move(shares));
}

}  // namespace keyed_sticky
