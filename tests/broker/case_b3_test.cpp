// B3. A member that unsubscribes is served no more; after a rolling restart of all members each key
// has one owner.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

// Promise: C1 owns k1, stays connected and unsubscribes between k1's records: after the UNSUBACK it
// gets nothing of the group, and all that follows reaches C2, in order.
TEST(CaseB3, NothingAfterTheUnsuback) {
    Broker broker(case_group());
    Client publisher(broker, {.client_id = "publisher"});
    RawClient c1(broker);
    c1.connect({.client_id = "C1"});
    c1.subscribe(kSubscription, {.qos = 1});
    await_members(broker, publisher, {"C1"});
    publish_records(publisher, "k1", 1, 1);
    Client c2(broker, {.client_id = "C2"});
    c2.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C2"});
    publish_records(publisher, "k1", 2, 4);
    c1.barrier();
    EXPECT_EQ(c1.unsubscribe(kSubscription).reason(), 0);
    publish_records(publisher, "k1", 6, 95);
    const auto at_c2 = expect_records(c2, "k1", 100);
    EXPECT_TRUE(c1.barrier().empty());
    EXPECT_EQ(payloads(at_c2), numbered("k1", 1, 100));
    for (std::size_t i = 0; i < at_c2.size(); ++i) {
        EXPECT_EQ(is_redelivery(at_c2[i].properties), i < 5);
    }
    EXPECT_TRUE(at_c2.front()
                    .properties.user_property("ks-handover")
                    .value_or("")
                    .starts_with("cause=unsubscribed"));
    c1.send_pingreq();
    EXPECT_NO_THROW(c1.wait_for(PacketType::kPingresp)) << "C1 was disconnected";
}

// Promise: the same in the midst of a stream, fifty times: whatever C1 has got when its UNSUBACK
// comes is the last of it, or is on its way already; nothing is lost or reordered.
TEST(CaseB3, UnsubscribingInTheMidstOfAStreamLosesNothing) {
    Broker broker(case_group());
    Client publisher(broker, {.client_id = "publisher"});
    Client c2(broker, {.client_id = "C2"});
    c2.subscribe(kSubscription, 1);
    await_members(broker, publisher, {"C2"});
    int published = 0;
    for (std::size_t round = 1; round <= 50; ++round) {
        Client c1(broker, {.client_id = "C1"});
        c1.subscribe(kSubscription, 1);
        await_members(broker, publisher, {"C1"}, round);
        // A key of its own, which the one with fewer slots gets.
        const std::string key = "k" + std::to_string(round);
        const int first = ++published;
        publish_records(publisher, key, first, 1);
        for (int i = 0; i < 10; ++i)
            publisher.publish_async(up(key), key + ' ' + std::to_string(++published), {.qos = 1});
        c1.unsubscribe(kSubscription);
        ASSERT_TRUE(publisher.wait_all_published());
        const std::string last = key + ' ' + std::to_string(published);
        ASSERT_TRUE(c2.wait_until([&](const std::vector<Message>& messages) {
            return !messages.empty() && messages.back().payload == last;
        })) << "round "
            << round;
        std::vector<std::string> at_c2 = payloads(records_of(c2.messages(), key));
        EXPECT_EQ(at_c2, numbered(key, first, 11)) << "round " << round;
    }
}

// Promise: four members restart one after the other under traffic, with and without a session that
// lives on: no record is lost, and afterwards each key has one owner.
TEST(CaseB3, RollingRestartLeavesOneOwnerForEachKey) {
    constexpr int kKeys = 30;
    Broker broker(case_group({{"rebalance_delay", "200ms"}}));
    Client publisher(broker, {.client_id = "publisher"});
    std::vector<ConnectOptions> options{
        {.client_id = "C1"}, persistent("C2"), {.client_id = "C3"}, persistent("C4")};
    std::vector<std::unique_ptr<Client>> members;
    for (const auto& option : options) {
        members.push_back(std::make_unique<Client>(broker, option));
        members.back()->subscribe(kSubscription, 1);
    }
    await_members(broker, publisher, {"C1", "C2", "C3", "C4"});
    std::map<std::string, std::set<std::string>> received;
    const auto collect = [&] {
        for (auto& member : members) {
            for (const auto& message : member->take_messages())
                received[message.topic].insert(message.payload);
        }
    };
    int round = 0;
    const auto publish_round = [&] {
        ++round;
        for (int i = 0; i < kKeys; ++i)
            publish_records(publisher, "k" + std::to_string(i), round, 1);
    };
    publish_round();
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::string id = options[i].client_id;
        const auto times = member_event_count(broker, "member_online", id);
        members[i]->drop();
        publish_round();
        collect();
        members[i] = std::make_unique<Client>(broker, options[i]);
        members[i]->subscribe(kSubscription, 1);
        publish_round();
        await_members(broker, publisher, {id}, times + 1);
    }
    for (int last = 0; last < 3; ++last) publish_round();
    const bool complete = eventually([&] {
        collect();
        for (int i = 0; i < kKeys; ++i) {
            if (received[up("k" + std::to_string(i))].size() < static_cast<std::size_t>(round))
                return false;
        }
        return true;
    });
    EXPECT_TRUE(complete) << "records were lost";
    // What was to move has moved: two more records of each key have one receiver.
    for (auto& member : members) {
        member->barrier();
        member->take_messages();
    }
    publish_round();
    publish_round();
    for (auto& member : members) member->barrier();
    for (int i = 0; i < kKeys; ++i) {
        const std::string key = "k" + std::to_string(i);
        std::vector<std::size_t> copies;
        for (const auto& member : members) {
            const auto records = records_of(member->messages(), key);
            if (!records.empty()) copies.push_back(records.size());
        }
        EXPECT_EQ(copies, std::vector<std::size_t>{2}) << key;
    }
}

}  // namespace
}  // namespace keyed_sticky::test
