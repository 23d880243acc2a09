// A6. A QoS 2 message is dispatched when its PUBREL comes: once, whatever happened in between, and
// never where it does not come.

#include <gtest/gtest.h>

#include <algorithm>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

class CaseA6 : public testing::TestWithParam<Protocol> {
  protected:
    explicit CaseA6(const BrokerConfig& config = case_group())
        : broker_(config),
          helper_(broker_, {.client_id = "helper"}),
          c1_(broker_, persistent("C1")),
          c2_(broker_, persistent("C2")),
          publisher_(connect_publisher()) {
        c1_.subscribe(kSubscription, 2);
        await_members(broker_, helper_, {"C1"});
        // k1 is C1's before C2 is there.
        publish_records(helper_, "k1", 1, 1);
        expect_records(c1_, "k1", 1);
        c2_.subscribe(kSubscription, 2);
        await_members(broker_, helper_, {"C2"});
    }

    RawClient connect_publisher() {
        RawClient client(broker_);
        if (client.connect(persistent("publisher", GetParam())).reason() != 0)
            throw std::runtime_error("the publisher was refused");
        return client;
    }

    void send(bool dup = false) {
        publisher_.publish(
            {.topic = up("k1"), .payload = "exactly once", .qos = 2, .dup = dup, .id = 7});
        EXPECT_EQ(publisher_.wait_for(PacketType::kPubrec).id, 7);
    }

    void release() {
        publisher_.send_ack(PacketType::kPubrel, 7);
        EXPECT_EQ(publisher_.wait_for(PacketType::kPubcomp).id, 7);
    }

    void reconnect_publisher() {
        publisher_.reset();
        publisher_ = RawClient(broker_);
        EXPECT_TRUE(publisher_.connect(persistent("publisher", GetParam())).session_present);
    }

    static std::ptrdiff_t copies_at(Client& member) {
        member.barrier();
        const auto all = payloads(member.messages());
        return std::count(all.begin(), all.end(), "exactly once");
    }

    void expect_copies(std::ptrdiff_t at_c1, std::ptrdiff_t at_c2) {
        // The record after it shows that all before it has been sent.
        publish_records(helper_, "k1", 2, 1);
        expect_records(at_c2 > 0 ? c2_ : c1_, "k1", at_c2 > 0 ? 2U : 1U);
        EXPECT_EQ(copies_at(c1_), at_c1);
        EXPECT_EQ(copies_at(c2_), at_c2);
    }

    Broker broker_;
    Client helper_;
    Client c1_;
    Client c2_;
    RawClient publisher_;
};
INSTANTIATE_TEST_SUITE_P(EachProtocol, CaseA6,
                         testing::Values(Protocol::kMqtt311, Protocol::kMqtt5),
                         [](const auto& tested) {
                             return tested.param == Protocol::kMqtt5 ? "Mqtt5" : "Mqtt311";
                         });

TEST_P(CaseA6, RepeatedPublishIsDeliveredOnce) {
    send();
    send(true);
    EXPECT_EQ(copies_at(c1_) + copies_at(c2_), 0) << "delivered before its PUBREL";
    release();
    expect_copies(1, 0);
}

TEST_P(CaseA6, RepeatedPubrelDeliversNothing) {
    send();
    release();
    publisher_.send_ack(PacketType::kPubrel, 7);
    publisher_.barrier();
    expect_copies(1, 0);
}

// Promise: it goes to who owns k1 when it is released.
TEST_P(CaseA6, HandoverInBetween) {
    send();
    c1_.unsubscribe(kSubscription);
    await_member_event(broker_, "member_gone", "C1");
    send(true);
    release();
    expect_copies(0, 1);
}

// Promise: released while its owner is absent, it is held like any other and delivered once.
TEST_P(CaseA6, ReleasedWhileTheOwnerIsAbsent) {
    send();
    c1_.drop();
    await_member_event(broker_, "member_absent", "C1");
    release();
    await_member_event(broker_, "member_gone", "C1");
    // Of the same QoS: MQTT promises no order between a QoS 1 and a QoS 2 message.
    publish_records(helper_, "k1", 2, 1, 2);
    // "k1 1" was acknowledged, which nobody but the broker knows: it comes again, before the
    // others.
    const auto records = expect_records(c2_, "k1", 3);
    EXPECT_EQ(payloads(records), (std::vector<std::string>{"k1 1", "exactly once", "k1 2"}));
    c1_.reconnect();
    EXPECT_EQ(copies_at(c1_), 0);
    EXPECT_EQ(copies_at(c2_), 1);
}

TEST_P(CaseA6, DroppedConnectionInBetween) {
    send();
    reconnect_publisher();
    release();
    expect_copies(1, 0);
}

TEST_P(CaseA6, DroppedConnectionAndRepeatedPublishInBetween) {
    send();
    reconnect_publisher();
    send(true);
    reconnect_publisher();
    EXPECT_EQ(copies_at(c1_) + copies_at(c2_), 0);
    release();
    expect_copies(1, 0);
}

TEST_P(CaseA6, NeverReleasedIsNeverDelivered) {
    send();
    expect_copies(0, 0);
    publisher_.reset();
    c1_.drop();
    await_member_event(broker_, "member_gone", "C1");
    EXPECT_EQ(copies_at(c2_), 0);
    // A new session under the same id is not owed the old one's message.
    ConnectOptions fresh = persistent("publisher", GetParam());
    fresh.clean = true;
    publisher_ = RawClient(broker_);
    EXPECT_FALSE(publisher_.connect(fresh).session_present);
    publisher_.send_ack(PacketType::kPubrel, 7);
    publisher_.barrier();
    EXPECT_EQ(copies_at(c2_), 0);
}

// The key is a property, which 2.0 shows with the PUBLISH only, long before the dispatch.
class CaseA6Property : public CaseA6 {
  protected:
    CaseA6Property()
        : CaseA6(case_group({{"group", "g key=user-property:device missing=whole-topic"}})) {}
};
INSTANTIATE_TEST_SUITE_P(Mqtt5, CaseA6Property, testing::Values(Protocol::kMqtt5),
                         [](const auto&) { return "Mqtt5"; });

// Promise: key and properties of the PUBLISH are those of the delivery, also where others with
// other keys came in between on the same topic and the connection was lost.
TEST_P(CaseA6Property, PropertiesOfThePublishAreKept) {
    const auto with_key = [&](std::uint16_t id, const std::string& key) {
        RawPublish publish{.topic = up("any"), .payload = key, .qos = 2, .id = id};
        publish.properties.user = {{"device", key}, {"number", std::to_string(id)}};
        publish.properties.content_type = "text";
        publisher_.publish(publish);
        EXPECT_EQ(publisher_.wait_for(PacketType::kPubrec).id, id);
    };
    for (std::uint16_t id = 1; id <= 5; ++id) with_key(id, "device-" + std::to_string(id));
    reconnect_publisher();
    for (std::uint16_t id = 6; id <= 8; ++id) with_key(id, "device-" + std::to_string(id));
    for (const std::uint16_t id : std::vector<std::uint16_t>{8, 3, 1, 7, 2, 6, 5, 4}) {
        publisher_.send_ack(PacketType::kPubrel, id);
        EXPECT_EQ(publisher_.wait_for(PacketType::kPubcomp).id, id);
    }
    ASSERT_TRUE(eventually([&] {
        return records_of(c1_.messages(), "any").size() +
                   records_of(c2_.messages(), "any").size() >=
               8;
    }));
    std::size_t copies = 0;
    for (Client* member : {&c1_, &c2_}) {
        member->barrier();
        for (const auto& message : records_of(member->messages(), "any")) {
            ++copies;
            const auto& properties = message.properties;
            EXPECT_EQ(properties.user_property("device"), message.payload);
            EXPECT_EQ(properties.user_property("ks-key"), message.payload);
            EXPECT_EQ("device-" + properties.user_property("number").value_or(""), message.payload);
            EXPECT_EQ(properties.content_type, "text");
            EXPECT_EQ(sequence_of(properties), 1U);
        }
    }
    EXPECT_EQ(copies, 8U);
}

}  // namespace
}  // namespace keyed_sticky::test
