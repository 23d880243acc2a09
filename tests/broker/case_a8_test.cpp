// A8. What was accepted is neither lost nor reordered when its owner's connection breaks at the
// worst moment; and a delivery respects what the subscription asked for.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

int number_of(const Packet& packet) {
    return std::stoi(packet.payload.substr(packet.payload.rfind(' ') + 1));
}

// One life after another of the worker C1, whose session ends with its connection.
class MortalOwner {
  public:
    explicit MortalOwner(const Broker& broker) : broker_(broker) {}

    void live() {
        client_.emplace(broker_);
        ConnectOptions options{.client_id = "C1"};
        options.properties.receive_maximum = 65535;
        client_->connect(options);
        client_->subscribe(kSubscription, {.qos = 1});
        last_in_this_life_ = 0;
    }

    // Reads until it has got number `last` of k1. Within a life the numbers are in order, none left
    // out, and they begin no later than with the first one that it never got.
    void read_up_to(int last) {
        while (newest_ < last || last_in_this_life_ < last) {
            const auto packet = client_->wait_for(PacketType::kPublish);
            if (packet.topic != up("k1")) continue;
            client_->send_ack(PacketType::kPuback, packet.id);
            const int number = number_of(packet);
            if (last_in_this_life_ == 0) {
                ASSERT_LE(number, newest_ + 1) << "lost before this";
            } else {
                ASSERT_EQ(number, last_in_this_life_ + 1);
            }
            last_in_this_life_ = number;
            newest_ = std::max(newest_, number);
        }
    }

    void die() { client_->reset(); }

  private:
    const Broker& broker_;
    std::optional<RawClient> client_;
    int newest_ = 0;
    int last_in_this_life_ = 0;
};

// (a) Promise: 1 000 times C1's socket is reset in the same moment in which a burst for k1 arrives.
// Each record that got its PUBACK reaches C1 in that life or the next, in order.
TEST(CaseA8, ResetInTheMidstOfABurstLosesNothing) {
    constexpr int kRounds = 1'000;
    constexpr int kBurst = 4;
    auto config = case_group({{"lease_timeout", "1h"}, {"unacked_window", "40"}});
    config.verbose = false;
    config.global_lines.emplace_back("max_inflight_messages 200");
    Broker broker(config);
    Client helper(broker, {.client_id = "helper"});
    MortalOwner c1(broker);
    c1.live();
    await_members(broker, helper, {"C1"});
    publish_records(helper, "k1", 1, 1);
    c1.read_up_to(1);
    Client c2(broker, {.client_id = "C2"});
    c2.subscribe(kSubscription, 1);
    await_members(broker, helper, {"C2"});

    RawClient publisher(broker);
    publisher.connect({.client_id = "publisher"});
    int published = 1;
    const auto burst = [&](int count) {
        std::string bytes;
        for (int i = 0; i < count; ++i) {
            bytes +=
                encode_publish(Protocol::kMqtt5, {.topic = up("k1"),
                                                  .payload = "k1 " + std::to_string(++published),
                                                  .qos = 1,
                                                  .id = publisher.next_id()});
        }
        if (!bytes.empty()) publisher.send_bytes(bytes);
    };
    const auto take_pubacks = [&](int count) {
        for (int i = 0; i < count; ++i) {
            ASSERT_LT(publisher.wait_for(PacketType::kPuback).reason(), 0x80);
        }
    };
    for (int round = 0; round < kRounds; ++round) {
        // The reset comes before the burst, after it, or with half of it on either side.
        const int before =
            std::array{0, kBurst, kBurst / 2}.at(static_cast<std::size_t>(round % 3));
        burst(before);
        c1.die();
        burst(kBurst - before);
        take_pubacks(kBurst);
        c1.live();
        // 2.0 shows a member by picking it: one of two picks is C1.
        burst(2);
        take_pubacks(2);
        c1.read_up_to(published);
        ASSERT_FALSE(testing::Test::HasFailure()) << "in round " << round;
    }
    c2.barrier();
    EXPECT_TRUE(records_of(c2.messages(), "k1").empty()) << "k1 had two receivers";
}

// (b) Promise: while k1 waits for its owner's lease, records of another device flow at once; k1's
// reach the next owner in order, none of the later ones before the first.
TEST(CaseA8, LaterRecordsDoNotPassTheOneThatWaits) {
    Broker broker(case_group({{"lease_timeout", "2s"}}));
    Client publisher(broker, {.client_id = "publisher"});
    Client c1(broker, {.client_id = "C1"});
    c1.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C1"});
    publish_records(publisher, "k1", 1, 1, 0);
    expect_records(c1, "k1", 1);
    Client c2(broker, {.client_id = "C2"});
    c2.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C2"});
    publish_records(publisher, "k2", 1, 1);
    expect_records(c2, "k2", 1);

    c1.drop();
    await_member_event(broker, "member_absent", "C1");
    for (int i = 2; i <= 20; ++i) {
        publish_records(publisher, "k1", i, 1, i % 2);
        publish_records(publisher, "k2", i, 1, i % 2);
    }
    const auto others = expect_records(c2, "k2", 20);
    EXPECT_TRUE(records_of(c2.messages(), "k1").empty()) << "the lease was not waited for";
    EXPECT_EQ(payloads(others), numbered("k2", 1, 20));
    await_member_event(broker, "member_gone", "C1");
    publish_records(publisher, "k1", 21, 5);
    const auto records = expect_records(c2, "k1", 24);
    EXPECT_EQ(payloads(records), numbered("k1", 2, 24));
    for (const auto& record : records) EXPECT_FALSE(is_redelivery(record.properties));
}

// (b) Promise: the same where the owner comes back in time: it gets them, in order.
TEST(CaseA8, OwnerThatReturnsInTimeGetsWhatWaited) {
    Broker broker(case_group({{"lease_timeout", "1h"}}));
    Client publisher(broker, {.client_id = "publisher"});
    Client c1(broker, persistent("C1"));
    c1.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C1"});
    publish_records(publisher, "k1", 1, 1);
    expect_records(c1, "k1", 1);
    Client c2(broker, persistent("C2"));
    c2.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C2"});
    c1.drop();
    await_member_event(broker, "member_absent", "C1");
    publish_records(publisher, "k1", 2, 19);
    c1.reconnect();
    publish_records(publisher, "k1", 21, 5);
    EXPECT_EQ(payloads(expect_records(c1, "k1", 25)), numbered("k1", 1, 25));
    c2.barrier();
    EXPECT_TRUE(records_of(c2.messages(), "k1").empty());
}

// (c) Promise: each delivery has the smaller of the published and the granted QoS, also for what
// was held; the subscription identifier is there on 2.1 (2.0 does not show it to plugins).
TEST(CaseA8, GrantedQosAndSubscriptionIdentifierAreRespected) {
    for (const int granted : {0, 1, 2}) {
        SCOPED_TRACE("granted " + std::to_string(granted));
        Broker broker(case_group({{"lease_timeout", "1h"}}));
        Client publisher(broker, {.client_id = "publisher"});
        Client c1(broker, persistent("C1"));
        ASSERT_EQ(c1.subscribe(kSubscription, {.qos = granted, .identifier = 7}), granted);
        await_members(broker, publisher, {"C1"});
        for (const int qos : {0, 1, 2}) publish_records(publisher, "k1", qos, 1, qos);
        expect_records(c1, "k1", 3);
        c1.barrier();  // its acknowledgements have arrived: none of these comes again
        c1.drop();
        await_member_event(broker, "member_absent", "C1");
        for (const int qos : {0, 1, 2}) publish_records(publisher, "k1", 3 + qos, 1, qos);
        c1.reconnect();
        const auto records = expect_records(c1, "k1", 6);
        EXPECT_EQ(payloads(records), numbered("k1", 0, 6));
        const bool shows = Broker::version() >= BrokerVersion{2, 1, 0};
        for (std::size_t i = 0; i < records.size(); ++i) {
            EXPECT_EQ(records[i].qos, std::min(static_cast<int>(i % 3), granted));
            EXPECT_EQ(records[i].properties.subscription_identifiers,
                      shows ? std::vector<std::uint32_t>{7} : std::vector<std::uint32_t>{});
        }
    }
}

}  // namespace
}  // namespace keyed_sticky::test
