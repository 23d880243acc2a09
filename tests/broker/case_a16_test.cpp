// A16. Not every question of the broker whether a member may read a message is the dispatch of one:
// stored messages of a resumed session and retained messages of an ordinary subscription are not.

#include <gtest/gtest.h>

#include <algorithm>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

class CaseA16 : public testing::TestWithParam<Protocol> {
  protected:
    CaseA16()
        : broker_(case_group({{"lease_timeout", "1h"}})),
          publisher_(broker_, {.client_id = "publisher"}) {}

    // C1 owns k1 and has three of its records in its session, unacknowledged; its connection is
    // lost.
    void store_three() {
        RawClient c1(broker_);
        c1.connect(persistent("C1", GetParam()));
        c1.subscribe(kSubscription, {.qos = 1});
        await_members(broker_, publisher_, {"C1"});
        c1.barrier();
        publish_records(publisher_, "k1", 1, 3);
        ASSERT_EQ(payloads(c1.read_publishes(3)), numbered("k1", 1, 3));
        c1.reset();
        await_member_event(broker_, "member_absent", "C1");
    }

    // `count` publishes as they come, each acknowledged.
    static std::vector<Packet> take(RawClient& client, std::size_t count) {
        auto packets = client.read_publishes(count);
        for (const auto& packet : packets) {
            if (packet.qos == 1) client.send_ack(PacketType::kPuback, packet.id);
        }
        return packets;
    }

    Broker broker_;
    Client publisher_;
};
INSTANTIATE_TEST_SUITE_P(EachProtocol, CaseA16,
                         testing::Values(Protocol::kMqtt311, Protocol::kMqtt5),
                         [](const auto& tested) {
                             return tested.param == Protocol::kMqtt5 ? "Mqtt5" : "Mqtt311";
                         });

// Promise: the three stored ones, then the three new ones; none lost, none twice, none dispatched
// again. After that the session is empty.
TEST_P(CaseA16, StoredRecordsComeFirstAndOnce) {
    store_three();
    const auto dispatched = counter(broker_, "dispatched");
    RawClient c1(broker_);
    EXPECT_TRUE(c1.connect(persistent("C1", GetParam())).session_present);
    publish_records(publisher_, "k1", 4, 3);
    const auto packets = take(c1, 6);
    EXPECT_EQ(payloads(packets), numbered("k1", 1, 6));
    for (std::size_t i = 0; i < packets.size(); ++i) EXPECT_EQ(packets[i].dup, i < 3);
    EXPECT_TRUE(c1.barrier().empty());
    EXPECT_EQ(counter(broker_, "dispatched"), dispatched + 3);

    c1.reset();
    await_member_event(broker_, "member_absent", "C1", 2);
    RawClient again(broker_);
    EXPECT_TRUE(again.connect(persistent("C1", GetParam())).session_present);
    EXPECT_TRUE(again.barrier().empty());
}

// Promise: the same where new records come while it is away, which are held meanwhile.
TEST_P(CaseA16, HeldRecordsFollowTheStoredOnes) {
    store_three();
    publish_records(publisher_, "k1", 4, 3);
    RawClient c1(broker_);
    EXPECT_TRUE(c1.connect(persistent("C1", GetParam())).session_present);
    publish_records(publisher_, "k1", 7, 3);
    EXPECT_EQ(payloads(take(c1, 9)), numbered("k1", 1, 9));
    EXPECT_TRUE(c1.barrier().empty());
}

// Promise: an ordinary subscription of the member over topics with retained messages, of the
// group's topics and of others, gets each of those once, as retained, unstamped; the group gets
// none of them, and what comes afterwards reaches the member once by each way.
TEST_P(CaseA16, RetainedMessagesComeByTheOrdinarySubscriptionAlone) {
    for (const auto* topic : {"dev/r1/up", "dev/r2/up", "dev/r3/down", "state/r4"}) {
        publisher_.publish(topic, std::string("retained ") + topic, {.qos = 1, .retain = true});
    }
    store_three();
    const auto dispatched = counter(broker_, "dispatched");
    RawClient c1(broker_);
    EXPECT_TRUE(c1.connect(persistent("C1", GetParam())).session_present);
    for (const auto* filter : {"dev/+/up", "dev/+/down", "state/#"}) {
        EXPECT_EQ(c1.subscribe(filter, {.qos = 1}).reason(), 1);
    }
    const auto first = take(c1, 7);
    EXPECT_EQ(payloads(records_of(first, "k1")), numbered("k1", 1, 3));
    for (const auto* topic : {"dev/r1/up", "dev/r2/up", "dev/r3/down", "state/r4"}) {
        std::size_t copies = 0;
        for (const auto& packet : first) {
            if (packet.topic != topic) continue;
            ++copies;
            EXPECT_TRUE(packet.retain);
            EXPECT_FALSE(is_stamped(packet.properties));
        }
        EXPECT_EQ(copies, 1U) << topic;
    }
    EXPECT_TRUE(c1.barrier().empty());
    EXPECT_EQ(counter(broker_, "dispatched"), dispatched);

    // Each of these comes twice, as natively: for the group and for dev/+/up.
    publish_records(publisher_, "k1", 4, 3);
    const auto second = take(c1, 6);
    EXPECT_TRUE(c1.barrier().empty());
    for (const auto& payload : numbered("k1", 4, 3)) {
        const auto all = payloads(second);
        EXPECT_EQ(std::count(all.begin(), all.end(), payload), 2) << payload;
    }
    if (GetParam() == Protocol::kMqtt5) {
        std::size_t stamped = 0;
        for (const auto& packet : second) stamped += is_stamped(packet.properties) ? 1 : 0;
        EXPECT_EQ(stamped, 3U);
    }
    EXPECT_EQ(counter(broker_, "dispatched"), dispatched + 3);
    EXPECT_EQ(counter(broker_, "unexplained"), 0U);
}

}  // namespace
}  // namespace keyed_sticky::test
