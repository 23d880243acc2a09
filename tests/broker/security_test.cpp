// Nobody gets by a handled group what the broker would not have given it, and `members` decides on
// top of that.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/dynamic_security.h"
#include "support/each_protocol.h"
#include "support/keyed_group.h"
#include "support/raw_client.h"
#include "support/stamp_of.h"

namespace keyed_sticky::test {
namespace {

const std::string kFilter = "dev/+/up";
const std::string kGroup = "$share/ingest/" + kFilter;

constexpr int kNoSubscribers = 0x10;

std::string topic_of(int key) {
    return "dev/k" + std::to_string(key) + "/up";
}

void publish_many(Client& publisher, int count, int qos = 1) {
    for (int i = 0; i < count; ++i)
        publisher.publish_async(topic_of(i), std::to_string(i), {.qos = qos});
    ASSERT_TRUE(publisher.wait_all_published());
    publisher.barrier();
}

// Dynamic security that lets everybody do everything, but for subscribing as `mallory`.
OtherPlugin refuse_mallory() {
    return dynamic_security(R"({"defaultACLAccess": {"publishClientSend": true,
        "publishClientReceive": true, "subscribe": true, "unsubscribe": true},
        "roles": [{"rolename": "refused", "acls": [
            {"acltype": "subscribePattern", "topic": "$share/ingest/#", "priority": 9,
             "allow": false}]}],
        "clients": [{"username": "alice", )" +
                            kPassword + R"(},
                    {"username": "mallory", )" +
                            kPassword + R"(, "roles": [{"rolename": "refused"}]}]})");
}

class Security : public testing::TestWithParam<Protocol> {
  protected:
    ConnectOptions user(const std::string& name) {
        auto options = member(name, GetParam());
        options.username = name;
        options.password = "secret";
        return options;
    }
};
INSTANTIATE_TEST_SUITE_P(Mqtt, Security, each_protocol(), protocol_name);

// E1: a client whose subscription another plugin refuses, loaded before or after this one, is no
// member: it gets nothing, and what is published goes to those who are. (On 2.0 what is published
// before the refusal is known waits for the next member.)
TEST_P(Security, E1RefusedByAnotherPlugin) {
    for (const bool before : {true, false}) {
        auto config = keyed({"ingest key=topic:2"}, {{"members", "client-id:*"}});
        (before ? config.plugins_before : config.plugins_after) = {refuse_mallory()};
        Broker broker(config);
        Client publisher(broker, {.client_id = "publisher"});
        Client mallory(broker, user("mallory"));
        EXPECT_GE(mallory.subscribe(kGroup, 1), 0x80);
        EXPECT_EQ(publisher.publish(topic_of(0), "nobody", 1).reason, kNoSubscribers);
        Client alice(broker, user("alice"));
        EXPECT_EQ(alice.subscribe(kGroup, 1), 1);
        EXPECT_GE(mallory.subscribe(kGroup, 1), 0x80);
        publish_many(publisher, 60);
        alice.barrier();
        auto messages = alice.take_messages();
        std::erase_if(messages, [](const Message& message) { return message.payload == "nobody"; });
        EXPECT_EQ(messages.size(), 60U) << "loaded before: " << before;
        EXPECT_EQ(mallory.count_after_barrier(), 0U);
        EXPECT_FALSE(broker.log_contains("member_online share=ingest filter=dev/+/up client=mal"));
    }
}

// E3: an ordinary filter in the same packet as a refused shared one gives no more than itself, and
// leaving the one does not leave the other.
TEST_P(Security, E3MixedNamesWidenNothing) {
    Broker broker(keyed({"ingest key=topic:2"}, {{"members", "client-id:worker-*"}}));
    Client publisher(broker, {.client_id = "publisher"});
    Client worker(broker, user("worker-1"));
    EXPECT_EQ(worker.subscribe(kGroup, 1), 1);
    RawClient outsider(broker);
    outsider.connect({.client_id = "outsider", .protocol = GetParam()});
    const auto suback = outsider.subscribe(
        {{"other/#", {.qos = 1}}, {kGroup, {.qos = 1}}, {"$share/else/x", {.qos = 1}}});
    ASSERT_EQ(suback.reasons.size(), 3U);
    EXPECT_EQ(suback.reasons[0], 1);
    EXPECT_GE(suback.reasons[1], 0x80);
    EXPECT_EQ(suback.reasons[2], 1);
    publish_many(publisher, 20);
    EXPECT_TRUE(outsider.barrier().empty());
    worker.unsubscribe(kFilter);                      // never subscribed to
    worker.unsubscribe("$share/ingest/dev/#");        // another group
    worker.unsubscribe("$share/another/" + kFilter);  // another one
    outsider.unsubscribe(kGroup);                     // somebody else's
    publish_many(publisher, 20);
    EXPECT_EQ(worker.count_after_barrier(), 40U);
    EXPECT_EQ(worker.subscribe(kFilter, 0), 0);
    worker.unsubscribe(kGroup);
    worker.take_messages();
    publish_many(publisher, 20);
    worker.barrier();
    for (const Message& message : worker.messages())
        EXPECT_FALSE(stamp_of(message.properties)) << "after UNSUBACK";
    EXPECT_EQ(worker.message_count(), 20U);
}

// E3: publishing to names that look internal is answered as by the native broker and reaches no
// member.
TEST_P(Security, E3InternalNamesAreNoWayIn) {
    const Broker plain(native());
    const Broker sticky(keyed({"ingest key=topic:2"}));
    const auto answers = [this](const Broker& broker) {
        Client worker(broker, user("worker"));
        worker.subscribe(kGroup, 1);
        std::string result;
        for (const auto* topic : {"$share/ingest/dev/+/up", "$share/ingest/dev/k/up",
                                  "$CONTROL/keyed-sticky/v1", "$SYS/broker/keyed-sticky"}) {
            RawClient client(broker);
            client.connect({.client_id = "publisher", .protocol = GetParam()});
            try {
                const auto packet =
                    client.publish_and_wait({.topic = topic, .payload = "x", .qos = 1});
                result += std::to_string(packet.reason()) + ' ';
            } catch (const std::runtime_error&) {
                result += "closed ";
            }
        }
        return result + std::to_string(worker.count_after_barrier());
    };
    EXPECT_EQ(answers(sticky), answers(plain));
}

// E4: a client that `members` does not name gets nothing from a handled group, by whatever name it
// subscribes, and may still join any other group and subscribe to the topics.
TEST_P(Security, E4OutsideMembersGetsNothing) {
    Broker broker(keyed({"ingest key=topic:2"},
                        {{"members", "client-id:worker-?"}, {"members", "username:team-*"}}));
    Client publisher(broker, {.client_id = "publisher"});
    Client by_id(broker, member("worker-1", GetParam()));
    Client by_name(broker, user("team-a"));
    EXPECT_EQ(by_id.subscribe(kGroup, 1), 1);
    EXPECT_EQ(by_name.subscribe(kGroup, 1), 1);
    Client outside(broker, user("worker-10"));
    for (const auto* filter : {"dev/+/up", "dev/#", "#"})
        EXPECT_GE(outside.subscribe(std::string("$share/ingest/") + filter, 1), 0x80) << filter;
    publish_many(publisher, 40);
    EXPECT_EQ(outside.count_after_barrier(), 0U);
    EXPECT_EQ(by_id.count_after_barrier() + by_name.count_after_barrier(), 40U);
    EXPECT_EQ(outside.subscribe("$share/else/dev/#", 1), 1);
    publish_many(publisher, 1);
    outside.unsubscribe("$share/else/dev/#");
    EXPECT_EQ(outside.subscribe(kFilter, 1), 1);
    publish_many(publisher, 1);
    EXPECT_EQ(outside.count_after_barrier(), 2U);
}

// E4: taken off the list, a member is none after the restart although its session is still there:
// everything goes to the others.
TEST_P(Security, E4TakenOffTheListItsSlotsMove) {
    auto config = keyed({"ingest key=topic:2"}, {{"members", "client-id:*"}});
    config.persistence = Persistence::kFile;
    Broker broker(config);
    const auto persistent = [](const std::string& id) {
        auto options = member(id, GetParam());
        options.clean = false;
        options.properties.session_expiry = 600;
        return options;
    };
    Client stays(broker, persistent("stays"));
    Client goes(broker, persistent("goes"));
    Client publisher(broker, persistent("publisher"));
    for (Client* client : {&stays, &goes}) EXPECT_EQ(client->subscribe(kGroup, 1), 1);
    await_members(broker, publisher, "ingest", kFilter, topic_of(0), {&stays, &goes});
    publish_many(publisher, 40);
    EXPECT_GT(goes.count_after_barrier(), 10U);
    EXPECT_EQ(goes.message_count() + stays.count_after_barrier(), 40U);
    for (auto& option : broker.config().plugin_options) {
        if (option.name == "members") option.value = "client-id:stays";
    }
    broker.restart();
    for (Client* client : {&stays, &goes, &publisher}) {
        ASSERT_TRUE(client->wait_disconnected());
        client->reconnect();
        client->take_messages();
    }
    EXPECT_EQ(stays.subscribe(kGroup, 1), 1);
    EXPECT_GE(goes.subscribe(kGroup, 1), 0x80);
    publish_many(publisher, 40);
    EXPECT_EQ(stays.count_after_barrier(), 40U);
    EXPECT_EQ(goes.count_after_barrier(), 0U);
}

// E6: a shared subscription with no_local is answered as natively; no retained message comes on
// subscribing; a member that publishes gets its own messages.
TEST_P(Security, E6SharedSubscriptionRules) {
    const Broker plain(native());
    Broker broker(keyed({"ingest key=topic:2"}));
    const auto no_local = [](const Broker& where) {
        RawClient client(where);
        client.connect({.client_id = "no-local"});
        try {
            return std::to_string(
                client.subscribe("$share/ingest/no/local", {.no_local = true}).reason());
        } catch (const std::runtime_error&) {
            return std::string(client.closed() ? "closed" : "nothing");
        }
    };
    EXPECT_EQ(no_local(broker), no_local(plain));
    Client publisher(broker, {.client_id = "publisher"});
    for (int key = 0; key < 5; ++key)
        publisher.publish(topic_of(key), "retained", {.qos = 1, .retain = true});
    Client worker(broker, user("worker"));
    EXPECT_EQ(worker.subscribe(kGroup, 1), 1);
    EXPECT_EQ(worker.subscribe(kGroup, 1), 1);
    EXPECT_EQ(worker.count_after_barrier(), 0U);
    worker.publish(topic_of(1), "own", 1);
    EXPECT_EQ(worker.expect_messages(1).front().payload, "own");
    EXPECT_EQ(worker.count_after_barrier(), 1U);
}

}  // namespace
}  // namespace keyed_sticky::test
