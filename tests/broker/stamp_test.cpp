// What a member of a handled group finds on its records: the stamp, and everything the publisher
// said.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "support/each_protocol.h"
#include "support/keyed_group.h"
#include "support/stamp_of.h"

namespace keyed_sticky::test {
namespace {

const std::string kFilter = "dev/+/up";
const std::string kGroup = "$share/ingest/" + kFilter;

std::string topic_of(int key) {
    return "dev/k" + std::to_string(key) + "/up";
}

// One broker with one handled group, a publisher, and members that are known.
class Stamp : public testing::Test {
  protected:
    explicit Stamp(std::vector<PluginOption> more = {})
        : broker_(keyed({"ingest key=topic:2"}, std::move(more))),
          publisher_(broker_, {.client_id = "publisher"}) {}

    void await(const std::vector<Client*>& members) {
        await_members(broker_, publisher_, "ingest", kFilter, "dev/warm-up/up", members);
    }

    Broker broker_;
    Client publisher_;
};

struct StampOff : Stamp {
    StampOff() : Stamp({{"stamp", "off"}}) {}
};

// An MQTT 5 member finds key, epoch, generation and sequence on every record, at any QoS; per key
// the sequence counts from 1 without a gap, in one generation, and one slot has one epoch.
TEST_F(Stamp, Mqtt5MembersGetAContiguousSequence) {
    Client a(broker_, test::member("a"));
    Client b(broker_, test::member("b"));
    for (Client* member : {&a, &b}) member->subscribe(kGroup, 2);
    await({&a, &b});
    constexpr int kKeys = 10;
    constexpr std::uint64_t kEach = 30;
    for (std::uint64_t i = 1; i <= kEach; ++i) {
        for (int key = 0; key < kKeys; ++key) {
            publisher_.publish_async(topic_of(key), std::to_string(i), {.qos = key % 3});
        }
    }
    ASSERT_TRUE(publisher_.wait_all_published());
    publisher_.barrier();
    std::size_t total = 0;
    for (Client* member : {&a, &b}) {
        member->barrier();
        std::map<std::string, StampOf> last;
        for (const Message& message : member->messages()) {
            const auto stamp = stamp_of(message.properties);
            ASSERT_TRUE(stamp);
            EXPECT_EQ("dev/" + stamp->key + "/up", message.topic);
            EXPECT_EQ(std::to_string(stamp->sequence), message.payload);
            EXPECT_FALSE(stamp->redelivery);
            EXPECT_FALSE(stamp->handover);
            const auto [before, first] = last.try_emplace(stamp->key, *stamp);
            EXPECT_EQ(stamp->sequence, first ? 1 : before->second.sequence + 1);
            EXPECT_EQ(stamp->epoch, before->second.epoch);
            EXPECT_EQ(stamp->generation, before->second.generation);
            EXPECT_GT(stamp->epoch, 0U);
            before->second = *stamp;
            ++total;
        }
        EXPECT_NEAR(static_cast<double>(last.size()), kKeys / 2.0, 1.0)
            << member->options().client_id;
        for (const auto& [key, stamp] : last) EXPECT_EQ(stamp.sequence, kEach) << key;
    }
    EXPECT_EQ(total, kKeys * kEach);
}

// 3.1.1 members get the plain message, and the sequence counts their records too: an MQTT 5 member
// that takes over goes on with the next number.
TEST_F(Stamp, Mqtt311MembersGetNone) {
    Client old(broker_, test::member("old", Protocol::kMqtt311));
    old.subscribe(kGroup, 1);
    await({&old});
    for (int i = 0; i < 5; ++i) publisher_.publish(topic_of(1), "x", 0);
    for (const Message& message : old.expect_messages(5))
        EXPECT_EQ(message.properties, Properties{});
    Client young(broker_, test::member("young"));
    young.subscribe(kGroup, 1);
    old.unsubscribe(kGroup);
    publisher_.publish(topic_of(1), "x", 0);
    const auto stamp = stamp_of(young.expect_messages(1).front().properties);
    ASSERT_TRUE(stamp);
    EXPECT_EQ(stamp->sequence, 6U);
}

// Everything the publisher sent along arrives as at an ordinary subscriber, in its order, and the
// stamp comes after it.
TEST_F(Stamp, OriginalPropertiesAreKeptInOrder) {
    Client member(broker_, test::member("member"));
    Client ordinary(broker_, {.client_id = "ordinary"});
    member.subscribe(kGroup, 2);
    ordinary.subscribe(kFilter, 2);
    await({&member});
    ordinary.barrier();
    ordinary.take_messages();
    Properties properties;
    properties.payload_format = 1;
    properties.content_type = "text/plain";
    properties.response_topic = "answers/here";
    properties.correlation_data = std::string("\0\1\0x", 4);
    properties.user = {{"b", "1"}, {"a", "2"}, {"b", "3"}, {"", ""}, {"ks", "not ours"}};
    for (int qos = 0; qos < 3; ++qos) {
        publisher_.publish(topic_of(qos), "payload",
                           {.qos = qos, .retain = qos == 1, .properties = properties});
    }
    const auto expected = ordinary.expect_messages(3);
    const auto actual = member.expect_messages(3);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(without_stamp(actual[i].properties), expected[i].properties);
        EXPECT_EQ(expected[i].properties, properties);
        EXPECT_EQ(actual[i].properties.user[properties.user.size()].first, "ks-key");
        EXPECT_EQ(actual[i].payload, "payload");
        EXPECT_FALSE(actual[i].retain);
    }
}

// "ks-" properties of a publisher never reach a member, so that nobody can forge a stamp; to
// ordinary subscribers they are as any others.
TEST_F(Stamp, PublishersCannotForgeOne) {
    Client member(broker_, test::member("member"));
    Client ordinary(broker_, {.client_id = "ordinary"});
    member.subscribe(kGroup, 2);
    await({&member});
    ordinary.subscribe(kFilter, 2);
    const UserProperties forged{{"ks-key", "another"},   {"ks-epoch", "1"},
                                {"mine", "kept"},        {"ks-sequence", "999"},
                                {"ks-redelivery", "1"},  {"ks-handover", "x"},
                                {"ks-generation", "77"}, {"ks-unknown", "x"}};
    for (int qos = 0; qos < 3; ++qos)
        publisher_.publish(topic_of(7), "x", {.qos = qos, .properties = {.user = forged}});
    std::uint64_t sequence = 0;
    for (const Message& message : member.expect_messages(3)) {
        const auto stamp = stamp_of(message.properties);  // throws where one is there twice
        ASSERT_TRUE(stamp);
        EXPECT_EQ(stamp->key, "k7");
        EXPECT_EQ(stamp->sequence, ++sequence);
        EXPECT_FALSE(stamp->redelivery);
        EXPECT_EQ(without_stamp(message.properties).user, (UserProperties{{"mine", "kept"}}));
    }
    for (const Message& message : ordinary.expect_messages(3))
        EXPECT_EQ(message.properties.user, forged);
}

// A subscription identifier is on the records of the group it was given for, where the broker tells
// it (2.1); 2.0 sends none.
TEST_F(Stamp, SubscriptionIdentifierWhereTheBrokerTellsIt) {
    Client member(broker_, test::member("member"));
    member.subscribe(kGroup, {.qos = 1, .identifier = 268'435'455});
    member.subscribe("$share/ingest/#", {.qos = 1, .identifier = 7});
    await_member_count(broker_, publisher_, "ingest", "#", "other", 1);
    await({&member});
    publisher_.publish(topic_of(1), "x", 1);
    std::vector<std::uint32_t> identifiers;
    for (const Message& message : member.expect_messages(2)) {
        for (const auto id : message.properties.subscription_identifiers) identifiers.push_back(id);
    }
    std::sort(identifiers.begin(), identifiers.end());
    const bool told = Broker::version() >= BrokerVersion{2, 1, 0};
    EXPECT_EQ(identifiers,
              told ? (std::vector<std::uint32_t>{7, 268'435'455}) : std::vector<std::uint32_t>{});
}

// When a slot moves, its first record at the next owner says why and from which epoch, under a
// higher one, and the sequence goes on.
TEST_F(Stamp, FirstRecordAfterAMoveSaysSo) {
    Client first(broker_, test::member("first"));
    first.subscribe(kGroup, 0);
    await({&first});
    publisher_.publish(topic_of(1), "x", 1);
    const auto before = stamp_of(first.expect_messages(1).front().properties);
    Client second(broker_, test::member("second"));
    second.subscribe(kGroup, 0);
    first.unsubscribe(kGroup);
    for (int i = 0; i < 2; ++i) publisher_.publish(topic_of(1), "x", 1);
    const auto messages = second.expect_messages(2);
    const auto after = stamp_of(messages[0].properties);
    ASSERT_TRUE(before && after);
    EXPECT_GT(after->epoch, before->epoch);
    EXPECT_EQ(after->handover,
              "cause=unsubscribed;previous-epoch=" + std::to_string(before->epoch));
    EXPECT_EQ(after->sequence, 2U);
    EXPECT_EQ(after->generation, before->generation);
    EXPECT_FALSE(stamp_of(messages[1].properties)->handover);
}

// What the old owner may not have had is sent again, with its old number, and marked.
TEST_F(Stamp, RepeatedRecordsAreMarked) {
    Client first(broker_, test::member("first"));
    first.subscribe(kGroup, 1);
    await({&first});
    for (int i = 0; i < 3; ++i) publisher_.publish(topic_of(1), std::to_string(i + 1), 1);
    first.expect_messages(3);
    Client second(broker_, test::member("second"));
    second.subscribe(kGroup, 1);
    first.unsubscribe(kGroup);
    publisher_.publish(topic_of(1), "4", 1);
    ASSERT_TRUE(second.wait_until([](const std::vector<Message>& messages) {
        return !messages.empty() && messages.back().payload == "4";
    }));
    std::vector<Message> messages = second.messages();
    std::erase_if(messages, [](const Message& message) { return message.payload == kWarmUp; });
    ASSERT_EQ(messages.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        const auto stamp = stamp_of(messages[i].properties);
        ASSERT_TRUE(stamp);
        EXPECT_EQ(messages[i].payload, std::to_string(i + 1));
        EXPECT_EQ(stamp->sequence, i + 1);
        EXPECT_EQ(stamp->redelivery, i < 3);
        EXPECT_EQ(stamp->handover.has_value(), i == 0);
    }
}

// With `stamp off` an MQTT 5 member gets what it would get natively, and forged stamps are still
// taken away.
TEST_F(StampOff, NothingIsAdded) {
    Client member(broker_, test::member("member"));
    member.subscribe(kGroup, 1);
    await({&member});
    const UserProperties sent{{"ks-key", "forged"}, {"mine", "kept"}};
    for (int i = 0; i < 20; ++i)
        publisher_.publish(topic_of(i % 2), std::to_string(i), {.properties = {.user = sent}});
    const auto messages = member.expect_messages(20);
    for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(messages[i].payload, std::to_string(i));
        EXPECT_EQ(messages[i].properties.user, (UserProperties{{"mine", "kept"}}));
    }
}

class GrantedQos : public testing::TestWithParam<Protocol> {};
INSTANTIATE_TEST_SUITE_P(Stamp, GrantedQos, each_protocol(), protocol_name);

// A record comes with the smaller of the published and the granted QoS.
TEST_P(GrantedQos, IsRespected) {
    Broker broker(keyed({"ingest key=topic:2"}));
    Client publisher(broker, {.client_id = "publisher"});
    for (int granted = 0; granted < 3; ++granted) {
        Client member(broker, test::member("member" + std::to_string(granted), GetParam()));
        const std::string filter = std::to_string(granted) + "/+/up";
        EXPECT_EQ(member.subscribe("$share/ingest/" + filter, granted), granted);
        await_members(broker, publisher, "ingest", filter, std::to_string(granted) + "/k/up",
                      {&member});
        for (int qos = 0; qos < 3; ++qos) {
            publisher.publish(std::to_string(granted) + "/k/up", "x", qos);
            EXPECT_EQ(member.expect_messages(1).front().qos, std::min(qos, granted));
            member.take_messages();
        }
    }
}

}  // namespace
}  // namespace keyed_sticky::test
