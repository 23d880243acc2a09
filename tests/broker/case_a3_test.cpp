// A3. However many listeners the broker has, each client's coming and going is seen once, and what
// is decided does not hang on the reason that 2.0 gives for the end of a connection. (One renewal
// of a lease per interval is a matter of the coordinator: with Redis.)

#include <gtest/gtest.h>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

// Promise: with four listeners, a client that joins, is lost, comes back and unsubscribes leaves
// one line of each kind; its membership is neither added nor removed twice.
TEST(CaseA3, OneMembershipPerClientWhateverTheListeners) {
    auto config = case_group({{"lease_timeout", "1h"}});
    config.websockets = true;
    const std::string socket = testing::TempDir() + "keyed-sticky-a3-";
    for (const char* name : {"one", "two"}) {
        config.trailing_lines.push_back("listener 0 " + socket + name);
        config.trailing_lines.emplace_back("allow_anonymous true");
    }
    Broker broker(config);
    Client publisher(broker, {.client_id = "publisher"});
    std::vector<RawClient> members;
    const std::vector<std::pair<std::string, Transport>> kinds{{"tcp", Transport::kTcp},
                                                               {"ws", Transport::kWebsocket}};
    for (const auto& [id, transport] : kinds) {
        RawClient& member = members.emplace_back(broker, transport);
        member.connect(persistent(id));
        member.subscribe(kSubscription, {.qos = 1});
    }
    await_members(broker, publisher, {"tcp", "ws"});
    // Each of 20 records arrives once.
    for (int i = 0; i < 20; ++i) publish_records(publisher, "k" + std::to_string(i), 1, 1);
    std::size_t received = 0;
    for (auto& member : members) {
        for (const auto& packet : member.barrier()) {
            received += packet.type == PacketType::kPublish && packet.topic != up(kWarmUp);
        }
    }
    EXPECT_EQ(received, 20U);

    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const auto& [id, transport] = kinds[i];
        members[i].reset();
        await_member_event(broker, "member_absent", id);
        RawClient back(broker, transport);
        EXPECT_TRUE(back.connect(persistent(id)).session_present);
        await_member_event(broker, "member_online", id, 2);
        back.unsubscribe(kSubscription);
        await_member_event(broker, "member_gone", id);
        members[i] = std::move(back);
    }
    for (auto& member : members) member.barrier();
    for (const auto& [id, transport] : kinds) {
        EXPECT_EQ(member_event_count(broker, "member_online", id), 2U) << id;
        EXPECT_EQ(member_event_count(broker, "member_absent", id), 1U) << id;
        EXPECT_EQ(member_event_count(broker, "member_gone", id), 1U) << id;
    }
}

// Promise: a lost connection and, on 2.0, a DISCONNECT of a session that lives on are the same:
// absent for a lease. 2.1 tells them apart only by the end of the session.
TEST(CaseA3, PersistentMemberIsAbsentHoweverItsConnectionEnded) {
    Broker broker(case_group());
    Client publisher(broker, {.client_id = "publisher"});
    Client polite(broker, persistent("polite"));
    Client killed(broker, persistent("killed"));
    polite.subscribe(kSubscription, 1);
    killed.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"polite", "killed"});
    polite.disconnect();
    killed.drop();
    for (const auto* id : {"polite", "killed"}) {
        await_member_event(broker, "member_absent", id);
        await_member_event(broker, "member_gone", id);
        EXPECT_EQ(member_event_count(broker, "member_absent", id), 1U);
        EXPECT_EQ(member_event_count(broker, "member_gone", id), 1U);
    }
    EXPECT_EQ(broker.log_count("member_gone cause=lease-expired"), 2U);
}

// Promise: a DISCONNECT that ends the session is a clean leave where the broker tells it (2.1); on
// 2.0, where it looks like a crash, the slots wait out the lease.
TEST(CaseA3, EndOfTheSessionIsACleanLeaveWhereTheBrokerTells) {
    Broker broker(case_group());
    Client publisher(broker, {.client_id = "publisher"});
    Client member(broker, {.client_id = "C1"});
    member.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C1"});
    member.disconnect();
    await_member_event(broker, "member_gone", "C1");
    const bool tells = Broker::version() >= BrokerVersion{2, 1, 0};
    EXPECT_EQ(broker.log_count("member_gone cause=disconnected"), tells ? 1U : 0U);
    EXPECT_EQ(broker.log_count("member_gone cause=lease-expired"), tells ? 0U : 1U);
}

}  // namespace
}  // namespace keyed_sticky::test
