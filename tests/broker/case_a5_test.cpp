// A5. Ten thousand publishes of every QoS, with empty, tiny and large payloads and user properties,
// beside another plugin: everything arrives, and the broker's memory stays flat. A sanitized build
// of the plugin runs the same test.

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

constexpr int kPublishes = 10'000;
constexpr int kKeys = 8;
constexpr std::size_t kLarge = 64UL * 1024;

enum class OtherPluginPlace : std::uint8_t { before, after };

class CaseA5 : public testing::TestWithParam<std::tuple<int, OtherPluginPlace>> {};

std::string variant(const testing::TestParamInfo<CaseA5::ParamType>& tested) {
    const bool before = std::get<1>(tested.param) == OtherPluginPlace::before;
    return "Qos" + std::to_string(std::get<0>(tested.param)) +
           (before ? "OtherPluginBefore" : "OtherPluginAfter");
}
INSTANTIATE_TEST_SUITE_P(EachQos, CaseA5,
                         testing::Combine(testing::Values(0, 1, 2),
                                          testing::Values(OtherPluginPlace::before,
                                                          OtherPluginPlace::after)),
                         variant);

// Mosquitto's dynamic security. Loaded before, it must not grant READ by itself: the first plugin
// that grants is the last that the broker asks, and the group would be distributed natively. So
// there it leaves the decision to the one after it.
OtherPlugin other_plugin(OtherPluginPlace place) {
    const std::string file =
        testing::TempDir() + "keyed-sticky-a5-" + std::to_string(::getpid()) + ".json";
    std::ofstream(file) << R"({"defaultACLAccess": {"publishClientSend": true,
        "publishClientReceive": )"
                        << (place == OtherPluginPlace::after ? "true" : "false") << R"(,
        "subscribe": true, "unsubscribe": true}})";
    return {Broker::stock_plugin("dynamic_security"), {{"config_file", file}}};
}

std::string payload_of(int i) {
    return std::string(i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : kLarge, 'x');
}

// Promise: each record arrives once, complete with its properties, in the order of its key, at its
// QoS; after the first third no more memory is needed.
TEST_P(CaseA5, EverythingArrivesInFlatMemory) {
    const auto [qos, place] = GetParam();
    // 2.0 asks no further once a plugin grants SUBSCRIBE, so behind such a one ours sees no
    // members. Debian's 2.0 has no stock plugin that takes no part in it.
    if (place == OtherPluginPlace::before && Broker::version() < BrokerVersion{2, 1, 0}) return;
    // With more QoS 2 messages outstanding than its clients' Receive Maximum, 2.0.11 may exceed
    // that, and the client ends the connection.
    const int batch = qos == 2 ? 20 : 250;
    auto config = case_group({{"unacked_window", "60"}, {"members", "client-id:member"}});
    config.verbose = false;
    (place == OtherPluginPlace::before ? config.plugins_before : config.plugins_after)
        .push_back(other_plugin(place));
    Broker broker(config);
    Client publisher(broker, {.client_id = "publisher"});
    Client member(broker, {.client_id = "member"});
    ASSERT_EQ(member.subscribe(kSubscription, 2), 2);
    await_members(broker, publisher, {"member"});
    const auto marker_arrives = [&] {
        publisher.publish(up(kWarmUp), "marker", 1);
        expect_records(member, kWarmUp, 1);
        return member.wait_until([](const std::vector<Message>& messages) {
            return messages.back().payload == "marker";
        });
    };
    ASSERT_TRUE(marker_arrives());
    member.take_messages();

    std::int64_t resident_after_a_third = 0;
    for (int first = 0; first < kPublishes; first += batch) {
        for (int i = first; i < first + batch; ++i) {
            Properties properties;
            properties.user = {{"number", std::to_string(i)}, {"filler", std::string(100, 'y')}};
            publisher.publish_async(up("k" + std::to_string(i % kKeys)), payload_of(i),
                                    {.qos = qos, .properties = properties});
        }
        ASSERT_TRUE(publisher.wait_all_published());
        ASSERT_TRUE(member.wait_for(static_cast<std::size_t>(batch)))
            << "only " << member.message_count();
        const auto messages = member.take_messages();
        ASSERT_EQ(messages.size(), static_cast<std::size_t>(batch));
        for (int i = first; i < first + batch; ++i) {
            const auto& message = messages[static_cast<std::size_t>(i - first)];
            ASSERT_EQ(message.properties.user_property("number"), std::to_string(i));
            ASSERT_EQ(message.properties.user_property("filler"), std::string(100, 'y'));
            ASSERT_EQ(message.payload.size(), payload_of(i).size());
            ASSERT_EQ(message.qos, qos);
            ASSERT_EQ(sequence_of(message.properties), static_cast<std::uint64_t>(i / kKeys + 1));
        }
        if (first < kPublishes / 3) resident_after_a_third = broker.resident_kib();
    }
    // One payload leaked in ten would be 14 MiB.
    EXPECT_LE(broker.resident_kib(), resident_after_a_third + 10L * 1024);
    ASSERT_TRUE(marker_arrives());
    EXPECT_EQ(member.message_count(), 1U);
}

}  // namespace
}  // namespace keyed_sticky::test
