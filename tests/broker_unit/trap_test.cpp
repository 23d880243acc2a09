#include "broker/trap.h"

#include <gtest/gtest.h>

#include "broker_script.h"

namespace keyed_sticky::test {
namespace {

using Kind = Verdict::Kind;

class TrapTest : public ::testing::Test, protected BrokerScript {};

// Promise: the one check of a group's picked member is a trap, for QoS 0 and 1 right after the
// message event.
TEST_F(TrapTest, PickAfterMessageEventIsTrapped) {
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_least_once, "gateway");

    const Verdict verdict = check("c1", message);

    EXPECT_EQ(verdict.kind, Kind::trapped);
    EXPECT_EQ(group_of(verdict), "g/dev/+/up");
    EXPECT_EQ(trap.publisher().client_id, "gateway");
}

// Promise: a topic that no handled group matches is none of our business.
TEST_F(TrapTest, OtherTopicsAreNotConcerned) {
    subscribe("c1", "$share/g/dev/+/up");
    subscribe("c1", "$share/h/other", false);
    const StoredMessage message{"other"};
    message_event(message, Qos::at_most_once);
    EXPECT_EQ(kind("c1", message), Kind::not_concerned);
}

// Promise: a QoS 2 message is trapped at its PUBREL, and knows its publisher then, whatever came
// between (A6).
TEST_F(TrapTest, Qos2IsTrappedAtRelease) {
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage message{"dev/k1/up"};
    const StoredMessage other{"dev/k2/up"};
    message_event(message, Qos::exactly_once, "gateway");
    message_event(other, Qos::at_least_once, "somebody");
    EXPECT_EQ(kind("c1", other), Kind::trapped);
    trap.other_event();

    EXPECT_EQ(kind("c1", message), Kind::trapped);
    EXPECT_EQ(trap.publisher().client_id, "gateway");
    trap.other_event();
    EXPECT_EQ(trap.stash().size(), 0U);
}

// Promise: a repeated QoS 2 PUBLISH is dispatched once, and what it left in the stash goes with its
// memory (A6).
TEST_F(TrapTest, RepeatedQos2PublishLeavesNothingBehind) {
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage stored{"dev/k1/up"};
    const StoredMessage repeated{"dev/k1/up"};
    message_event(stored, Qos::exactly_once);
    message_event(repeated, Qos::exactly_once);
    EXPECT_EQ(trap.stash().size(), 2U);
    EXPECT_EQ(kind("c1", stored), Kind::trapped);
    trap.other_event();
    EXPECT_EQ(trap.stash().size(), 1U);

    message_event(repeated, Qos::at_most_once);  // another message at the freed address
    EXPECT_EQ(trap.stash().size(), 0U);
}

// Promise: what a client had not released is forgotten with its session.
TEST_F(TrapTest, StashOfEndedSessionIsForgotten) {
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::exactly_once, "gateway");
    trap.disconnected(connection("gateway"), "gateway", true);
    EXPECT_EQ(trap.stash().size(), 0U);
}

// Promise: once the broker has picked for a group, no further check of that pass is for an ordinary
// subscription, even one that we believe in and the broker no longer has.
TEST_F(TrapTest, NothingOrdinaryComesAfterTheFirstPick) {
    subscribe("c1", "$share/g/dev/k1/up");
    subscribe("c2", "dev/#");
    subscribe("c2", "$share/g/dev/+/up");
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_least_once);
    EXPECT_EQ(kind("c1", message), Kind::trapped);

    const Verdict verdict = check("c2", message);

    EXPECT_EQ(verdict.kind, Kind::trapped);
    EXPECT_EQ(group_of(verdict), "g/dev/+/up");
}

// Promise: a will is a dispatch, and its publisher is the client that left (A9).
TEST_F(TrapTest, WillIsTrappedWithItsPublisher) {
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage will{"dev/k1/up"};
    const StoredMessage queued{"dev/k1/up"};  // the broker makes a copy of a will
    trap.disconnected(connection("device"), "device", true);
    trap.write_check(will.address(), will.topic, {"device", "user"});

    EXPECT_EQ(kind("c1", queued), Kind::trapped);
    EXPECT_EQ(trap.publisher().client_id, "device");
    EXPECT_EQ(trap.publisher().username, "user");
}

// Promise: the will of a member whose id is being taken over is a dispatch too, not a stored
// message.
TEST_F(TrapTest, WillOfTakenOverMemberIsTrapped) {
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage will{"dev/k1/up"};
    const StoredMessage queued{"dev/k1/up"};
    trap.write_check(will.address(), will.topic, {"c1", std::nullopt});
    EXPECT_EQ(kind("c1", queued, 2), Kind::trapped);
}

// Promise: messages of other plugins are trapped though nothing announces them.
TEST_F(TrapTest, UnannouncedMessageIsTrapped) {
    subscribe("c1", "$share/g/dev/+/up");
    trap.other_event();
    EXPECT_EQ(kind("c1", StoredMessage{"dev/k1/up"}), Kind::trapped);
    EXPECT_FALSE(trap.publisher().client_id.has_value());
}

// Promise: a second unannounced message at the same address is a second dispatch.
TEST_F(TrapTest, UnannouncedMessagesAtOneAddressAreTold) {
    subscribe("c1", "$share/g/dev/+/up");
    subscribe("c2", "$share/g/dev/+/up");
    subscribe("c1", "dev/#");
    trap.other_event();
    const StoredMessage message{"dev/k1/up"};
    EXPECT_EQ(kind("c1", message), Kind::ordinary);
    EXPECT_EQ(kind("c1", message), Kind::trapped);
    EXPECT_EQ(kind("c1", message), Kind::ordinary);
    EXPECT_EQ(kind("c2", message), Kind::trapped);
}

// Promise: stored messages of a resumed session pass untouched (A16, R2).
TEST_F(TrapTest, StoredMessagesOfResumedSessionPass) {
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage first{"dev/k1/up"};
    const StoredMessage second{"dev/k2/up"};
    trap.disconnected(connection("c1"), "c1", false);
    EXPECT_EQ(kind("c1", first, 2), Kind::resume);
    EXPECT_EQ(kind("c1", second, 2), Kind::resume);

    subscriptions.find("c1")->connection = connection("c1", 2);
    const StoredMessage live{"dev/k3/up"};
    message_event(live, Qos::at_least_once);
    EXPECT_EQ(kind("c1", live, 2), Kind::trapped);
}

// Promise: the broker may still pick the connection that has just ended; that is a dispatch.
TEST_F(TrapTest, PickOfTheEndedConnectionIsTrapped) {
    subscribe("c1", "$share/g/dev/+/up");
    subscriptions.find("c1")->connected = false;
    trap.disconnected(connection("c1"), "c1", false);
    EXPECT_EQ(kind("c1", StoredMessage{"dev/k1/up"}), Kind::trapped);
}

// Promise: the same for one whose session is over, until the broker has cleared up; it is no
// evidence of the client.
TEST_F(TrapTest, PickOfEndedSessionIsTrappedAsDying) {
    subscribe("c1", "$share/g/dev/+/up");
    subscriptions.retire(*subscriptions.find("c1"));
    trap.disconnected(connection("c1"), "c1", true);
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_least_once);
    const Verdict verdict = check("c1", message);
    EXPECT_EQ(verdict.kind, Kind::trapped);
    EXPECT_TRUE(verdict.dying);
}

// Promise: a websocket connection that takes an id over resumes without a disconnect event before
// it (A2).
TEST_F(TrapTest, SilentTakeoverIsAResume) {
    subscribe("c1", "$share/g/dev/+/up");
    trap.other_event();
    EXPECT_EQ(kind("c1", StoredMessage{"dev/k1/up"}, 2), Kind::resume);
}

// Promise: a new connection that is picked in an announced pass is picked, whatever else is unknown
// of it.
TEST_F(TrapTest, NewConnectionInCertainPassIsTrapped) {
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_most_once);
    EXPECT_EQ(kind("c1", message, 2), Kind::trapped);
}

// Promise: retained messages of an ordinary subscription pass, with the broker's question about
// their source between (A16, R1).
TEST_F(TrapTest, RetainedMessagesOfOrdinarySubscriptionPass) {
    subscribe("c1", "$share/g/dev/+/up");
    subscribe("c1", "dev/#");
    const StoredMessage first{"dev/k1/up", "x", true};
    const StoredMessage second{"dev/k2/up", "x", true};
    EXPECT_EQ(kind("c1", first), Kind::retained);
    trap.write_check(first.address(), first.topic, {"dev", std::nullopt});
    EXPECT_EQ(kind("c1", second), Kind::retained);
}

// Promise: where the broker sends retained messages on a share subscription (2.0), members of
// handled groups get none, and others what the broker gives them (E6).
TEST(TrapOn20, RetainedMessagesOfAHandledShareAreWithheld) {
    BrokerScript script{true};
    const StoredMessage message{"dev/k1/up", "x", true};
    script.subscribe("c1", "$share/g/dev/+/up");
    EXPECT_EQ(script.kind("c1", message), Kind::withheld);
    script.trap.write_check(message.address(), message.topic, {"dev", std::nullopt});
    EXPECT_EQ(script.kind("c1", message), Kind::withheld);
    script.subscribe("c1", "$share/native/dev/+/up", false);
    EXPECT_EQ(script.kind("c1", message), Kind::retained);
}

// Promise: a share subscription brings no retained messages on 2.1, so that a check after it is a
// dispatch.
TEST_F(TrapTest, NothingIsRetainedForAShare) {
    subscribe("c1", "dev/#");
    subscribe("c1", "$share/g/dev/+/up");
    const StoredMessage message{"dev/k1/up", "x", true};
    EXPECT_EQ(kind("c1", message), Kind::ordinary);
    EXPECT_EQ(kind("c1", message), Kind::trapped);
}

// Promise: a member's ordinary subscriptions get their copies, each once, before the groups.
TEST_F(TrapTest, OrdinaryCopiesComeFirst) {
    subscribe("c1", "$share/g/dev/+/up");
    subscribe("c1", "dev/#");
    subscribe("c1", "dev/k1/up");
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_least_once);
    EXPECT_EQ(kind("c1", message), Kind::ordinary);
    EXPECT_EQ(kind("c1", message), Kind::ordinary);
    EXPECT_EQ(kind("c1", message), Kind::trapped);
}

// Promise: no-local copies are not waited for.
TEST_F(TrapTest, NoLocalSubscriptionGetsNoCopyOfItsOwn) {
    subscribe("c1", "$share/g/dev/+/up");
    subscriptions.subscribe(*subscriptions.find("c1"), "dev/#", true);
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_least_once, "c1");
    EXPECT_EQ(kind("c1", message), Kind::trapped);
}

// Promise: a client in two groups of one topic is trapped once for each.
TEST_F(TrapTest, EveryGroupOnce) {
    subscribe("c1", "$share/g/dev/+/up");
    subscribe("c1", "$share/h/dev/#");
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_least_once);
    EXPECT_EQ(group_of(check("c1", message)), "g/dev/+/up");
    EXPECT_EQ(group_of(check("c1", message)), "h/dev/#");
    EXPECT_EQ(kind("c1", message), Kind::unexplained);
}

// Promise: a group that is not handled keeps its native pick, beside a handled one, whoever is
// picked.
TEST_F(TrapTest, UnhandledGroupKeepsItsPick) {
    subscribe("c1", "$share/native/dev/+/up", false);
    subscribe("c1", "$share/g/dev/+/up");
    subscribe("c2", "$share/g/dev/+/up");
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_least_once);
    EXPECT_EQ(kind("c1", message), Kind::unhandled);
    EXPECT_EQ(group_of(check("c2", message)), "g/dev/+/up");

    message_event(message, Qos::at_least_once);
    EXPECT_EQ(kind("c1", message), Kind::unhandled);
    EXPECT_EQ(group_of(check("c1", message)), "g/dev/+/up");
}

// Promise: ordinary subscribers of a handled topic are left alone, known or not.
TEST_F(TrapTest, BystandersPass) {
    subscribe("c1", "$share/g/dev/+/up");
    subscribe("n", "dev/#");
    const StoredMessage message{"dev/k1/up"};
    message_event(message, Qos::at_least_once);
    EXPECT_EQ(kind("n", message), Kind::ordinary);
    EXPECT_EQ(kind("restored", message), Kind::stranger);
    EXPECT_EQ(kind("c1", message), Kind::trapped);
}

}  // namespace
}  // namespace keyed_sticky::test
