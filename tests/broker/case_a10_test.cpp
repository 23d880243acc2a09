// A10. Messages that a bridge brings in obey the same order; a bridge is never a member that the
// plugin does not see.

#include <gtest/gtest.h>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

std::vector<std::string> bridge_to(const Broker& other, const std::string& topic) {
    return {"connection bridge",   "address 127.0.0.1:" + std::to_string(other.port()),
            "topic " + topic,      "cleansession true",
            "notifications false", "restart_timeout 1"};
}

class CaseA10 : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(EachDirection, CaseA10, testing::Values("in", "both"),
                         [](const auto& tested) { return std::string(tested.param); });

// Promise: 20 devices publish to a remote broker without plugin; here, each has one receiver, which
// gets all its records in order, once.
TEST_P(CaseA10, BridgedInMessagesKeepTheirOrderAndOwner) {
    constexpr int kDevices = 20;
    constexpr int kRecords = 50;
    constexpr std::size_t kAll = std::size_t{kDevices} * kRecords;
    Broker remote(native_control());
    auto config = case_group();
    config.trailing_lines = bridge_to(remote, std::string("dev/+/up ") + GetParam() + " 1");
    Broker broker(config);
    Client helper(broker, {.client_id = "helper"});
    Client c1(broker, {.client_id = "C1"});
    Client c2(broker, {.client_id = "C2"});
    c1.subscribe(kSubscription, 1);
    c2.subscribe(kSubscription, 1);
    await_members(broker, helper, {"C1", "C2"});
    ASSERT_TRUE(remote.wait_for_log("Sending SUBACK to"));

    Client devices(remote, {.client_id = "devices"});
    for (int i = 1; i <= kRecords; ++i) {
        for (int device = 0; device < kDevices; ++device) {
            devices.publish_async(up("k" + std::to_string(device)), std::to_string(i), {.qos = 1});
        }
    }
    ASSERT_TRUE(devices.wait_all_published());
    ASSERT_TRUE(eventually([&] { return c1.message_count() + c2.message_count() >= kAll; }));
    c1.barrier();
    c2.barrier();
    std::size_t owners = 0;
    for (int device = 0; device < kDevices; ++device) {
        const std::string key = "k" + std::to_string(device);
        const auto at_c1 = records_of(c1.messages(), key);
        const auto at_c2 = records_of(c2.messages(), key);
        EXPECT_TRUE(at_c1.empty() || at_c2.empty()) << key << " had two receivers";
        const auto& all = at_c1.empty() ? at_c2 : at_c1;
        owners += at_c1.empty() ? 0 : 1;
        ASSERT_EQ(all.size(), static_cast<std::size_t>(kRecords)) << key;
        for (std::size_t i = 0; i < all.size(); ++i) {
            ASSERT_EQ(all[i].payload, std::to_string(i + 1)) << key;
            ASSERT_EQ(sequence_of(all[i].properties), i + 1) << key;
        }
    }
    EXPECT_EQ(owners, static_cast<std::size_t>(kDevices) / 2);
}

// Promise: a remote broker whose bridge subscribes here to the group is a client like any other: a
// member that is known, and that gets its share.
TEST(CaseA10Member, RemoteBridgeThatSubscribesHereIsAKnownMember) {
    Broker broker(case_group());
    auto config = native_control();
    config.trailing_lines = bridge_to(broker, kSubscription + " in 1");
    config.trailing_lines.emplace_back("remote_clientid far-bridge");
    Broker remote(config);
    await_member_event(broker, "member_online", "far-bridge");
    Client at_remote(remote, {.client_id = "at-remote"});
    at_remote.subscribe("dev/+/up", 1);
    Client publisher(broker, {.client_id = "publisher"});
    publish_records(publisher, "k1", 1, 20);
    EXPECT_EQ(payloads(expect_records(at_remote, "k1", 20)), numbered("k1", 1, 20));
    EXPECT_EQ(at_remote.count_after_barrier(), 20U);
}

// Promise: a bridge of this broker that would be a member, invisible to plugins, is refused at load
// with a line that says so; an ordinary bridge is not.
TEST(CaseA10Member, OwnBridgeWithAShareSubscriptionIsRefused) {
    Broker remote(native_control());
    for (const std::string direction : {"out", "both"}) {
        auto config = case_group();
        config.trailing_lines = bridge_to(
            remote, std::string(kSubscription).append(1, ' ').append(direction).append(" 1"));
        const auto refused = Broker::start_expecting_failure(config);
        EXPECT_FALSE(refused.status.clean());
        EXPECT_NE(refused.log.find("bridge subscribes to " + kSubscription), std::string::npos)
            << refused.log;
    }
    auto config = case_group();
    config.trailing_lines = bridge_to(remote, "dev/+/up out 1");
    EXPECT_TRUE(Broker(config).running());
}

}  // namespace
}  // namespace keyed_sticky::test
