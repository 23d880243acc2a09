// A1. A member with a persistent session that is killed loses its slots within the lease, and what
// is published afterwards goes to whom they moved to, never into the session left behind.

#include <gtest/gtest.h>

#include <chrono>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

using std::chrono::steady_clock;
constexpr Duration kLease{1'000};

// Promise: k1 moves within lease + 1 s under a higher epoch; what C1 may lack comes first, marked;
// then what was held, then what is new, in order. C1's session holds only what was sent before.
TEST(CaseA1, KilledOwnersSlotsMoveWithinTheLeaseAndItsSessionGetsNothingNew) {
    Broker broker(case_group());
    Client publisher(broker, {.client_id = "publisher"});
    RawClient c1(broker);
    c1.connect(persistent("C1"));
    c1.subscribe(kSubscription, {.qos = 1});
    await_members(broker, publisher, {"C1"});
    publish_records(publisher, "k1", 1, 3);
    std::vector<Packet> at_c1;
    while (at_c1.size() < 3) {
        const auto packet = c1.wait_for(PacketType::kPublish);
        if (packet.topic == up("k1")) at_c1.push_back(packet);
    }
    EXPECT_EQ(payloads(at_c1), numbered("k1", 1, 3));
    const auto old_epoch = epoch_of(at_c1.back().properties);

    Client c2(broker, persistent("C2"));
    c2.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C2"});
    c1.reset();
    const auto killed = steady_clock::now();
    await_member_event(broker, "member_absent", "C1");
    publish_records(publisher, "k1", 4, 2);
    const auto moved = expect_records(c2, "k1", 5, kLease + Duration{1'000});
    EXPECT_GE(moved.front().arrived - killed, kLease) << "the lease was not waited for";
    EXPECT_LE(moved.back().arrived - killed, kLease + Duration{1'000});
    publish_records(publisher, "k1", 6, 3);

    const auto at_c2 = expect_records(c2, "k1", 8);
    EXPECT_EQ(payloads(at_c2), numbered("k1", 1, 8));
    for (std::size_t i = 0; i < at_c2.size(); ++i) {
        EXPECT_EQ(is_redelivery(at_c2[i].properties), i < 3) << at_c2[i].payload;
        EXPECT_EQ(sequence_of(at_c2[i].properties), i + 1);
        EXPECT_GT(epoch_of(at_c2[i].properties), old_epoch);
    }

    RawClient returned(broker);
    EXPECT_TRUE(returned.connect(persistent("C1")).session_present);
    const auto stored = records_of(returned.read_publishes(3), "k1");
    EXPECT_EQ(payloads(stored), numbered("k1", 1, 3));
    for (const auto& packet : stored) EXPECT_EQ(epoch_of(packet.properties), old_epoch);
    publish_records(publisher, "k1", 9, 1);
    EXPECT_EQ(expect_records(c2, "k1", 9).back().payload, "k1 9");
    EXPECT_TRUE(records_of(returned.barrier(), "k1").empty());
}

// Promise: where C1 had acknowledged everything, its return brings nothing at all: not what was
// published while it was away, and not what the other got again.
TEST(CaseA1, NothingIsQueuedForTheAbsentOne) {
    Broker broker(case_group());
    Client publisher(broker, {.client_id = "publisher"});
    Client c1(broker, persistent("C1"));
    c1.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C1"});
    publish_records(publisher, "k1", 1, 1);
    expect_records(c1, "k1", 1);
    c1.barrier();  // the broker has its acknowledgement
    Client c2(broker, persistent("C2"));
    c2.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C2"});

    c1.drop();
    await_member_event(broker, "member_gone", "C1");
    publish_records(publisher, "k1", 2, 50);
    EXPECT_EQ(payloads(expect_records(c2, "k1", 51)), numbered("k1", 1, 51));
    c1.take_messages();
    c1.reconnect();
    EXPECT_TRUE(c1.session_present());
    EXPECT_EQ(c1.count_after_barrier(), 0U);
}

// The control: natively, messages published after the crash are queued for the session left behind.
TEST(CaseA1, NativeControlQueuesForTheAbsentOne) {
    Broker broker(native_control());
    Client publisher(broker, {.client_id = "publisher"});
    Client c1(broker, persistent("C1"));
    c1.subscribe(kSubscription, 1);
    Client c2(broker, persistent("C2"));
    c2.subscribe(kSubscription, 1);
    c1.drop();
    publish_records(publisher, "k1", 1, 50);
    c1.reconnect();
    EXPECT_GT(c1.count_after_barrier(), 0U);
    EXPECT_EQ(c1.message_count() + c2.count_after_barrier(), 50U);
}

}  // namespace
}  // namespace keyed_sticky::test
