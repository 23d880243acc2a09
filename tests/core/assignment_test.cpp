#include "core/assignment.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace keyed_sticky {
namespace {

/// A group as the dispatcher would keep it: members by number, slots with their owners.
class Group {
  public:
    MemberIndex join(const std::string& client_id) {
        ids_.push_back(client_id);
        loads_.push_back(0);
        eligible_.insert(static_cast<MemberIndex>(ids_.size() - 1));
        return static_cast<MemberIndex>(ids_.size() - 1);
    }

    void use(Slot slot) {
        if (owners_.contains(slot)) {
            return;
        }
        const auto members = eligible();
        std::vector<Candidate> candidates;
        candidates.reserve(members.size());
        for (const EligibleMember& member : members) {
            candidates.push_back({member.client_id, load(member.index)});
        }
        const MemberIndex owner = members[pick_owner(slot, candidates)].index;
        owners_[slot] = owner;
        ++loads_[owner];
    }

    std::vector<SlotMove> rebalance() { return apply(plan_rebalance(in_use(), eligible())); }

    std::vector<SlotMove> leave(MemberIndex leaver) {
        eligible_.erase(leaver);
        return apply(plan_departure(in_use(), leaver, eligible()));
    }

    std::vector<EligibleMember> eligible() const {
        std::vector<EligibleMember> members;
        for (const MemberIndex number : eligible_) {
            members.push_back({number, ids_[number]});
        }
        return members;
    }

    std::vector<OwnedSlot> in_use() const {
        std::vector<OwnedSlot> owned;
        for (const auto& [slot, owner] : owners_) {
            owned.push_back({slot, owner});
        }
        return owned;
    }

    std::uint32_t load(MemberIndex member) const { return loads_[member]; }

    /// Largest load less the smallest one, over eligible members.
    std::uint32_t spread() const {
        const auto [low, high] = std::minmax_element(
            eligible_.begin(), eligible_.end(),
            [&](MemberIndex a, MemberIndex b) { return loads_[a] < loads_[b]; });
        return loads_[*high] - loads_[*low];
    }

    const std::map<Slot, MemberIndex>& owners() const { return owners_; }
    const std::string& id(MemberIndex number) const { return ids_[number]; }
    const std::set<MemberIndex>& numbers() const { return eligible_; }

    std::map<Slot, std::string> owner_ids() const {
        std::map<Slot, std::string> by_id;
        for (const auto& [slot, owner] : owners_) {
            by_id[slot] = ids_[owner];
        }
        return by_id;
    }

  private:
    std::vector<SlotMove> apply(std::vector<SlotMove> moves) {
        for (const SlotMove& move : moves) {
            EXPECT_EQ(owners_.at(move.slot), move.from);
            EXPECT_NE(move.from, move.to);
            EXPECT_TRUE(eligible_.contains(move.to));
            owners_[move.slot] = move.to;
            --loads_[move.from];
            ++loads_[move.to];
        }
        return moves;
    }

    std::vector<std::string> ids_;
    std::vector<std::uint32_t> loads_;  ///< slots of each member, by number
    std::set<MemberIndex> eligible_;
    std::map<Slot, MemberIndex> owners_;
};

Slot slot_of(const std::string& key, std::uint32_t slots = 4096) {
    return Slot{XXH32(key.data(), key.size(), 0) % slots};
}

/// The fewest moves there can be: what lies above the targets, with the odd slots left where they
/// save a move.
std::size_t fewest_moves(std::vector<std::size_t> loads) {
    std::size_t total = 0;
    for (const std::size_t load : loads) {
        total += load;
    }
    std::sort(loads.rbegin(), loads.rend());
    const std::size_t odd = total % loads.size();
    std::size_t moves = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
        const std::size_t target = total / loads.size() + (i < odd ? 1 : 0);
        moves += loads[i] > target ? loads[i] - target : 0;
    }
    return moves;
}

// Twenty devices on four workers come out five each, or as near as slots shared by devices allow:
// the slots in use are within one of each other, and devices differ from slots by collisions only.
TEST(Assignment, TwentyDevicesOnFourWorkersAreFiveEach) {
    Group group;
    for (const char* worker : {"w1", "w2", "w3", "w4"}) {
        group.join(worker);
    }
    std::map<Slot, std::size_t> devices_in_slot;
    for (int device = 0; device < 20; ++device) {
        const Slot slot = slot_of("device-" + std::to_string(device));
        group.use(slot);
        ++devices_in_slot[slot];
    }
    EXPECT_LE(group.spread(), 1U);
    std::map<MemberIndex, std::size_t> devices;
    for (const auto& [slot, owner] : group.owners()) {
        devices[owner] += devices_in_slot[slot];
    }
    const std::size_t collisions = 20 - devices_in_slot.size();
    for (const auto& [worker, count] : devices) {
        EXPECT_GE(count + collisions, 5U) << group.id(worker);
        EXPECT_LE(count, 5U + collisions) << group.id(worker);
    }
}

// Which member subscribed first never matters: a first use depends on loads and client ids only.
TEST(Assignment, FirstUseDoesNotDependOnSubscriptionOrder) {
    std::vector<std::string> ids{"alpha", "beta", "gamma", "delta"};
    std::optional<std::map<Slot, std::string>> expected;
    std::sort(ids.begin(), ids.end());
    do {
        Group group;
        for (const std::string& id : ids) {
            group.join(id);
        }
        for (int key = 0; key < 300; ++key) {
            group.use(slot_of("k" + std::to_string(key)));
        }
        if (!expected) {
            expected = group.owner_ids();
        }
        EXPECT_EQ(group.owner_ids(), *expected);
    } while (std::next_permutation(ids.begin(), ids.end()));
}

// Ties go by score: a group's first slots do not all fall to the same member.
TEST(Assignment, FirstSlotsOfManyGroupsSpread) {
    const std::vector<Candidate> candidates{{"w1", 0}, {"w2", 0}, {"w3", 0}, {"w4", 0}};
    std::vector<int> picked(4, 0);
    for (std::uint32_t slot = 0; slot < 4000; ++slot) {
        ++picked[pick_owner(Slot{slot}, candidates)];
    }
    for (const int count : picked) {
        EXPECT_GT(count, 850);
        EXPECT_LT(count, 1150);
    }
}

// The score is frozen: other versions and other brokers of the group must decide alike.
TEST(Assignment, ScoreIsXxh32OfTheClientIdSeededWithTheSlot) {
    EXPECT_EQ(rendezvous_score(Slot{0}, ""), 0x02CC5D05U);
    EXPECT_EQ(rendezvous_score(Slot{0}, "abc"), 0x32D153FFU);
    EXPECT_NE(rendezvous_score(Slot{1}, "abc"), rendezvous_score(Slot{2}, "abc"));
}

// Ten thousand keys, four members (case B2): a fifth gets its fair share and no more, all of it
// taken from the others and nothing moved between them; removing one member moves exactly its own
// slots; no subscription order changes any of it.
TEST(Assignment, TenThousandKeysFifthMemberAndRemoval) {
    std::optional<std::map<Slot, std::string>> expected;
    std::vector<std::string> ids{"m1", "m2", "m3", "m4"};
    do {
        Group group;
        for (const std::string& id : ids) {
            group.join(id);
        }
        for (int key = 0; key < 10'000; ++key) {
            group.use(slot_of("device/" + std::to_string(key)));
        }
        EXPECT_LE(group.spread(), 1U);

        const MemberIndex fifth = group.join("m5");
        const auto joined = group.rebalance();
        EXPECT_LE(joined.size(), (group.owners().size() + 4) / 5);
        EXPECT_GE(joined.size(), group.owners().size() / 5);
        for (const SlotMove& move : joined) {
            EXPECT_EQ(move.to, fifth);
        }
        EXPECT_LE(group.spread(), 1U);

        const MemberIndex leaver =
            *std::find_if(group.numbers().begin(), group.numbers().end(),
                          [&](MemberIndex number) { return group.id(number) == "m2"; });
        const std::uint32_t owned = group.load(leaver);
        const auto left = group.leave(leaver);
        EXPECT_EQ(left.size(), owned);
        for (const SlotMove& move : left) {
            EXPECT_EQ(move.from, leaver);
        }
        EXPECT_LE(group.spread(), 1U);

        if (!expected) {
            expected = group.owner_ids();
        }
        EXPECT_EQ(group.owner_ids(), *expected);
    } while (std::next_permutation(ids.begin(), ids.end()));
}

// After any sequence of first uses, joins with their rebalance and departures the loads are within
// one; a rebalance takes the fewest moves there can be; a departure moves exactly the leaver's
// slots; and the order of the inputs changes nothing.
TEST(Assignment, RandomJoinsAndLeavesKeepBalanceWithTheFewestMoves) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random{seed};
        const auto below = [&](std::size_t bound) {
            return std::uniform_int_distribution<std::size_t>{0, bound - 1}(random);
        };
        Group group;
        group.join("c0");
        int next_id = 1;
        for (int step = 0; step < 40; ++step) {
            const std::size_t choice = below(4);
            if (choice <= 1) {
                for (std::size_t n = below(30); n > 0; --n) {
                    group.use(Slot{static_cast<std::uint32_t>(below(256))});
                }
            } else if (choice == 2) {
                for (std::size_t n = 1 + below(3); n > 0; --n) {
                    group.join("c" + std::to_string(next_id++));
                }
                std::vector<std::size_t> loads;
                for (const MemberIndex number : group.numbers()) {
                    loads.push_back(group.load(number));
                }
                const auto in_use = group.in_use();
                auto shuffled_slots = in_use;
                auto shuffled_members = group.eligible();
                std::shuffle(shuffled_slots.begin(), shuffled_slots.end(), random);
                std::shuffle(shuffled_members.begin(), shuffled_members.end(), random);
                const auto other_order = plan_rebalance(shuffled_slots, shuffled_members);
                const auto moves = group.rebalance();
                EXPECT_EQ(moves, other_order);
                EXPECT_EQ(moves.size(), fewest_moves(loads));
            } else if (group.numbers().size() > 1) {
                auto leaver = group.numbers().begin();
                std::advance(leaver, below(group.numbers().size()));
                const MemberIndex number = *leaver;
                const std::uint32_t owned = group.load(number);
                const auto moves = group.leave(number);
                EXPECT_EQ(moves.size(), owned);
                EXPECT_TRUE(std::all_of(moves.begin(), moves.end(),
                                        [&](const SlotMove& move) { return move.from == number; }));
            }
            ASSERT_LE(group.spread(), 1U) << "step " << step;
        }
    }
}

// From any loads at all, not only those the group itself would produce, one rebalance restores
// balance with the fewest moves, and a second one has nothing to do.
TEST(Assignment, RebalanceFromArbitraryLoadsIsMinimalAndStable) {
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random{seed};
        std::vector<std::string> ids;
        std::vector<OwnedSlot> in_use;
        std::vector<std::size_t> loads;
        std::uint32_t slot = 0;
        const std::size_t members = 1 + random() % 8;
        for (std::size_t i = 0; i < members; ++i) {
            ids.push_back("m" + std::to_string(i));
            loads.push_back(random() % 12);
            for (std::size_t n = loads.back(); n > 0; --n) {
                in_use.push_back({Slot{slot++}, static_cast<MemberIndex>(i)});
            }
        }
        std::vector<EligibleMember> eligible;
        for (std::size_t i = 0; i < members; ++i) {
            eligible.push_back({static_cast<MemberIndex>(i), ids[i]});
        }
        const auto moves = plan_rebalance(in_use, eligible);
        EXPECT_EQ(moves.size(), fewest_moves(loads));
        for (const SlotMove& move : moves) {
            in_use[index(move.slot)].owner = move.to;
            --loads[move.from];
            ++loads[move.to];
        }
        const auto [low, high] = std::minmax_element(loads.begin(), loads.end());
        EXPECT_LE(*high - *low, 1U);
        EXPECT_TRUE(plan_rebalance(in_use, eligible).empty());
    }
}

// The odd slot goes to the newcomer where an old member already has its floor: nothing moves
// between old members then.
TEST(Assignment, OldMembersWithTheirFloorReceiveNothing) {
    // Loads 6, 2, 2 and a newcomer: floor 2, two odd slots. One stays with the first, the other
    // belongs to the newcomer.
    std::vector<OwnedSlot> in_use;
    for (std::uint32_t slot = 0; slot < 10; ++slot) {
        in_use.push_back({Slot{slot}, slot < 6 ? 0U : (slot < 8 ? 1U : 2U)});
    }
    for (int name = 0; name < 50; ++name) {
        const std::string newcomer = "newcomer-" + std::to_string(name);
        const std::vector<EligibleMember> eligible{{0, "a"}, {1, "b"}, {2, "c"}, {3, newcomer}};
        const auto moves = plan_rebalance(in_use, eligible);
        ASSERT_EQ(moves.size(), 3U);
        for (const SlotMove& move : moves) {
            EXPECT_EQ(move.from, 0U);
            EXPECT_EQ(move.to, 3U) << newcomer;
        }
    }
}

// Slots of an owner who is away within its lease neither move nor count.
TEST(Assignment, SlotsOfAbsentOwnersStay) {
    std::vector<OwnedSlot> in_use;
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
        in_use.push_back({Slot{slot}, slot < 4 ? 0U : 1U});
    }
    const std::vector<EligibleMember> eligible{{1, "b"}, {2, "c"}};
    const auto moves = plan_rebalance(in_use, eligible);
    ASSERT_EQ(moves.size(), 2U);
    for (const SlotMove& move : moves) {
        EXPECT_EQ(move.from, 1U);
        EXPECT_EQ(move.to, 2U);
    }
}

// A slot with a handover under way is planned again only where the member's other slots are not
// enough.
TEST(Assignment, SlotsUnderHandoverMoveLast) {
    std::vector<OwnedSlot> in_use;
    for (std::uint32_t slot = 0; slot < 6; ++slot) {
        in_use.push_back({.slot = Slot{slot}, .owner = 0, .moving = slot < 3});
    }
    const std::vector<EligibleMember> two{{0, "a"}, {1, "b"}};
    for (const SlotMove& move : plan_rebalance(in_use, two)) {
        EXPECT_GE(index(move.slot), 3U);
    }
    const std::vector<EligibleMember> three{{0, "a"}, {1, "b"}, {2, "c"}};
    EXPECT_EQ(plan_rebalance(in_use, three).size(), 4U);
}

// The last member's slots wait for somebody, and go to whoever comes.
TEST(Assignment, DepartureOfTheLastMemberPlacesItsSlotsLater) {
    const std::vector<OwnedSlot> in_use{{Slot{1}, 0}, {Slot{5}, 0}, {Slot{9}, 0}};
    EXPECT_TRUE(plan_departure(in_use, 0, {}).empty());
    const std::vector<EligibleMember> later{{7, "late"}};
    const std::vector<SlotMove> expected{{Slot{1}, 0, 7}, {Slot{5}, 0, 7}, {Slot{9}, 0, 7}};
    EXPECT_EQ(plan_departure(in_use, 0, later), expected);
}

// Nothing in use, nobody eligible: nothing moves.
TEST(Assignment, NothingToPlan) {
    const std::vector<EligibleMember> members{{0, "a"}};
    EXPECT_TRUE(plan_rebalance({}, members).empty());
    EXPECT_TRUE(plan_rebalance({}, {}).empty());
    EXPECT_TRUE(plan_departure({}, 3, members).empty());
}

// A thousand members and all of 4 096 slots in use: a plan takes a few milliseconds of the broker's
// thread. Processor time is measured, so that a busy machine changes nothing, and the bound leaves
// room for instrumented builds: it catches another complexity, not a slower machine.
TEST(Assignment, AThousandMembersArePlannedQuickly) {
    std::vector<std::string> ids;
    ids.reserve(1000);
    for (int i = 0; i < 1000; ++i) {
        ids.push_back("worker-" + std::to_string(i));
    }
    const auto timed = [](const char* what, const auto& plan) {
        const std::clock_t start = std::clock();
        const auto moves = plan();
        const double took_ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        std::cout << what << ": " << moves.size() << " moves in " << took_ms << " ms\n";
        EXPECT_LT(took_ms, 100.0) << what;
    };
    std::vector<EligibleMember> all;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        all.push_back({i, ids[i]});
    }
    std::vector<OwnedSlot> spread;
    std::vector<OwnedSlot> one_owner;
    for (std::uint32_t slot = 0; slot < 4096; ++slot) {
        spread.push_back({Slot{slot}, slot % 500});
        one_owner.push_back({Slot{slot}, 0});
    }
    timed("500 join 500", [&] { return plan_rebalance(spread, all); });
    timed("999 join one", [&] { return plan_rebalance(one_owner, all); });
    timed("the owner of everything leaves 999",
          [&] { return plan_departure(one_owner, 0, std::span{all}.subspan(1)); });
}

}  // namespace
}  // namespace keyed_sticky
