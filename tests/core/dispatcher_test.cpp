#include "core/dispatcher.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "world.h"

namespace keyed_sticky::test {
namespace {

using Lines = std::vector<std::string>;

Options quick() {
    Options options;
    options.lease_timeout = seconds{10};
    options.rebalance_delay = seconds{5};
    options.drain_timeout = seconds{3};
    return options;
}

// Promise: a key's records go to one member, in the order they were dispatched, with one epoch and
// contiguous sequences.
TEST(Dispatcher, KeyHasOneOwnerAndContiguousSequences) {
    World world;
    world.join("C1");
    world.join("C2");
    for (int i = 1; i <= 50; ++i) {
        EXPECT_EQ(world.publish("k1", std::to_string(i)), DispatchOutcome::sent);
        EXPECT_EQ(world.publish("k2", std::to_string(i)), DispatchOutcome::sent);
    }
    std::map<std::string, std::uint64_t> last;
    std::map<std::string, std::set<std::string>> owners;
    for (const Seen& seen : world.sink.deliveries) {
        EXPECT_EQ(seen.sequence, last[seen.key] + 1);
        EXPECT_FALSE(seen.redelivery);
        EXPECT_FALSE(seen.handover);
        last[seen.key] = seen.sequence;
        owners[seen.key].insert(seen.client_id + "/" + std::to_string(seen.epoch.value()));
    }
    EXPECT_EQ(last["k1"], 50U);
    EXPECT_EQ(owners["k1"].size(), 1U);
    EXPECT_EQ(owners["k2"].size(), 1U);
}

// Promise: the slots in use are spread evenly, whatever the order of subscription.
TEST(Dispatcher, LoadIsBalancedOverSlotsInUse) {
    std::map<std::string, std::string> first_result;
    for (const auto& order : {Lines{"C1", "C2", "C3", "C4"}, Lines{"C3", "C1", "C4", "C2"}}) {
        World world;
        for (const auto& client : order) {
            world.join(client);
        }
        std::map<std::string, std::string> owner;
        std::map<std::string, int> load;
        for (int device = 0; device < 20; ++device) {
            world.publish("device-" + std::to_string(device), "x");
            const Seen& seen = world.sink.deliveries.back();
            owner[seen.key] = seen.client_id;
            ++load[seen.client_id];
        }
        for (const auto& [client, count] : load) {
            EXPECT_EQ(count, 5) << client;
        }
        if (first_result.empty()) {
            first_result = owner;
        }
        EXPECT_EQ(owner, first_result);
    }
}

// Promise: a delivery never exceeds the granted QoS, and carries no stamp to MQTT 3.1.1 members.
TEST(Dispatcher, GrantedQosAndProtocolAreRespected) {
    World world;
    world.dispatcher().join(world.group, "C1", {false, Qos::at_most_once, 0, false}, world.now);
    world.publish("k1", "a", Qos::exactly_once);
    ASSERT_EQ(world.sink.deliveries.size(), 1U);
    EXPECT_EQ(world.sink.deliveries[0].qos, Qos::at_most_once);
    EXPECT_FALSE(world.sink.deliveries[0].stamped);
}

// Promise: a provisional member owns nothing until the broker was seen to pick it.
TEST(Dispatcher, ProvisionalMemberGetsNothingUntilConfirmed) {
    World world;
    world.join("C1", Qos::at_least_once, true);
    EXPECT_EQ(world.publish("k1", "1"), DispatchOutcome::held);
    EXPECT_EQ(world.take(), Lines{});
    world.dispatcher().confirm_member(world.group, "C1", world.now);
    EXPECT_EQ(world.take(), Lines{"C1:1"});
}

// Promise: while an owner is absent its records wait; when its session resumes they follow in
// order, and nothing is repeated.
TEST(Dispatcher, ResumedOwnerGetsWhatWaitedAndNoRepeats) {
    World world(quick());
    world.join("C1");
    world.join("C2");
    world.publish("k1", "1");
    const std::string owner = world.sink.deliveries[0].client_id;
    world.take();
    world.dispatcher().client_departed(owner, Departure::connection_lost, world.now);
    EXPECT_EQ(world.publish("k1", "2"), DispatchOutcome::held);
    EXPECT_EQ(world.publish("k1", "3"), DispatchOutcome::held);
    world.advance(seconds{9});
    EXPECT_EQ(world.take(), Lines{});
    world.dispatcher().client_resumed(owner, world.now);
    EXPECT_EQ(world.take(), (Lines{owner + ":2", owner + ":3"}));
    EXPECT_EQ(world.publish("k1", "4"), DispatchOutcome::sent);
    EXPECT_EQ(world.counters().handovers, 0U);
}

// Promise: an owner that comes back with a fresh session keeps its slots; what its old session
// lacked is repeated first.
TEST(Dispatcher, FreshSessionGetsUnsettledRecordsAgainFirst) {
    World world(quick());
    world.join("C1");
    world.publish("k1", "1");
    world.publish("k1", "2");
    world.dispatcher().client_departed("C1", Departure::connection_lost, world.now);
    world.publish("k1", "3");
    world.take();
    world.join("C1");
    EXPECT_EQ(world.take(), (Lines{"C1:1*", "C1:2*", "C1:3"}));
    EXPECT_EQ(world.counters().handovers, 0U);
}

// Promise: a lost owner's slots move when its lease ends, not before; the epoch rises, the first
// record says why, and the order is: unsettled again, then held, then new.
TEST(Dispatcher, SlotsOfALostOwnerMoveWhenItsLeaseEnds) {
    World world(quick());
    world.join("C1");
    world.publish("k1", "1");
    world.publish("k1", "2");
    world.join("C2");
    const Epoch before = world.sink.deliveries[0].epoch;
    world.dispatcher().client_departed("C1", Departure::connection_lost, world.now);
    world.publish("k1", "3");
    world.take();
    world.advance(seconds{10} - std::chrono::nanoseconds{1});
    EXPECT_EQ(world.take(), Lines{});
    world.advance(std::chrono::nanoseconds{1});
    EXPECT_EQ(world.take(), (Lines{"C2:1*", "C2:2*", "C2:3"}));
    const Seen& first = world.sink.deliveries[2];
    EXPECT_GT(first.epoch, before);
    EXPECT_EQ(first.handover, HandoverCause::lease_expired);
    EXPECT_EQ(first.previous_epoch, before);
    EXPECT_FALSE(world.sink.deliveries[3].handover);
    world.publish("k1", "4");
    EXPECT_EQ(world.take(), Lines{"C2:4"});
    EXPECT_FALSE(world.dispatcher().is_member(world.group, "C1"));
}

// Promise: leaving moves exactly the leaver's slots, at once, and nobody else's.
TEST(Dispatcher, LeavingMovesExactlyTheLeaversSlots) {
    World world(quick());
    for (const char* client : {"C1", "C2", "C3"}) {
        world.join(client);
    }
    std::map<std::string, std::string> before;
    for (int key = 0; key < 60; ++key) {
        world.publish(std::to_string(key), "x", Qos::at_most_once);
        before[world.sink.deliveries.back().key] = world.sink.deliveries.back().client_id;
    }
    world.dispatcher().leave(world.group, "C2", world.now);
    for (const auto& [key, owner] : before) {
        world.publish(key, "y", Qos::at_most_once);
        const std::string& now = world.sink.deliveries.back().client_id;
        EXPECT_NE(now, "C2");
        if (owner != "C2") {
            EXPECT_EQ(now, owner) << key;
        }
    }
}

// Promise: a join moves the newcomer's fair share after rebalance_delay; a moving slot waits for
// what is in flight, at most drain_timeout, and never sends 11 before 10 is settled or sent again.
TEST(Dispatcher, JoinDrainsBeforeItMoves) {
    World world(quick());
    world.join("C1");
    for (int key = 0; key < 8; ++key) {
        world.publish(std::to_string(key), "1");
    }
    world.join("C2");
    world.take();
    world.advance(seconds{5});
    EXPECT_EQ(world.take(), Lines{});
    std::size_t held = 0;
    for (int key = 0; key < 8; ++key) {
        held += world.publish(std::to_string(key), "2") == DispatchOutcome::held ? 1 : 0;
    }
    EXPECT_EQ(held, 4U);
    EXPECT_EQ(world.take(), (Lines{4, "C1:2"}));
    world.advance(seconds{3});
    const Lines moved = world.take();
    ASSERT_EQ(moved.size(), 8U);
    for (std::size_t i = 0; i < moved.size(); i += 2) {
        EXPECT_EQ(moved[i], "C2:1*");
        EXPECT_EQ(moved[i + 1], "C2:2");
    }
    EXPECT_GT(world.sink.deliveries.back().epoch, world.sink.deliveries.front().epoch);
}

// Promise: with nothing in flight (QoS 0) a move needs no drain.
TEST(Dispatcher, JoinMovesAtOnceWhereNothingIsInFlight) {
    World world(quick());
    world.join("C1");
    world.publish("a", "1", Qos::at_most_once);
    world.publish("b", "1", Qos::at_most_once);
    world.join("C2");
    world.advance(seconds{5});
    world.publish("a", "2", Qos::at_most_once);
    world.publish("b", "2", Qos::at_most_once);
    world.take();
    const auto& seen = world.sink.deliveries;
    EXPECT_NE(seen[2].client_id, seen[3].client_id);
}

// Promise: a newcomer that leaves while slots drain towards it leaves them where they were, with
// nothing lost or repeated.
TEST(Dispatcher, NewcomerLeavingDuringDrainChangesNothing) {
    World world(quick());
    world.join("C1");
    world.publish("a", "1");
    world.publish("b", "1");
    world.join("C2");
    world.advance(seconds{6});
    world.publish("a", "2");
    world.publish("b", "2");
    world.dispatcher().leave(world.group, "C2", world.now);
    world.take();
    world.publish("a", "3");
    world.publish("b", "3");
    world.advance(seconds{60});
    EXPECT_EQ(world.take(), (Lines{"C1:3", "C1:3"}));
    EXPECT_EQ(world.counters().redelivered, 0U);
    EXPECT_EQ(world.counters().sent, 6U);
}

// Promise: while everybody is away records are held; whoever comes first gets all of them, in order
// per key.
TEST(Dispatcher, EverybodyAwayHoldsForWhoeverReturns) {
    World world(quick());
    world.join("C1");
    world.publish("k", "1", Qos::at_most_once);
    world.dispatcher().client_departed("C1", Departure::connection_lost, world.now);
    for (int i = 2; i <= 101; ++i) {
        EXPECT_EQ(world.publish("k", std::to_string(i)), DispatchOutcome::held);
    }
    world.advance(seconds{30});  // the lease has ended meanwhile
    world.take();
    world.join("C2");
    const Lines got = world.take();
    ASSERT_EQ(got.size(), 100U);
    for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i], "C2:" + std::to_string(i + 2));
    }
}

// Promise: after hold_timeout without any member, what was held is dropped, counted and said.
TEST(Dispatcher, NobodyForHoldTimeoutIsCounted) {
    Options options = quick();
    options.hold_timeout = seconds{60};
    World world(options);
    world.join("C1");
    world.dispatcher().client_departed("C1", Departure::connection_lost, world.now);
    world.publish("k", "1");
    world.advance(seconds{69});
    EXPECT_EQ(world.counters().dropped_no_member, 0U);
    world.advance(seconds{1});
    EXPECT_EQ(world.counters().dropped_no_member, 1U);
    EXPECT_NE(world.sink.lines.back().find("record_dropped reason=no_member"), std::string::npos);
    world.join("C2");
    EXPECT_EQ(world.take(), Lines{});
}

// Promise: bounds hold, each policy drops what it says, and every dropped record is counted.
TEST(Dispatcher, OverflowDropsByPolicyAndCounts) {
    for (const Overflow policy : {Overflow::drop_newest, Overflow::drop_oldest}) {
        Options options = quick();
        options.max_held_messages = 3;
        options.overflow = policy;
        World world(options);
        world.join("C1");
        world.dispatcher().client_departed("C1", Departure::connection_lost, world.now);
        for (int i = 1; i <= 5; ++i) {
            world.publish("k", std::to_string(i), Qos::at_most_once);
        }
        EXPECT_EQ(world.counters().dropped_overflow, 2U);
        world.dispatcher().client_resumed("C1", world.now);
        EXPECT_EQ(world.take(), policy == Overflow::drop_newest ? (Lines{"C1:1", "C1:2", "C1:3"})
                                                                : (Lines{"C1:3", "C1:4", "C1:5"}));
        EXPECT_EQ(world.counters().dispatched,
                  world.counters().sent + world.counters().dropped_overflow);
    }
}

// Promise: one slot cannot hold more than its own bound, so others still can.
TEST(Dispatcher, OneSlotCannotFillTheWholeBudget) {
    Options options = quick();
    options.max_held_per_slot = 2;
    World world(options);
    world.join("C1");
    world.dispatcher().client_departed("C1", Departure::connection_lost, world.now);
    for (int i = 0; i < 5; ++i) {
        world.publish("k1", "x");
    }
    EXPECT_EQ(world.counters().dropped_overflow, 3U);
    EXPECT_EQ(world.publish("k2", "y"), DispatchOutcome::held);
}

// Promise: only the newest unacked_window QoS 1 records of a member are sent again.
TEST(Dispatcher, OnlyTheUnackedWindowIsRepeated) {
    Options options = quick();
    options.unacked_window = 2;
    World world(options);
    world.join("C1");
    for (int i = 1; i <= 5; ++i) {
        world.publish("k", std::to_string(i));
    }
    world.join("C2");
    world.take();
    world.dispatcher().leave(world.group, "C1", world.now);
    EXPECT_EQ(world.take(), (Lines{"C2:4*", "C2:5*"}));
}

// Promise: QoS 0 and QoS 2 records that were sent never go to another member.
TEST(Dispatcher, OnlyQosOneIsRepeated) {
    World world(quick());
    world.join("C1", Qos::exactly_once);
    world.publish("k", "0", Qos::at_most_once);
    world.publish("k", "2", Qos::exactly_once);
    world.publish("k", "1", Qos::at_least_once);
    world.join("C2", Qos::exactly_once);
    world.take();
    world.dispatcher().leave(world.group, "C1", world.now);
    EXPECT_EQ(world.take(), Lines{"C2:1*"});
}

// Promise: records kept for redelivery use at most half of the budget; what cannot be kept is
// counted as unprotected.
TEST(Dispatcher, KeptRecordsLeaveRoomForHeldOnes) {
    Options options = quick();
    options.max_held_messages = 10;
    World world(options);
    world.join("C1");
    for (int i = 1; i <= 20; ++i) {
        world.publish("k", std::to_string(i));
    }
    EXPECT_EQ(world.counters().unprotected, 15U);
    world.join("C2");
    world.take();
    world.dispatcher().leave(world.group, "C1", world.now);
    EXPECT_EQ(world.take(), (Lines{"C2:16*", "C2:17*", "C2:18*", "C2:19*", "C2:20*"}));
}

// Promise: a key without a value under the rule is treated as its missing= says.
TEST(Dispatcher, MissingKeyFollowsTheRule) {
    for (const auto missing :
         {KeyRule::Missing::whole_topic, KeyRule::Missing::round_robin, KeyRule::Missing::reject}) {
        Options options;
        GroupRule rule;
        rule.share_pattern = "*";
        rule.key.topic_level = 9;
        rule.key.missing = missing;
        options.groups.push_back(rule);
        World world(options);
        world.join("C1");
        const DispatchOutcome outcome = world.publish("k", "x");
        if (missing == KeyRule::Missing::reject) {
            EXPECT_EQ(outcome, DispatchOutcome::dropped);
            EXPECT_EQ(world.counters().dropped_no_key, 1U);
        } else {
            ASSERT_EQ(outcome, DispatchOutcome::sent);
            EXPECT_EQ(world.sink.deliveries[0].key,
                      missing == KeyRule::Missing::whole_topic ? "dev/k/up" : "");
        }
    }
}

// Promise: an idle key that was forgotten comes back under a higher generation; no (generation,
// sequence) is used twice.
TEST(Dispatcher, ForgottenKeyStartsAHigherGeneration) {
    Options options = quick();
    options.max_tracked_keys = 2;
    World world(options);
    world.join("C1");
    std::set<std::tuple<std::string, std::uint64_t, std::uint64_t>> used;
    std::uint64_t last_generation_of_a = 0;
    for (int round = 0; round < 5; ++round) {
        for (const char* key : {"a", "b", "c", "d"}) {
            world.publish(key, "x", Qos::at_most_once);
            const Seen& seen = world.sink.deliveries.back();
            EXPECT_TRUE(used.insert({seen.key, seen.generation, seen.sequence}).second);
            if (seen.key == "a") {
                EXPECT_GT(seen.generation, last_generation_of_a);
                last_generation_of_a = seen.generation;
                EXPECT_EQ(seen.sequence, 1U);
            }
        }
    }
    EXPECT_EQ(world.counters().keys_evicted, 18U);  // 20 new lives, 2 of them still there
}

// Promise: a term has epochs for 2^20 changes; the slot that finds it used up waits for the next
// term, and goes on rising.
TEST(Dispatcher, UsedUpTermIsFollowedByTheNext) {
    Options options = quick();
    GroupRule rule;
    rule.share_pattern = "*";
    rule.key.topic_level = 2;
    options.groups.push_back(rule);
    World world(options);
    world.join("C0");
    for (int key = 0; key < 9000; ++key) {
        world.publish(std::to_string(key), "x", Qos::at_most_once);
    }
    const std::uint64_t first_term = world.sink.deliveries.back().epoch.term();
    std::map<std::string, Epoch> newest;
    for (int turn = 0; newest.empty() || newest.begin()->second.term() == first_term; ++turn) {
        ASSERT_LT(turn, 1000);
        world.join("C" + std::to_string(turn + 1));
        world.dispatcher().leave(world.group, "C" + std::to_string(turn), world.now);
        world.advance(milliseconds{1});
        world.sink.deliveries.clear();
        world.publish("7", "x", Qos::at_most_once);
        ASSERT_EQ(world.sink.deliveries.size(), 1U) << "turn " << turn;
        const Seen& seen = world.sink.deliveries.back();
        ASSERT_GT(seen.epoch, newest[seen.key]);
        newest[seen.key] = seen.epoch;
    }
}

// Promise: an ordering key is in the log only where log_keys asks for it.
TEST(Dispatcher, KeysAreLoggedOnlyWhereAsked) {
    for (const bool asked : {false, true}) {
        Options options = quick();
        options.max_held_messages = 1;
        options.log_keys = asked;
        World world(options);
        world.publish("secret-device", "1");
        world.publish("secret-device", "2");
        EXPECT_NE(world.sink.lines.back().find("record_dropped reason=overflow"),
                  std::string::npos);
        EXPECT_EQ(world.sink.lines.back().find("key=secret-device") != std::string::npos, asked);
    }
}

// Promise: a record the broker does not take is counted, and the next ones still flow.
TEST(Dispatcher, BrokerRefusalIsCounted) {
    World world;
    world.join("C1");
    world.sink.refuse = true;
    EXPECT_EQ(world.publish("k", "1"), DispatchOutcome::dropped);
    world.sink.refuse = false;
    EXPECT_EQ(world.publish("k", "2"), DispatchOutcome::sent);
    EXPECT_EQ(world.counters().dropped_memory, 1U);
}

}  // namespace
}  // namespace keyed_sticky::test
