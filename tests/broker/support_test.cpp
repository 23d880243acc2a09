// The fixture and the clients themselves, on the native broker: what they promise is what all other
// broker tests rest on.

#include <gtest/gtest.h>

#include <fstream>

#include "support/broker.h"
#include "support/mqtt_client.h"
#include "support/raw_client.h"

namespace keyed_sticky::test {
namespace {

BrokerConfig native() {
    return {.with_plugin = false};
}

class EachQos : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Support, EachQos, testing::Values(0, 1, 2));

TEST_P(EachQos, ClientReceivesWhatAnotherPublishesInOrder) {
    Broker broker(native());
    Client subscriber(broker, {.client_id = "subscriber"});
    Client publisher(broker, {.client_id = "publisher"});
    EXPECT_EQ(subscriber.subscribe("a/+", GetParam()), GetParam());
    for (int i = 0; i < 50; ++i) {
        publisher.publish_async("a/" + std::to_string(i), std::to_string(i), {.qos = GetParam()});
    }
    ASSERT_TRUE(publisher.wait_all_published());
    const auto messages = subscriber.expect_messages(50);
    for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(messages[i].payload, std::to_string(i));
        EXPECT_EQ(messages[i].qos, GetParam());
        EXPECT_EQ(messages[i].order, i);
    }
    EXPECT_EQ(publisher.publish("a/last", "", GetParam()).reason, 0);
    EXPECT_TRUE(broker.stop().clean());
}

TEST(Support, PropertiesAndSubscriptionIdentifierArrive) {
    Broker broker(native());
    Client client(broker, {.client_id = "c"});
    client.subscribe("t", {.qos = 1, .identifier = 7});
    Properties properties;
    properties.content_type = "text";
    properties.response_topic = "answer";
    properties.correlation_data = std::string("\0x", 2);
    properties.user = {{"name", "one"}, {"name", "two"}};
    client.publish("t", "payload", {.qos = 1, .properties = properties});
    const auto message = client.expect_messages(1).front();
    properties.subscription_identifiers = {7};
    EXPECT_EQ(message.properties, properties);
}

TEST(Support, Mqtt311ClientsGetNoProperties) {
    Broker broker(native());
    Client client(broker, {.client_id = "c", .protocol = Protocol::kMqtt311});
    EXPECT_EQ(client.subscribe("t", 1), 1);
    client.publish("t", "payload", {.qos = 1, .retain = true});
    EXPECT_EQ(client.expect_messages(1).front().properties, Properties{});
    client.unsubscribe("t");
    client.publish("t", "payload", 1);
    EXPECT_EQ(client.count_after_barrier(), 1U);
}

// The barrier is what "nothing arrived" rests on: it must not overtake any QoS.
TEST(Support, BarrierComesAfterEverythingQueuedBefore) {
    Broker broker(native());
    // Ten times the in-flight limit.
    Client subscriber(broker, {.client_id = "subscriber"});
    Client publisher(broker, {.client_id = "publisher"});
    subscriber.subscribe("t/#", 2);
    for (int i = 0; i < 200; ++i) publisher.publish_async("t/x", "", {.qos = i % 3});
    ASSERT_TRUE(publisher.wait_all_published());
    EXPECT_EQ(subscriber.count_after_barrier(), 200U);
}

TEST(Support, WillFollowsADropAndNotADisconnect) {
    Broker broker(native());
    Client watcher(broker, {.client_id = "watcher"});
    watcher.subscribe("will/+", 1);
    const auto with_will = [](const std::string& id) {
        return ConnectOptions{.client_id = id,
                              .will = Will{.topic = "will/" + id, .payload = "gone", .qos = 1}};
    };
    Client polite(broker, with_will("polite"));
    Client killed(broker, with_will("killed"));
    polite.disconnect();
    EXPECT_EQ(polite.disconnect_reason(), 0);
    killed.drop();
    EXPECT_EQ(watcher.expect_messages(1).front().topic, "will/killed");
    EXPECT_EQ(watcher.count_after_barrier(), 1U);
}

TEST(Support, PersistentSessionsResumeAndAreTakenOver) {
    Broker broker(native());
    const ConnectOptions options{
        .client_id = "c", .clean = false, .properties = {.session_expiry = 60}};
    Client client(broker, options);
    EXPECT_FALSE(client.session_present());
    client.subscribe("t", 1);
    client.drop();
    Client publisher(broker, {.client_id = "publisher"});
    publisher.publish("t", "stored", 1);
    client.reconnect();
    EXPECT_TRUE(client.session_present());
    EXPECT_EQ(client.expect_messages(1).front().payload, "stored");
    Client other(broker, options);
    EXPECT_TRUE(other.session_present());
    EXPECT_TRUE(client.wait_disconnected());
}

TEST(Support, RefusedConnectionsSayWhy) {
    auto config = native();
    config.allow_anonymous = false;
    Broker broker(config);
    EXPECT_THROW(Client(broker, {.client_id = "c"}), std::runtime_error);
    Client client(broker, {.client_id = "c"}, Client::Unconnected{});
    EXPECT_EQ(client.try_connect(), 0x87);
}

class EachTransport : public testing::TestWithParam<std::tuple<Transport, Protocol>> {};
INSTANTIATE_TEST_SUITE_P(Support, EachTransport,
                         testing::Combine(testing::Values(Transport::kTcp, Transport::kWebsocket),
                                          testing::Values(Protocol::kMqtt311, Protocol::kMqtt5)));

TEST_P(EachTransport, RawQos2Flow) {
    const auto [transport, protocol] = GetParam();
    auto config = native();
    config.websockets = true;
    Broker broker(config);
    RawClient client(broker, transport);
    EXPECT_EQ(client.connect({.client_id = "c", .protocol = protocol}).reason(), 0);
    EXPECT_EQ(client.subscribe("t", {.qos = 2}).reason(), 2);

    // The same PUBLISH twice before its PUBREL is one message, delivered at PUBREL.
    const RawPublish publish{.topic = "t", .payload = std::string(70'000, 'x'), .qos = 2, .id = 42};
    client.publish(publish);
    EXPECT_EQ(client.expect(PacketType::kPubrec).id, 42);
    auto again = publish;
    again.dup = true;
    client.publish(again);
    EXPECT_EQ(client.expect(PacketType::kPubrec).id, 42);
    EXPECT_TRUE(client.barrier().empty());
    client.send_ack(PacketType::kPubrel, 42);
    EXPECT_EQ(client.wait_for(PacketType::kPubcomp).id, 42);

    const auto received = client.read_publishes(1).front();
    EXPECT_EQ(received.payload, publish.payload);
    EXPECT_EQ(received.qos, 2);
    client.send_ack(PacketType::kPubrec, received.id);
    EXPECT_EQ(client.expect(PacketType::kPubrel).id, received.id);
    client.send_ack(PacketType::kPubcomp, received.id);
    EXPECT_TRUE(client.barrier().empty());
    client.send_disconnect();
    EXPECT_TRUE(client.wait_closed());
}

TEST(Support, RawBurstInOneWriteAndUnacknowledgedIsSentAgainWithDup) {
    Broker broker(native());
    const ConnectOptions options{
        .client_id = "c", .clean = false, .properties = {.session_expiry = 60}};
    RawClient client(broker);
    client.connect(options);
    client.subscribe("t", {.qos = 1, .identifier = 9});
    std::string burst;
    for (int i = 0; i < 5; ++i) {
        burst += encode_publish(
            Protocol::kMqtt5,
            {.topic = "t", .payload = std::to_string(i), .qos = 1, .id = client.next_id()});
    }
    client.send_bytes(burst);
    const auto first = client.read_publishes(5);
    EXPECT_EQ(first.front().properties.subscription_identifiers, std::vector<std::uint32_t>{9});
    client.send_ack(PacketType::kPuback, first[0].id);
    EXPECT_EQ(client.barrier().size(), 5U);  // the PUBACKs of the burst
    client.reset();

    RawClient resumed(broker);
    EXPECT_TRUE(resumed.connect(options).session_present);
    const auto second = resumed.read_publishes(4);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(second[i].payload, std::to_string(i + 1));
        EXPECT_TRUE(second[i].dup);
    }
}

TEST(Support, UnsubackCarriesReasons) {
    Broker broker(native());
    RawClient client(broker);
    client.connect({.client_id = "c"});
    EXPECT_EQ(client.unsubscribe("never").reason(), 0x11);
}

TEST(Support, RestartKeepsPortAndPersistedSession) {
    auto config = native();
    config.persistence = Persistence::kFile;
    Broker broker(config);
    Client client(broker,
                  {.client_id = "c", .clean = false, .properties = {.session_expiry = 600}});
    client.subscribe("t", 1);
    const auto port = broker.port();
    broker.restart();
    EXPECT_EQ(broker.port(), port);
    ASSERT_TRUE(client.wait_disconnected());
    client.reconnect();
    EXPECT_TRUE(client.session_present());
    client.publish("t", "after", 1);
    EXPECT_EQ(client.expect_messages(1).front().payload, "after");
}

TEST(Support, SqlitePersistenceKeepsSessionOverKill) {
    auto config = native();
    config.persistence = Persistence::kSqlite;
    if (Broker::version() < BrokerVersion{2, 1, 0}) {
        EXPECT_THROW(Broker{config}, std::runtime_error);
        return;
    }
    Broker broker(config);
    Client client(broker,
                  {.client_id = "c", .clean = false, .properties = {.session_expiry = 600}});
    client.subscribe("t", 1);
    broker.restart();
    ASSERT_TRUE(client.wait_disconnected());
    client.reconnect();
    EXPECT_TRUE(client.session_present());
}

TEST(Support, StoppedBrokerIsContinuedAndKilledOneIsStartedAgain) {
    Broker broker(native());
    broker.sigstop();
    broker.sigcont();
    Client(broker, {.client_id = "c"}).barrier();
    EXPECT_GT(broker.resident_kib(), 0);
    EXPECT_GE(broker.cpu_time().count(), 0);
    broker.kill9();
    EXPECT_FALSE(broker.running());
    broker.start();
    Client(broker, {.client_id = "c"}).barrier();
    broker.sigstop();
    EXPECT_TRUE(broker.stop().clean());
}

TEST(Support, RefusedStartReturnsTheLog) {
    auto config = native();
    config.trailing_lines = {"no_such_option true"};
    const auto refused = Broker::start_expecting_failure(config);
    EXPECT_FALSE(refused.status.clean());
    EXPECT_NE(refused.log.find("no_such_option"), std::string::npos);
}

TEST(Support, StockPluginsLoadWithTheirOptions) {
    const std::string file = testing::TempDir() + "keyed-sticky-dynamic-security.json";
    std::ofstream(file)
        << R"({"defaultACLAccess": {"publishClientSend": false, "subscribe": true}})";
    auto config = native();
    config.plugins_before = {{Broker::stock_plugin("dynamic_security"), {{"config_file", file}}}};
    Broker broker(config);
    Client client(broker, {.client_id = "c"});
    EXPECT_EQ(client.publish("t", "", 1).reason, 0x87);
}

TEST(Support, PluginUnderTestIsLoadedWithItsOptions) {
    const BrokerConfig config{
        .plugin_options = {{"group", "g key=topic:2"}, {"broker_acl", "none"}}};
    Broker broker(config);
    EXPECT_TRUE(broker.log_contains("keyed_sticky:"));
    Client member(broker, {.client_id = "member"});
    EXPECT_EQ(member.subscribe("$share/g/dev/+/up", 1), 1);
    member.publish("dev/k1/up", "1", 1);
    EXPECT_EQ(member.expect_messages(1).front().payload, "1");
    EXPECT_EQ(member.count_after_barrier(), 1U);
    member.disconnect();
    EXPECT_TRUE(broker.stop().clean());
}

TEST(Support, RefusedPluginOptionsAreInTheLog) {
    const auto refused =
        Broker::start_expecting_failure({.plugin_options = {{"gruop", "g key=topic:2"}}});
    EXPECT_FALSE(refused.status.clean());
    EXPECT_NE(refused.log.find("gruop"), std::string::npos);
}

TEST(Support, LogIsSearchedFromAnOffset) {
    Broker broker(native());
    EXPECT_TRUE(broker.log_contains("running"));
    EXPECT_EQ(broker.log_count(" running\n"), 1U);
    const auto offset = broker.log().size();
    Client client(broker, {.client_id = "seen-in-the-log"});
    EXPECT_TRUE(broker.wait_for_log_after(offset, "seen-in-the-log"));
}

}  // namespace
}  // namespace keyed_sticky::test
