// A9. A device's will is a record like its others: it reaches the owner of the device's key, after
// all that the device had published.

#include <gtest/gtest.h>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

struct Kind {
    Protocol protocol;
    int qos;
};

class CaseA9 : public testing::TestWithParam<Kind> {
  protected:
    CaseA9()
        : broker_(case_group()),
          helper_(broker_, {.client_id = "helper"}),
          c1_(broker_, {.client_id = "C1"}),
          c2_(broker_, {.client_id = "C2"}) {
        c1_.subscribe(kSubscription, 2);
        c2_.subscribe(kSubscription, 2);
        await_members(broker_, helper_, {"C1", "C2"});
    }

    static ConnectOptions device() {
        ConnectOptions options{.client_id = "device", .protocol = GetParam().protocol};
        options.will = Will{.topic = up("k1"), .payload = "will", .qos = GetParam().qos};
        return options;
    }

    // The device's records and then its will, all at one member.
    void expect_will_after(int records) {
        const auto has_will = [](const std::vector<Message>& messages) {
            return !messages.empty() && messages.back().payload == "will";
        };
        ASSERT_TRUE(
            eventually([&] { return has_will(c1_.messages()) || has_will(c2_.messages()); }));
        c1_.barrier();
        c2_.barrier();
        const auto at_c1 = records_of(c1_.messages(), "k1");
        const auto at_c2 = records_of(c2_.messages(), "k1");
        ASSERT_TRUE(at_c1.empty() || at_c2.empty()) << "k1 had two receivers";
        const auto& all = at_c1.empty() ? at_c2 : at_c1;
        auto expected = numbered("k1", 1, records);
        expected.emplace_back("will");
        EXPECT_EQ(payloads(all), expected);
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT_EQ(sequence_of(all[i].properties), i + 1);
            EXPECT_EQ(all[i].properties.user_property("ks-key"), "k1");
        }
        EXPECT_EQ(all.back().qos, GetParam().qos);
    }

    Broker broker_;
    Client helper_;
    Client c1_;
    Client c2_;
};
INSTANTIATE_TEST_SUITE_P(EachKind, CaseA9,
                         testing::Values(Kind{Protocol::kMqtt311, 0}, Kind{Protocol::kMqtt311, 1},
                                         Kind{Protocol::kMqtt311, 2}, Kind{Protocol::kMqtt5, 0},
                                         Kind{Protocol::kMqtt5, 1}, Kind{Protocol::kMqtt5, 2}),
                         [](const auto& tested) {
                             return std::string(tested.param.protocol == Protocol::kMqtt5
                                                    ? "Mqtt5"
                                                    : "Mqtt311") +
                                    "Qos" + std::to_string(tested.param.qos);
                         });

TEST_P(CaseA9, WillOfALostDeviceFollowsItsRecords) {
    RawClient lost(broker_);
    lost.connect(device());
    std::string burst;
    for (const auto& payload : numbered("k1", 1, 5)) {
        burst +=
            encode_publish(lost.protocol(),
                           {.topic = up("k1"), .payload = payload, .qos = 1, .id = lost.next_id()});
    }
    lost.send_bytes(burst);
    for (int i = 0; i < 5; ++i) lost.wait_for(PacketType::kPuback);
    lost.reset();
    expect_will_after(5);
}

// Promise: also where the connection ends by another one with the same client id.
TEST_P(CaseA9, WillOfADeviceThatIsTakenOver) {
    RawClient old(broker_);
    old.connect(device());
    for (const auto& payload : numbered("k1", 1, 3))
        old.publish_and_wait({.topic = up("k1"), .payload = payload, .qos = 1});
    RawClient next(broker_);
    next.connect({.client_id = "device", .protocol = GetParam().protocol});
    EXPECT_TRUE(old.wait_closed());
    expect_will_after(3);
}

TEST_P(CaseA9, DelayedWillAndAskedForWill) {
    if (GetParam().protocol != Protocol::kMqtt5) {
        // 3.1.1 has neither: a DISCONNECT deletes the will.
        RawClient polite(broker_);
        polite.connect(device());
        polite.publish_and_wait({.topic = up("k1"), .payload = "k1 1", .qos = 1});
        polite.send_disconnect();
        EXPECT_TRUE(polite.wait_closed());
        helper_.publish(up("k1"), "after", 1);
        ASSERT_TRUE(eventually([&] { return c1_.message_count() + c2_.message_count() >= 2; }));
        for (const Client* member : {&c1_, &c2_}) {
            for (const auto& message : member->messages()) EXPECT_NE(message.payload, "will");
        }
        return;
    }
    ConnectOptions delayed = device();
    delayed.properties.session_expiry = 60;
    delayed.will->properties.will_delay = 1;
    delayed.will->properties.user = {{"reason", "gone"}};
    RawClient device(broker_);
    device.connect(delayed);
    for (const auto& payload : numbered("k1", 1, 3))
        device.publish_and_wait({.topic = up("k1"), .payload = payload, .qos = 1});
    constexpr std::uint8_t kDisconnectWithWill = 4;
    device.send_disconnect(kDisconnectWithWill);
    EXPECT_TRUE(device.wait_closed());
    // Published before the will is due.
    publish_records(helper_, "k1", 4, 2);
    expect_will_after(5);
    // 2.0 shows a plugin none of a will's properties, so they are lost there.
    if (Broker::version() < BrokerVersion{2, 1, 0}) return;
    for (const Client* member : {&c1_, &c2_}) {
        for (const auto& message : member->messages()) {
            if (message.payload == "will") {
                EXPECT_EQ(message.properties.user_property("reason"), "gone");
            }
        }
    }
}

// Promise: a will that finds its owner absent is held like any other.
TEST_P(CaseA9, WillIsHeldWhileTheOwnerIsAbsent) {
    RawClient device_client(broker_);
    device_client.connect(device());
    device_client.publish_and_wait({.topic = up("k1"), .payload = "k1 1", .qos = 2});
    ASSERT_TRUE(eventually([&] { return c1_.message_count() + c2_.message_count() >= 1; }));
    Client& owner = records_of(c1_.messages(), "k1").empty() ? c2_ : c1_;
    Client& other = &owner == &c1_ ? c2_ : c1_;
    const std::string owner_id = owner.options().client_id;
    owner.drop();
    await_member_event(broker_, "member_absent", owner_id);
    device_client.reset();
    const auto records = expect_records(other, "k1", 1);
    await_member_event(broker_, "member_gone", owner_id);
    EXPECT_EQ(payloads(records), std::vector<std::string>{"will"});
    EXPECT_EQ(records.back().qos, GetParam().qos);
}

}  // namespace
}  // namespace keyed_sticky::test
