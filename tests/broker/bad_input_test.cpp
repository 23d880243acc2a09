// What is odd, too large, missing or wrong has a defined result: that of the broker without the
// plugin, or a refusal that says what is wrong. Nothing is lost, and nothing crashes.

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/each_protocol.h"
#include "support/keyed_group.h"
#include "support/raw_client.h"
#include "support/stamp_of.h"

namespace keyed_sticky::test {
namespace {

// What the action answers, or that the broker ended the connection.
template <typename Action>
std::string answer_of(RawClient& client, Action action) {
    try {
        return std::to_string(action().reason());
    } catch (const std::runtime_error&) {
        if (!client.closed()) throw;
        return "closed";
    }
}

std::string levels(int count) {
    std::string topic = "a";
    for (int i = 1; i < count; ++i) topic += "/b";
    return topic;
}

class BadInput : public testing::TestWithParam<Protocol> {};
INSTANTIATE_TEST_SUITE_P(Mqtt, BadInput, each_protocol(), protocol_name);

// Illegal and strange share names and filters are answered as by the native broker.
TEST_P(BadInput, ShareNames) {
    const Broker plain(native());
    const Broker sticky(keyed({"* key=topic:2"}));
    const auto answers = [](const Broker& broker) {
        std::string result;
        for (const auto* filter : {"$share",
                                   "$share/",
                                   "$share/g",
                                   "$share/g/",
                                   "$share//a",
                                   "$share/g+/a",
                                   "$share/g#/a",
                                   "$share/+/a",
                                   "$share/#",
                                   "$share/g/a/#/b",
                                   "$share/g/a+",
                                   "$share/g//",
                                   "$share/g/$share/h/a",
                                   "$SHARE/g/a",
                                   "$share/g/$SYS/#",
                                   "$shared/g/a",
                                   "$share/\xc3\xa4\xf0\x9f\x98\x80/a",
                                   "$share/ /a",
                                   "$share/g/\xff",
                                   "",
                                   "a//+/"}) {
            RawClient client(broker);
            client.connect({.client_id = "c", .protocol = GetParam()});
            result += std::string(filter) + ": " +
                      answer_of(client, [&] { return client.subscribe(filter, {.qos = 1}); }) +
                      '\n';
            if (client.closed()) continue;
            result += "  unsubscribe " +
                      answer_of(client, [&] { return client.unsubscribe(filter); }) + '\n';
        }
        return result;
    };
    EXPECT_EQ(answers(sticky), answers(plain));
}

// Odd topics, at any QoS: the same are accepted as natively, and each of them reaches the group
// once.
TEST_P(BadInput, Topics) {
    const std::vector<std::string> topics{"/",
                                          "//",
                                          "/a",
                                          "a/",
                                          "a//b",
                                          "a/ /b",
                                          "\xc3\xa4/\xf0\x9f\x98\x80",
                                          levels(199),
                                          levels(200),
                                          levels(201),
                                          levels(202),
                                          std::string(65'535, 'x'),
                                          "a/" + std::string(65'533, 'y'),
                                          "a/" + std::string(32'000, 'k') + "/b",
                                          "",
                                          "a/+/b",
                                          "a/#",
                                          "a\xff",
                                          std::string("a\0b", 3)};
    const auto run = [&](const Broker& broker) {
        Client worker(broker, member("worker", GetParam()));
        worker.subscribe("$share/ingest/#", 2);
        std::string answers;
        for (std::size_t i = 0; i < topics.size(); ++i) {
            for (int qos = 1; qos < 3; ++qos) {
                RawClient client(broker);
                client.connect({.client_id = "p", .protocol = GetParam()});
                answers += std::to_string(i) + ' ' +
                           answer_of(client,
                                     [&] {
                                         return client.publish_and_wait(
                                             {.topic = topics[i], .payload = "x", .qos = qos});
                                     }) +
                           '\n';
            }
        }
        worker.barrier();
        std::map<std::string, int> received;
        for (const Message& message : worker.messages()) ++received[message.topic];
        return std::pair(answers, received);
    };
    const Broker plain(native());
    const Broker sticky(keyed({"ingest key=topic:2"}));
    const auto expected = run(plain);
    EXPECT_GE(expected.second.size(), 10U);
    EXPECT_EQ(run(sticky), expected);
}

// Empty and large payloads, a property of 64 KiB and a thousand of them arrive as they were sent,
// in order.
TEST_P(BadInput, PayloadsAndProperties) {
    Broker broker(keyed({"ingest key=topic:2"}));
    Client publisher(broker, {.client_id = "publisher"});
    Client worker(broker, member("worker", GetParam()));
    worker.subscribe("$share/ingest/dev/+", 2);
    UserProperties many;
    for (int i = 0; i < 1000; ++i)
        many.emplace_back("name" + std::to_string(i % 7), std::string(60, 'v'));
    const std::vector<Properties> variants{
        {},
        {.user = many},
        {.user = {{std::string(65'535, 'n'), std::string(65'535, 'v')}}},
        {.correlation_data = std::string(65'535, '\0'), .user = {{"", ""}}}};
    std::size_t sent = 0;
    for (int qos = 0; qos < 3; ++qos) {
        for (const auto& properties : variants) {
            for (const std::size_t size : {0U, 1U, 65'536U, 1'000'000U}) {
                publisher.publish("dev/k", std::string(size, 'p'),
                                  {.qos = qos, .properties = properties});
                const auto message = worker.expect_messages(1).front();
                worker.take_messages();
                EXPECT_EQ(message.payload.size(), size);
                if (GetParam() == Protocol::kMqtt311) continue;
                EXPECT_TRUE(without_stamp(message.properties) == properties);
                EXPECT_EQ(stamp_of(message.properties)->sequence, ++sent);
            }
        }
    }
}

// Publishes with each list of user properties, some times over, and returns the key of each record
// that came.
std::vector<std::string> keys_of(const std::string& rule, const std::vector<UserProperties>& sent,
                                 const ConnectOptions& from, int times = 1) {
    Broker broker(keyed({rule}));
    Client publisher(broker, from);
    Client worker(broker, member("worker"));
    worker.subscribe("$share/ingest/dev/+", 2);
    for (int i = 0; i < times; ++i) {
        for (const auto& user : sent)
            publisher.publish("dev/t", "x", {.qos = i % 3, .properties = {.user = user}});
    }
    publisher.barrier();
    worker.barrier();
    std::vector<std::string> keys;
    for (const Message& message : worker.messages()) {
        const auto stamp = stamp_of(message.properties);
        keys.push_back(stamp ? stamp->key : "none");
    }
    return keys;
}

const std::vector<UserProperties> kWithAndWithoutKey{
    {{"device", "d1"}},
    {{"other", "x"}, {"device", "d2"}, {"device", "d3"}},
    {{"Device", "d4"}},
    {},
    {{"device", ""}}};

using Keys = std::vector<std::string>;

// A key property is taken by its exact name, the first of several; without it the `missing` rule
// says what to do: the topic is the key, or the record is refused, or it goes to anybody.
TEST(KeySource, UserProperty) {
    const auto run = [](const std::string& missing) {
        return keys_of("ingest key=user-property:device" + missing, kWithAndWithoutKey,
                       {.client_id = "p"});
    };
    for (const auto* rule : {"", " missing=whole-topic"}) {
        const auto keys = run(rule);
        ASSERT_EQ(keys.size(), 5U);
        EXPECT_EQ((Keys(keys.begin(), keys.end() - 1)), (Keys{"d1", "d2", "dev/t", "dev/t"}));
    }
    const auto rejecting = run(" missing=reject");
    ASSERT_GE(rejecting.size(), 2U);
    EXPECT_EQ((Keys(rejecting.begin(), rejecting.begin() + 2)), (Keys{"d1", "d2"}));
    EXPECT_LE(rejecting.size(), 3U);
    const auto anybody = run(" missing=round-robin");
    ASSERT_EQ(anybody.size(), 5U);
    EXPECT_EQ((Keys(anybody.begin(), anybody.end() - 1)), (Keys{"d1", "d2", "none", "none"}));
}

// The publisher's client id or username is the key, at each QoS; without a username `missing` says.
TEST(KeySource, ClientIdAndUsername) {
    const ConnectOptions named{.client_id = "gateway-7", .username = "user-7"};
    EXPECT_EQ(keys_of("ingest key=client-id", {{}}, named, 3), Keys(3, "gateway-7"));
    EXPECT_EQ(keys_of("ingest key=username", {{}}, named, 3), Keys(3, "user-7"));
    EXPECT_EQ(keys_of("ingest key=username", {{}}, {.client_id = "x"}, 3), Keys(3, "dev/t"));
    EXPECT_EQ(keys_of("ingest key=username missing=reject", {{}}, {.client_id = "x"}, 3), Keys{});
}

// A wrong option stops the broker, and the log says which, why, and what was probably meant.
TEST(Options, WrongOnesAreRefused) {
    const std::vector<std::pair<PluginOption, std::vector<std::string>>> wrong{
        {{"lease_timout", "10s"}, {"lease_timout", "lease_timeout"}},
        {{"broker_acl", "nome"}, {"nome", "none"}},
        {{"lease_timeout", "10"}, {"lease_timeout"}},
        {{"lease_timeout", "1ms"}, {"100ms"}},
        {{"stamp", "maybe"}, {"on or off"}},
        {{"unacked_window", "-1"}, {"unacked_window"}},
        {{"group", "other key=topic:0"}, {"topic:"}},
        {{"group", "other kye=topic:1"}, {"key"}},
        {{"group", "other key=user-property:ks-key"}, {"ks-"}},
        {{"group", "ingest key=topic:1"}, {"given twice"}},
        {{"members", "worker-*"}, {"client-id:"}}};
    for (const auto& [option, words] : wrong) {
        const auto refused = Broker::start_expecting_failure(keyed({"ingest"}, {option}));
        EXPECT_FALSE(refused.status.clean()) << option.name << ' ' << option.value;
        for (const auto& word : words) {
            EXPECT_NE(refused.log.find(word, refused.log.find("keyed_sticky:")), std::string::npos)
                << option.name << ' ' << option.value << '\n'
                << refused.log;
        }
    }
    EXPECT_NE(Broker::start_expecting_failure(keyed({})).log.find("option group"),
              std::string::npos);
}

}  // namespace
}  // namespace keyed_sticky::test
