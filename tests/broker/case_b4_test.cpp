// B4. The owner of a key depends on group, filter and key, not on who publishes, or how often he
// connects.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

struct FourMembers {
    explicit FourMembers(const BrokerConfig& config) : broker(config) {
        for (const auto* id : {"C1", "C2", "C3", "C4"}) {
            members.push_back(std::make_unique<Client>(broker, ConnectOptions{.client_id = id}));
            members.back()->subscribe(kSubscription, 1);
        }
    }
    void await_all() { await_members(broker, helper, {"C1", "C2", "C3", "C4"}); }
    // The members that have got records of that key, by index.
    [[nodiscard]] std::set<std::size_t> receivers(const std::string& key) const {
        std::set<std::size_t> result;
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (!records_of(members[i]->messages(), key).empty()) result.insert(i);
        }
        return result;
    }
    [[nodiscard]] bool wait_for_records(std::size_t count) const {
        return eventually([&] {
            std::size_t here = 0;
            for (const auto& member : members) {
                for (const auto& message : member->messages()) here += message.topic != up(kWarmUp);
            }
            return here >= count;
        });
    }

    Broker broker;
    Client helper{broker, {.client_id = "helper"}};
    std::vector<std::unique_ptr<Client>> members;
};

// Promise: the 50 devices behind one gateway, which publishes for all of them, are spread over all
// members as evenly as 50 slots can be, each with one owner.
TEST(CaseB4, KeysOfOneGatewaySpread) {
    FourMembers group(case_group());
    group.await_all();
    Client gateway(group.broker, {.client_id = "gateway"});
    for (int round = 1; round <= 4; ++round) {
        for (int i = 0; i < 50; ++i) publish_records(gateway, "k" + std::to_string(i), round, 1);
    }
    ASSERT_TRUE(group.wait_for_records(200));
    std::map<std::size_t, int> keys_of;
    for (int i = 0; i < 50; ++i) {
        const auto receivers = group.receivers("k" + std::to_string(i));
        ASSERT_EQ(receivers.size(), 1U) << "k" << i;
        ++keys_of[*receivers.begin()];
    }
    ASSERT_EQ(keys_of.size(), 4U);
    // A slot may have two keys, so that a key or two more or less than 50 / 4 is even.
    for (const auto& [member, count] : keys_of) {
        EXPECT_GE(count, 10) << "member " << member;
        EXPECT_LE(count, 15) << "member " << member;
    }
}

// Promise: a device that connects 20 times, in both protocols and under changing client ids, keeps
// its owner, and so does its sequence.
TEST(CaseB4, ReconnectingDeviceKeepsItsOwner) {
    FourMembers group(case_group());
    group.await_all();
    for (int i = 0; i < 20; ++i) {
        const std::string suffix = i % 4 < 2 ? "" : std::to_string(i);
        Client device(group.broker,
                      {.client_id = "device" + suffix,
                       .protocol = i % 2 == 0 ? Protocol::kMqtt5 : Protocol::kMqtt311});
        publish_records(device, "k1", i, 1);
    }
    ASSERT_TRUE(group.wait_for_records(20));
    const auto receivers = group.receivers("k1");
    ASSERT_EQ(receivers.size(), 1U);
    const auto records = records_of(group.members[*receivers.begin()]->messages(), "k1");
    EXPECT_EQ(payloads(records), numbered("k1", 0, 20));
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(sequence_of(records[i].properties), i + 1);
    }
}

// The control: natively, one key's records are spread over the members.
TEST(CaseB4, NativeControlGivesOneKeyToSeveralMembers) {
    FourMembers group(native_control());
    publish_records(group.helper, "k1", 0, 20);
    ASSERT_TRUE(group.wait_for_records(20));
    EXPECT_GT(group.receivers("k1").size(), 1U);
}

}  // namespace
}  // namespace keyed_sticky::test
