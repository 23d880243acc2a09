#include "broker/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/memory_coordinator.h"

namespace keyed_sticky::test {
namespace {

constexpr std::string_view shared = "$share/g/dev/+/up";

class RecordingSink final : public EffectSink {
  public:
    bool deliver(const Delivery& delivery) override {
        receivers.emplace_back(delivery.client_id);
        return true;
    }
    void log(LogLevel /*level*/, std::string_view line) override { lines.emplace_back(line); }

    std::vector<std::string> receivers;
    std::vector<std::string> lines;
};

Options make_options() {
    Options options;
    options.groups.push_back({.share_pattern = "g", .key = {}, .slots = 16});
    options.rebalance_delay = Duration{0};
    return options;
}

class MembershipTest : public ::testing::Test {
  protected:
    /// A client as the broker shows it. generation tells its connections apart.
    ClientFacts facts(std::string_view id, int subscription_count, int generation = 1,
                      bool clean = false) {
        return {connections_ + generation, id, std::nullopt, subscription_count, clean, false};
    }
    void subscribe(std::string_view id, int count_before, std::string_view filter = shared,
                   bool accepted = false, int generation = 1, bool clean = false) {
        membership.subscribe(
            facts(id, count_before, generation, clean),
            {.filter = filter, .granted_qos = Qos::at_least_once, .accepted = accepted}, now);
    }
    ShareIndex group() { return subscriptions.open_share({"g", "dev/+/up"}); }
    GroupId handled() { return *subscriptions.share(group()).handled; }
    bool is_member(std::string_view id) { return dispatcher.is_member(handled(), id); }
    /// Whether a message goes out at once, that is, somebody present owns its slot.
    bool sends() {
        sink.receivers.clear();
        dispatcher.dispatch(handled(), {"dev/k/up", "x", Qos::at_most_once}, {}, now);
        return !sink.receivers.empty();
    }

    Options options = make_options();
    RecordingSink sink;
    MemoryStore store;
    MemoryCoordinator coordinator{store, {.instance = "test"}};
    Dispatcher dispatcher{options, coordinator, sink};
    Subscriptions subscriptions;
    Membership membership{options, true, subscriptions, dispatcher, sink};
    TimePoint now{seconds{1}};

  private:
    char connections_[10] = {};
};

// Promise: an accepted subscription makes a member at once (2.1, or 2.0 where nobody else decides).
TEST_F(MembershipTest, AcceptedSubscriptionJoins) {
    subscribe("c1", 0, shared, true);
    EXPECT_TRUE(is_member("c1"));
    EXPECT_TRUE(membership.surely_asked_about(group()));
    EXPECT_TRUE(sends());
}

// Promise: on 2.0 the subscription counts once the broker has counted it.
TEST_F(MembershipTest, CountedSubscriptionIsConfirmed) {
    subscribe("c1", 0);
    EXPECT_FALSE(membership.surely_asked_about(group()));
    EXPECT_FALSE(sends());
    membership.sighted(facts("c1", 1), false, now);
    EXPECT_TRUE(membership.surely_asked_about(group()));
    EXPECT_TRUE(sends());
}

// Promise: a subscription another plugin refused makes no member (E1), and an ordinary one is not
// waited for.
TEST_F(MembershipTest, UncountedSubscriptionIsEvicted) {
    subscribe("c1", 0);
    membership.sighted(facts("c1", 0), false, now);
    EXPECT_FALSE(is_member("c1"));
    EXPECT_TRUE(subscriptions.find("c1")->shares.empty());
    EXPECT_EQ(membership.counters().evicted, 1U);

    subscribe("c1", 0, "dev/#");
    membership.sighted(facts("c1", 0), false, now);
    EXPECT_TRUE(subscriptions.find("c1")->ordinary.empty());
}

// Promise: where the count cannot tell, because a place is free, nothing is concluded; the pick
// tells.
TEST_F(MembershipTest, ReusedPlaceProvesNothing) {
    subscribe("c1", 5);
    membership.sighted(facts("c1", 5), false, now);
    EXPECT_TRUE(is_member("c1"));
    EXPECT_FALSE(membership.surely_asked_about(group()));
    membership.picked(*subscriptions.find("c1"), group(), now);
    EXPECT_TRUE(membership.surely_asked_about(group()));
    EXPECT_TRUE(sends());
}

// Promise: nor where another plugin may have granted subscriptions that this one was not asked
// about.
TEST_F(MembershipTest, UnseenSubscriptionsProveNothing) {
    Membership blind{options, false, subscriptions, dispatcher, sink};
    blind.subscribe(facts("c1", 0), {.filter = shared, .granted_qos = Qos::at_least_once}, now);
    blind.sighted(facts("c1", 1), false, now);
    EXPECT_FALSE(blind.surely_asked_about(group()));
}

// Promise: several filters of one SUBSCRIBE are judged each by itself.
TEST_F(MembershipTest, EachFilterIsJudged) {
    subscribe("c1", 0);
    subscribe("c1", 0, "refused/#");  // the first was refused
    subscribe("c1", 0, "dev/#");      // and so was the second
    membership.sighted(facts("c1", 1), false, now);
    EXPECT_FALSE(is_member("c1"));
    ASSERT_EQ(subscriptions.find("c1")->ordinary.size(), 1U);
    EXPECT_EQ(subscriptions.find("c1")->ordinary.front().filter, "dev/#");
}

// Promise: whom the broker passes over again and again it does not have.
TEST_F(MembershipTest, NeverPickedIsEvicted) {
    subscribe("c1", 5);
    subscribe("c2", 5);
    for (int i = 0; i < 40; ++i) {
        membership.picked(*subscriptions.find("c1"), group(), now);
    }
    EXPECT_TRUE(is_member("c1"));
    EXPECT_FALSE(is_member("c2"));
}

// Promise: UNSUBSCRIBE leaves.
TEST_F(MembershipTest, UnsubscribeLeaves) {
    subscribe("c1", 0, shared, true);
    membership.unsubscribe(facts("c1", 1), shared, now);
    EXPECT_FALSE(is_member("c1"));
    std::vector<ShareIndex> matches;
    subscriptions.match("dev/k/up", matches);
    EXPECT_TRUE(matches.empty());
}

// Promise: `members` decides who may join a handled group, and nothing else (E4).
TEST_F(MembershipTest, MembersOptionDecides) {
    options.members.push_back({MemberRule::Field::client_id, "worker-*"});
    EXPECT_TRUE(membership.may_subscribe(facts("worker-1", 0), shared, now));
    EXPECT_FALSE(membership.may_subscribe(facts("intruder", 0), shared, now));
    EXPECT_TRUE(membership.may_subscribe(facts("intruder", 0), "dev/#", now));
    EXPECT_TRUE(membership.may_subscribe(facts("intruder", 0), "$share/other/dev/#", now));
    EXPECT_EQ(membership.counters().members_refused, 1U);
}

// Promise: a lost connection that resumes its session is the same member (A2), at its first sign.
TEST_F(MembershipTest, ResumedSessionIsBack) {
    subscribe("c1", 0, shared, true);
    membership.disconnected(facts("c1", 1), ConnectionEnd::session_lives, now);
    EXPECT_FALSE(sends());
    membership.sighted(facts("c1", 1, 2), false, now);
    EXPECT_TRUE(sends());
    EXPECT_EQ(membership.counters().resumed, 1U);
}

// Promise: the same where the first sign is the broker picking it, and after its lease has ended.
TEST_F(MembershipTest, ResumedAfterItsLeaseJoinsAgain) {
    subscribe("c1", 0, shared, true);
    membership.disconnected(facts("c1", 1), ConnectionEnd::session_lives, now);
    now += seconds{60};
    dispatcher.tick(now);
    EXPECT_FALSE(is_member("c1"));
    membership.sighted(facts("c1", 0, 2), true, now);
    EXPECT_TRUE(is_member("c1"));
    EXPECT_TRUE(sends());
}

// Promise: a fresh session of the same id is no member until it subscribes.
TEST_F(MembershipTest, FreshSessionStartsEmpty) {
    subscribe("c1", 0, shared, true);
    membership.disconnected(facts("c1", 1), ConnectionEnd::session_lives, now);
    membership.sighted(facts("c1", 0, 2), false, now);
    EXPECT_FALSE(sends());
    EXPECT_TRUE(subscriptions.find("c1")->shares.empty());
    subscribe("c1", 0, shared, true, 2);
    EXPECT_TRUE(sends());
}

// Promise: a late disconnect of a connection that was replaced changes nothing (A2).
TEST_F(MembershipTest, LateDisconnectChangesNothing) {
    subscribe("c1", 0, shared, true);
    membership.sighted(facts("c1", 1, 2), false, now);
    membership.disconnected(facts("c1", 0, 1), ConnectionEnd::unknown, now);
    EXPECT_TRUE(sends());
}

// Promise: on 2.0 the disconnect event of a takeover is told from a loss: the client stays a member
// (A2).
TEST_F(MembershipTest, TakeoverOfKeptSessionMovesNothing) {
    subscribe("c1", 0, shared, true);
    membership.disconnected(facts("c1", 0, 1, true), ConnectionEnd::unknown, now);
    EXPECT_TRUE(sends());
    membership.sighted(facts("c1", 1, 2), false, now);
    EXPECT_TRUE(sends());
}

// Promise: the second disconnect event of a client that was away means that it is coming back.
TEST_F(MembershipTest, SecondDisconnectIsAReturn) {
    subscribe("c1", 0, shared, true);
    membership.disconnected(facts("c1", 1), ConnectionEnd::unknown, now);
    EXPECT_FALSE(sends());
    membership.disconnected(facts("c1", 0, 1, true), ConnectionEnd::unknown, now);
    EXPECT_TRUE(sends());
}

// Promise: a takeover by a clean session waits for that client's own SUBSCRIBE.
TEST_F(MembershipTest, TakeoverOfCleanSessionWaits) {
    subscribe("c1", 0, shared, true, 1, true);
    membership.disconnected(facts("c1", 0, 1, true), ConnectionEnd::unknown, now);
    EXPECT_FALSE(sends());
    EXPECT_TRUE(is_member("c1"));
    subscribe("c1", 0, shared, true, 2, true);
    EXPECT_TRUE(sends());
}

// Promise: until the broker has cleared up an ended connection, it may pick it and ask nobody (A8).
TEST_F(MembershipTest, NothingIsSureWhileTheBrokerClearsUp) {
    subscribe("c1", 0, shared, true);
    subscribe("c2", 0, shared, true, 1, true);
    EXPECT_TRUE(membership.surely_asked_about(group()));
    membership.disconnected(facts("c2", 1, 1, true), ConnectionEnd::unknown, now);
    EXPECT_FALSE(membership.surely_asked_about(group()));
    membership.turn();
    EXPECT_FALSE(membership.surely_asked_about(group()));
    membership.turn();
    EXPECT_TRUE(membership.surely_asked_about(group()));
}

// Promise: a good-bye moves the slots at once; a loss does not.
TEST_F(MembershipTest, GoodbyeLeavesAtOnce) {
    subscribe("c1", 0, shared, true);
    EXPECT_TRUE(sends());
    membership.disconnected(facts("c1", 1), ConnectionEnd::said_goodbye, now);
    EXPECT_FALSE(is_member("c1"));
}

// Promise: an ended session leaves nothing behind, once the broker has cleared up.
TEST_F(MembershipTest, EndedSessionIsForgotten) {
    subscribe("c1", 0, shared, true, 1, true);
    subscribe("c1", 1, "dev/#", true, 1, true);
    EXPECT_TRUE(membership.disconnected(facts("c1", 2, 1, true), ConnectionEnd::unknown, now));
    EXPECT_EQ(subscriptions.session_count(), 0U);
    EXPECT_EQ(subscriptions.share(group()).members(), 1U);
    membership.turn();
    membership.turn();
    EXPECT_EQ(subscriptions.share(group()).members(), 0U);
    EXPECT_TRUE(subscriptions.any_deserted());
    now += seconds{60};
    dispatcher.tick(now);
    membership.turn();
    EXPECT_FALSE(subscriptions.any_deserted());
}

}  // namespace
}  // namespace keyed_sticky::test
