// A2. A member whose session is resumed, or taken over by a second connection with its client id,
// stays the member it was: no SUBSCRIBE announces it, and the late end of the old connection means
// nothing.

#include <gtest/gtest.h>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

struct Way {
    Transport transport;
    Protocol protocol;
};

class CaseA2 : public testing::TestWithParam<Way> {
  protected:
    CaseA2() {
        auto config = case_group();
        config.websockets = true;
        broker_.emplace(config);
        publisher_.emplace(*broker_, ConnectOptions{.client_id = "publisher"});
        c2_.emplace(*broker_, persistent("C2"));
    }

    // C1 owns k1 and has acknowledged nothing of it: nothing was sent. C2 is a member, too.
    RawClient become_owner() {
        RawClient c1 = connect_c1();
        c1.subscribe(kSubscription, {.qos = 1});
        await_members(*broker_, *publisher_, {"C1"});
        publish_records(*publisher_, "k1", 1, 1);
        read_next(c1, "k1 1");
        c2_->subscribe(kSubscription, 1);
        await_members(*broker_, *publisher_, {"C2"});
        return c1;
    }

    RawClient connect_c1() {
        RawClient c1(*broker_, GetParam().transport);
        const auto connack = c1.connect(persistent("C1", GetParam().protocol));
        if (connack.reason() != 0) throw std::runtime_error("C1 was refused");
        return c1;
    }

    // The next record of k1, which must be this one; acknowledges it.
    static Packet read_next(RawClient& client, const std::string& payload) {
        for (;;) {
            auto packet = client.wait_for(PacketType::kPublish);
            if (packet.topic != up("k1")) continue;
            EXPECT_EQ(packet.payload, payload);
            client.send_ack(PacketType::kPuback, packet.id);
            return packet;
        }
    }

    // Waits until a lease that began now has ended: that of a member which leaves for ever now.
    void outlast_a_lease() {
        const std::string id = "witness-" + std::to_string(++witnesses_);
        Client witness(*broker_, persistent(id));
        witness.subscribe(kSubscription, 1);
        await_members(*broker_, *publisher_, {id});
        witness.drop();
        await_member_event(*broker_, "member_gone", id);
    }

    void expect_c2_got_nothing_of_k1() {
        c2_->barrier();
        EXPECT_TRUE(records_of(c2_->messages(), "k1").empty());
        EXPECT_EQ(member_event_count(*broker_, "member_gone", "C1"), 0U);
    }

    std::optional<Broker> broker_;
    std::optional<Client> publisher_;
    std::optional<Client> c2_;
    int witnesses_ = 0;
};

INSTANTIATE_TEST_SUITE_P(EachWay, CaseA2,
                         testing::Values(Way{Transport::kTcp, Protocol::kMqtt311},
                                         Way{Transport::kTcp, Protocol::kMqtt5},
                                         Way{Transport::kWebsocket, Protocol::kMqtt311},
                                         Way{Transport::kWebsocket, Protocol::kMqtt5}),
                         [](const auto& way) {
                             const bool tcp = way.param.transport == Transport::kTcp;
                             const bool five = way.param.protocol == Protocol::kMqtt5;
                             return std::string(tcp ? "Tcp" : "Websockets") +
                                    (five ? "Mqtt5" : "Mqtt311");
                         });

// Promise: what was published while C1 was away reaches it on its return, once, in order, under the
// epoch it had; later than its lease it still is the owner.
TEST_P(CaseA2, ResumeWithoutSubscribeKeepsMemberAndOwner) {
    RawClient c1 = become_owner();
    c1.barrier();
    c1.reset();
    await_member_event(*broker_, "member_absent", "C1");
    publish_records(*publisher_, "k1", 2, 3);
    RawClient back = connect_c1();
    for (const auto& payload : numbered("k1", 2, 3)) read_next(back, payload);
    publish_records(*publisher_, "k1", 5, 1);
    const auto fifth = read_next(back, "k1 5");

    outlast_a_lease();
    publish_records(*publisher_, "k1", 6, 1);
    const auto sixth = read_next(back, "k1 6");
    if (GetParam().protocol == Protocol::kMqtt5) {
        EXPECT_EQ(epoch_of(sixth.properties), epoch_of(fifth.properties));
        EXPECT_EQ(sequence_of(sixth.properties), 6U);
    }
    EXPECT_TRUE(records_of(back.barrier(), "k1").empty());
    expect_c2_got_nothing_of_k1();
}

// Promise: five takeovers in the midst of k1's records: each record reaches C1, first in order, and
// nobody else; the end of the old connection, whenever the broker reports it, moves nothing.
TEST_P(CaseA2, TakeoverWhileOnlineKeepsMemberAndOwner) {
    RawClient current = become_owner();
    int published = 1;
    std::vector<std::string> received{"k1 1"};
    const auto take = [&](RawClient& client) {
        while (received.back() != "k1 " + std::to_string(published)) {
            const auto packet = client.wait_for(PacketType::kPublish);
            if (packet.topic != up("k1")) continue;
            client.send_ack(PacketType::kPuback, packet.id);
            if (!packet.dup) received.push_back(packet.payload);
        }
    };
    for (int round = 0; round < 5; ++round) {
        publish_records(*publisher_, "k1", published + 1, 10);
        published += 10;
        take(current);
        RawClient next(*broker_, GetParam().transport);
        next.send_connect(persistent("C1", GetParam().protocol));
        // In the midst: the broker reads these while it ends the old connection.
        publish_records(*publisher_, "k1", published + 1, 10);
        published += 10;
        EXPECT_TRUE(next.wait_for(PacketType::kConnack).session_present);
        EXPECT_TRUE(current.wait_closed());
        while (auto packet = current.read_packet(Duration{0})) {
            if (packet->type == PacketType::kPublish && packet->topic == up("k1"))
                received.push_back(packet->payload);
        }
        take(next);
        current = std::move(next);
    }
    EXPECT_EQ(received, numbered("k1", 1, published));

    outlast_a_lease();
    publish_records(*publisher_, "k1", published + 1, 1);
    read_next(current, "k1 " + std::to_string(published + 1));
    expect_c2_got_nothing_of_k1();
}

}  // namespace
}  // namespace keyed_sticky::test
