// Who may publish, subscribe and receive what is decided by the broker as it was without the
// plugin, whatever decides it there.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/dynamic_security.h"
#include "support/each_protocol.h"
#include "support/keyed_group.h"
#include "support/raw_client.h"
#include "support/temporary_file.h"

namespace keyed_sticky::test {
namespace {

const std::vector<std::string> kUsers{"alice", "bob", ""};  // the last one is nobody
const std::vector<std::string> kTopics{"open/x",      "alice/in", "alice/out",
                                       "bob/in/deep", "closed",   "$top/x"};
const std::vector<std::string> kFilters{"open/#",
                                        "alice/in",
                                        "alice/+",
                                        "bob/#",
                                        "closed",
                                        "#",
                                        "$top/#",
                                        "$share/other/open/#",
                                        "$share/other/closed",
                                        "$share/other/bob/#"};

ConnectOptions user(const std::string& name, Protocol protocol, const std::string& id) {
    ConnectOptions options{.client_id = id + '-' + name, .protocol = protocol};
    if (!name.empty()) {
        options.username = name;
        options.password = "secret";
    }
    return options;
}

// The topics of what is there, in order.
std::string received(RawClient& client) {
    std::string result;
    for (const Packet& packet : client.barrier()) {
        if (packet.type == PacketType::kPublish) result.append(" ").append(packet.topic);
    }
    return result;
}

// Every user subscribes to every filter by a client of its own, then every user publishes to every
// topic; one line for each with the answer and with what was received, retained messages too.
std::string matrix(const Broker& broker, Protocol protocol) {
    std::ostringstream out;
    struct Reader {
        std::string what;
        RawClient client;
    };
    std::vector<Reader> readers;
    for (const auto& name : kUsers) {
        for (const auto& filter : kFilters) {
            std::string what = name;
            what.append(" reads ").append(filter);
            readers.push_back({std::move(what), RawClient(broker)});
            RawClient& client = readers.back().client;
            client.connect(user(name, protocol, "reader" + std::to_string(readers.size())));
            out << readers.back().what << ": " << int{client.subscribe(filter, {.qos = 0}).reason()}
                << '\n';
        }
    }
    for (const auto& name : kUsers) {
        RawClient writer(broker);
        writer.connect(user(name, protocol, "writer"));
        for (const auto& topic : kTopics) {
            for (int qos = 1; qos < 3; ++qos) {
                const auto answer = writer.publish_and_wait(
                    {.topic = topic, .payload = "x", .qos = qos, .retain = qos == 1});
                out << name << " writes " << topic << ": " << int{answer.reason()} << '\n';
            }
            for (auto& reader : readers) {
                const auto topics = received(reader.client);
                if (!topics.empty()) out << "  " << reader.what << ": got" << topics << '\n';
            }
        }
    }
    for (const auto& name : kUsers) {
        for (const auto& filter : kFilters) {
            if (filter.starts_with("$share")) continue;
            RawClient late(broker);
            late.connect(user(name, protocol, "late"));
            late.subscribe(filter, {.qos = 0});
            // The store of retained messages has no order.
            std::istringstream topics(received(late));
            std::vector<std::string> sorted{std::istream_iterator<std::string>(topics), {}};
            std::sort(sorted.begin(), sorted.end());
            out << name << " finds for " << filter << ':';
            for (const auto& topic : sorted) out << ' ' << topic;
            out << '\n';
        }
    }
    return out.str();
}

std::string acl_file() {
    return temporary_file("acl", R"(topic read open/#
topic write bob/#

user alice
topic readwrite open/#
topic read alice/in
topic write alice/out
topic readwrite $top/#

user bob
topic deny open/x
topic read bob/#
topic write closed

pattern readwrite %u/in
)");
}

OtherPlugin dynsec() {
    const auto acl = [](const std::string& type, const std::string& topic, bool allow) {
        return R"({"acltype": ")" + type + R"(", "topic": ")" + topic +
               R"(", "priority": 0, "allow": )" + (allow ? "true" : "false") + "}";
    };
    const std::string json =
        R"({"defaultACLAccess": {"publishClientSend": false, "publishClientReceive": true,
        "subscribe": false, "unsubscribe": true}, "roles": [
        {"rolename": "alice", "acls": [)" +
        acl("publishClientSend", "open/#", true) + ',' +
        acl("publishClientSend", "alice/out", true) + ',' +
        acl("publishClientSend", "$top/#", true) + ',' +
        acl("publishClientReceive", "bob/#", false) + ',' + acl("subscribePattern", "#", true) +
        ',' + acl("subscribePattern", "$top/#", true) + ',' +
        acl("subscribePattern", "$share/#", true) + R"(]}, {"rolename": "bob", "acls": [)" +
        acl("publishClientSend", "#", true) + ',' + acl("publishClientReceive", "open/#", false) +
        ',' + acl("subscribePattern", "bob/#", true) + ',' +
        acl("subscribePattern", "open/#", true) + ',' +
        acl("subscribeLiteral", "$share/other/bob/#", true) + R"(]}],
        "clients": [{"username": "alice", )" +
        kPassword + R"(, "roles": [{"rolename": "alice"}]}, {"username": "bob", )" + kPassword +
        R"(, "roles": [{"rolename": "bob"}]}]})";
    return dynamic_security(json);
}

struct Arrangement {
    std::string name;
    bool decides;  // whether anything but the plugin decides
    std::function<void(BrokerConfig&)> arrange;
};

std::vector<Arrangement> arrangements() {
    return {{"Alone", false, [](BrokerConfig&) {}},
            {"AclFile", true,
             [](BrokerConfig& config) { config.global_lines = {"acl_file " + acl_file()}; }},
            {"DynamicSecurityBefore", true,
             [](BrokerConfig& config) { config.plugins_before = {dynsec()}; }},
            {"DynamicSecurityAfter", true,
             [](BrokerConfig& config) { config.plugins_after = {dynsec()}; }}};
}

class Permissions : public testing::TestWithParam<std::tuple<std::size_t, Protocol>> {
  protected:
    static BrokerConfig config(const Arrangement& arrangement, const std::string& broker_acl) {
        auto result =
            keyed({"ingest key=topic:2"}, {{"members", "client-id:*"}, {"broker_acl", broker_acl}});
        arrangement.arrange(result);
        result.global_lines.emplace_back("set_tcp_nodelay true");
        return result;
    }
};
INSTANTIATE_TEST_SUITE_P(
    Broker, Permissions, testing::Combine(testing::Range<std::size_t>(0, 4), each_protocol()),
    [](const testing::TestParamInfo<std::tuple<std::size_t, Protocol>>& parameters) {
        return arrangements()[std::get<0>(parameters.param)].name +
               (std::get<1>(parameters.param) == Protocol::kMqtt5 ? "V5" : "V311");
    });

// The whole matrix is that of the broker without the plugin, with `broker_acl` found out or
// declared.
TEST_P(Permissions, AreThoseOfTheBrokerWithoutThePlugin) {
    const auto [index, protocol] = GetParam();
    const auto arrangement = arrangements()[index];
    std::string expected;
    {
        const Broker plain(native(config(arrangement, "auto")));
        expected = matrix(plain, protocol);
    }
    // The matrix says something: things are allowed, and where anything decides, refused.
    EXPECT_NE(expected.find("got"), std::string::npos);
    const bool refuses = arrangement.decides && protocol == Protocol::kMqtt5;
    EXPECT_TRUE(!refuses || expected.find(": 135\n") != std::string::npos);
    for (const auto* broker_acl : {"auto", arrangement.decides ? "present" : "none"}) {
        const Broker sticky(config(arrangement, broker_acl));
        EXPECT_EQ(matrix(sticky, protocol), expected) << "broker_acl " << broker_acl;
    }
}

// A handled group in such a broker: who may subscribe gets its records, who may not gets nothing,
// and a publisher who may not publish reaches nobody.
TEST_P(Permissions, HoldForHandledGroups) {
    const auto [index, protocol] = GetParam();
    const auto arrangement = arrangements()[index];
    Broker broker(config(arrangement, "auto"));
    const std::string kGroup = "$share/ingest/open/#";
    RawClient alice(broker);
    alice.connect(user("alice", protocol, "member"));
    EXPECT_EQ(alice.subscribe(kGroup, {.qos = 0}).reason(), 0);
    RawClient writer(broker);
    writer.connect(user("alice", protocol, "writer"));
    RawClient stranger(broker);
    stranger.connect(user("", protocol, "stranger"));
    for (int i = 0; i < 10; ++i) {
        const std::string topic = "open/k" + std::to_string(i);
        writer.publish_and_wait({.topic = topic, .payload = "allowed", .qos = 1});
        stranger.publish_and_wait({.topic = topic, .payload = "not allowed", .qos = 1});
    }
    std::size_t allowed = 0;
    std::size_t others = 0;
    for (const Packet& packet : alice.barrier()) ++(packet.payload == "allowed" ? allowed : others);
    EXPECT_EQ(allowed, 10U);
    EXPECT_EQ(others, arrangement.decides ? 0U : 10U);
}

// Declared `none` beside an acl_file or dynamic security the plugin refuses to load, since it
// would allow what they only leave open; so it does for `present` without saying who may join.
TEST(BrokerAcl, ContradictionsAreRefused) {
    for (const auto& arrangement : arrangements()) {
        auto config = keyed({"ingest key=topic:2"}, {{"broker_acl", "none"}});
        arrangement.arrange(config);
        if (arrangement.decides) {
            const auto refused = Broker::start_expecting_failure(config);
            EXPECT_FALSE(refused.status.clean());
            EXPECT_NE(refused.log.find("broker_acl"), std::string::npos) << refused.log;
        } else {
            EXPECT_TRUE(Broker(config).log_contains("broker_acl=none"));
        }
    }
    const auto refused =
        Broker::start_expecting_failure(keyed({"ingest"}, {{"broker_acl", "present"}}));
    EXPECT_FALSE(refused.status.clean());
    EXPECT_NE(refused.log.find("option members"), std::string::npos) << refused.log;
}

// Found out: an acl_file without `members` is refused alike, and where nothing decides nothing need
// be said.
TEST(BrokerAcl, AutomaticNeedsMembersWhereAnythingDecides) {
    for (const auto& arrangement : arrangements()) {
        auto config = keyed({"ingest key=topic:2"});
        arrangement.arrange(config);
        if (arrangement.decides) {
            const auto refused = Broker::start_expecting_failure(config);
            EXPECT_NE(refused.log.find("members"), std::string::npos) << refused.log;
        } else {
            EXPECT_TRUE(Broker(config).log_contains("broker_acl=none"));
        }
    }
}

}  // namespace
}  // namespace keyed_sticky::test
