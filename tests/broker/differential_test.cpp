// The same script of clients on the broker with and without the plugin: which member of a handled
// group gets a message may differ, and nothing else that a client can see.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/compare_runs.h"
#include "support/each_protocol.h"
#include "support/keyed_group.h"
#include "support/random_script.h"

namespace keyed_sticky::test {
namespace {

using Kind = Step::Kind;

Step connects(const std::string& client, Protocol protocol = Protocol::kMqtt5) {
    return {.kind = Kind::kConnect, .client = client, .options = {.protocol = protocol}};
}
// Each subscription has an identifier of its own.
Step subscribes(const std::string& client, const std::string& filter, SubscribeOptions options) {
    static std::uint32_t identifier = 0;
    options.identifier = ++identifier;
    return {.kind = Kind::kSubscribe, .client = client, .filters = {{filter, options}}};
}
Step subscribes(const std::string& client, const std::string& filter, int qos = 1) {
    return subscribes(client, filter, SubscribeOptions{.qos = qos});
}
Step unsubscribes(const std::string& client, const std::string& filter) {
    return {.kind = Kind::kUnsubscribe, .client = client, .filters = {{filter, {}}}};
}
Step publishes(const std::string& client, const std::string& topic, const std::string& payload,
               int qos = 1, bool retain = false) {
    return {.kind = Kind::kPublish,
            .client = client,
            .publish = {.topic = topic, .payload = payload, .qos = qos, .retain = retain}};
}

// Several of each kind on every QoS, from every client named.
void publish_some(Script& script, const std::vector<std::string>& clients) {
    for (int i = 0; i < 12; ++i) {
        const auto key = "k" + std::to_string(i % 5);
        script.push_back(publishes(clients[static_cast<std::size_t>(i) % clients.size()],
                                   "dev/" + key + "/up", "m" + std::to_string(i), i % 3));
    }
}

// Without the kept records a member that leaves causes no redelivery, so that copies can be
// counted.
BrokerConfig with_plugin(const std::string& rule) {
    auto config = keyed({rule}, {{"unacked_window", "0"}});
    // Mosquitto 2.0's default gives a 3.1.1 client one copy whatever its subscriptions, and so
    // loses the group's copy where it picked a member that has an ordinary subscription too.
    config.global_lines = {"allow_duplicate_messages true", "set_tcp_nodelay true"};
    config.subscribes_again = true;
    return config;
}

// One broker for each of the three runs, for any number of scripts whose topics do not meet.
class Brokers {
  public:
    explicit Brokers(const std::string& rule)
        : plain_(native(with_plugin(rule))),
          control_(native(with_plugin(rule))),
          keyed_(with_plugin(rule)) {}

    [[nodiscard]] Runs run(const Script& script) const {
        return {run_script(plain_, script), run_script(control_, without_handled_groups(script)),
                run_script(keyed_, script)};
    }

  private:
    Broker plain_;
    Broker control_;
    Broker keyed_;
};

// 2.1 tells the plugin of subscription identifiers and of no_local.
bool tells_subscription_options() {
    return Broker::version() >= BrokerVersion{2, 1, 0};
}

class Differential : public testing::TestWithParam<Protocol> {
  protected:
    Differential() : brokers_("handled* key=topic:2") {}

    void expect_same(const Script& script) {
        const auto found = differences(script, brokers_.run(script), tells_subscription_options());
        for (const auto& difference : found) ADD_FAILURE() << difference;
        if (!found.empty()) std::printf("script:\n%s", to_string(script).c_str());
    }

    Brokers brokers_;
};
INSTANTIATE_TEST_SUITE_P(Mqtt, Differential, each_protocol(), protocol_name);

// A member with an ordinary subscription to the same topics gets each message by it, and the group
// gets one more.
TEST_P(Differential, OrdinaryAndSharedSubscriptionOfTheSameClient) {
    for (const bool ordinary_first : {true, false}) {
        Script script{connects("a", GetParam()), connects("b", GetParam())};
        const std::string ordinary = ordinary_first ? "dev/#" : "dev/+/up";
        script.push_back(subscribes("a", ordinary_first ? ordinary : "$share/handled/dev/+/up", 2));
        script.push_back(subscribes("a", ordinary_first ? "$share/handled/dev/+/up" : ordinary, 2));
        script.push_back(subscribes("b", "$share/handled/dev/+/up", 1));
        publish_some(script, {"a", "b"});
        expect_same(script);
    }
}

// Two handled groups with the same client: each gets every message once.
TEST_P(Differential, TwoHandledGroupsOfTheSameClient) {
    Script script{connects("a", GetParam()),
                  connects("b", GetParam()),
                  subscribes("a", "$share/handled1/dev/+/up", 2),
                  subscribes("a", "$share/handled2/dev/#", 1),
                  subscribes("b", "$share/handled1/dev/+/up", 1),
                  subscribes("b", "$share/handled1/dev/k1/up", 0)};
    publish_some(script, {"a", "b"});
    expect_same(script);
}

// A handled and an unhandled group with the same members: the unhandled one is served round robin
// as ever, exactly.
TEST_P(Differential, HandledAndUnhandledGroupOfTheSameClient) {
    Script script{connects("a", GetParam()),
                  connects("b", GetParam()),
                  connects("c", GetParam()),
                  subscribes("a", "$share/native/dev/+/up", 1),
                  subscribes("b", "$share/handled/dev/+/up", 1),
                  subscribes("b", "$share/native/dev/+/up", 1),
                  subscribes("a", "$share/handled/dev/+/up", 1),
                  subscribes("c", "$share/native/dev/+/up", 0),
                  subscribes("c", "dev/#", 2)};
    publish_some(script, {"a", "b", "c"});
    expect_same(script);
}

// Retained messages go to ordinary subscriptions, by retain handling, and never to a shared one.
TEST_P(Differential, RetainedMessages) {
    Script script{connects("p", GetParam()), connects("a", GetParam())};
    for (int i = 0; i < 4; ++i) {
        script.push_back(publishes("p", "dev/k" + std::to_string(i) + "/up",
                                   "kept" + std::to_string(i), 1, true));
    }
    for (int handling = 0; handling < 3; ++handling) {
        script.push_back(
            subscribes("a", "$share/handled/dev/+/up", {.qos = 1, .retain_handling = handling}));
        for (int twice = 0; twice < 2; ++twice) {
            script.push_back(subscribes(
                "a", "dev/#",
                {.qos = 1, .retain_as_published = twice == 0, .retain_handling = handling}));
        }
    }
    script.push_back(publishes("p", "dev/k1/up", "", 1, true));
    script.push_back(publishes("p", "dev/k2/up", "live and kept", 2, true));
    script.push_back(subscribes("a", "dev/+/up", 1));
    for (int i = 0; i < 4; ++i)  // nothing stays for another test
        script.push_back(publishes("p", "dev/k" + std::to_string(i) + "/up", "", 1, true));
    expect_same(script);
}

// A publisher learns whether anybody was subscribed, members of handled groups included; and the
// answers to SUBSCRIBE and UNSUBSCRIBE are those of the broker.
TEST_P(Differential, Answers) {
    Script script{connects("p", GetParam()),
                  connects("a", GetParam()),
                  publishes("p", "dev/k1/up", "nobody", 1),
                  publishes("p", "dev/k1/up", "nobody", 2),
                  subscribes("a", "$share/handled/dev/+/up", 2),
                  publishes("p", "dev/k1/up", "a member", 1),
                  publishes("p", "dev/k1/up", "a member", 2),
                  publishes("p", "dev/k1/down", "nobody", 1),
                  unsubscribes("a", "$share/handled/dev/#"),
                  unsubscribes("a", "dev/+/up"),
                  publishes("p", "dev/k1/up", "still a member", 1),
                  unsubscribes("a", "$share/handled/dev/+/up"),
                  unsubscribes("a", "$share/handled/dev/+/up"),
                  publishes("p", "dev/k1/up", "nobody", 1),
                  publishes("p", "dev/k1/up", "nobody", 2)};
    Step several{.kind = Kind::kSubscribe, .client = "a"};
    several.filters = {{"$share/handled/dev/+/up", {.qos = 2}},
                       {"dev/#", {.qos = 0}},
                       {"$share/native/dev/#", {.qos = 1}}};
    script.push_back(several);
    publish_some(script, {"p"});
    several.kind = Kind::kUnsubscribe;
    several.filters.push_back({"never", {}});
    script.push_back(several);
    publish_some(script, {"p"});
    expect_same(script);
}

// A client whose ordinary subscription has no_local does not get its own messages by it, and gets
// those of the others. On 2.0 a member's own messages are left out here: the broker does not tell
// the plugin of no_local, so that the member's copy of the group is taken for the ordinary one.
TEST_P(Differential, NoLocalBesideAHandledGroup) {
    Script script{connects("a"),
                  connects("b", GetParam()),
                  subscribes("a", "dev/#", {.qos = 1, .no_local = true}),
                  subscribes("a", "$share/handled/dev/+/up", 1),
                  subscribes("a", "dev/k1/+", {.qos = 0, .no_local = true}),
                  subscribes("b", "$share/handled/dev/+/up", 1)};
    publish_some(script, tells_subscription_options() ? std::vector<std::string>{"a", "b"}
                                                      : std::vector<std::string>{"b"});
    expect_same(script);
}

// A will goes to ordinary subscribers and once to each group.
TEST_P(Differential, Wills) {
    Script script{connects("a", GetParam()),
                  connects("b", GetParam()),
                  subscribes("a", "dev/#", 1),
                  subscribes("a", "$share/handled1/dev/+/up", 1),
                  subscribes("b", "$share/handled1/dev/+/up", 2),
                  subscribes("b", "$share/handled2/#", 0),
                  subscribes("b", "$share/native/dev/#", 0)};
    for (int i = 0; i < 6; ++i) {
        Step device = connects("device", GetParam());
        device.options.will = Will{.topic = "dev/k" + std::to_string(i) + "/up",
                                   .payload = "will" + std::to_string(i),
                                   .qos = i % 3};
        script.push_back(device);
        script.push_back(publishes("device", device.options.will->topic, "alive", i % 3));
        script.push_back({.kind = Kind::kDrop, .client = "device"});
    }
    expect_same(script);
}

// The comparison is no rubber stamp: one copy too few, one too many, another answer, another
// order, a copy with another QoS are all seen.
TEST_P(Differential, EveryDifferenceIsSeen) {
    Script script{connects("a", GetParam()), connects("b", GetParam()), subscribes("a", "dev/#", 1),
                  subscribes("b", "$share/handled/dev/+/up", 1)};
    publish_some(script, {"a"});
    const Runs good = brokers_.run(script);
    EXPECT_TRUE(differences(script, good, false).empty());
    const auto seen = [&](const auto& change) {
        Runs bad = good;
        change(bad.keyed);
        return !differences(script, bad, false).empty();
    };
    EXPECT_TRUE(seen([](Observation& o) { o.copies["a"].pop_back(); }));
    EXPECT_TRUE(seen([](Observation& o) { o.copies["b"].pop_back(); }));
    EXPECT_TRUE(seen([](Observation& o) { o.copies["b"].push_back(o.copies["b"].front()); }));
    EXPECT_TRUE(seen([](Observation& o) { o.copies["a"].front().qos = 2; }));
    EXPECT_TRUE(seen([](Observation& o) { std::swap(o.copies["a"][0], o.copies["a"][1]); }));
    EXPECT_TRUE(seen([](Observation& o) { o.answers.back() = "puback 151"; }));
}

// Random scripts: KEYED_STICKY_SCRIPT_SEED=<seed> runs that one alone.
class RandomScripts : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Mqtt, RandomScripts, testing::Values(0, 4, 5),
                         [](const testing::TestParamInfo<int>& protocols) {
                             return protocols.param == 0 ? std::string("Mixed")
                                                         : "V" + std::to_string(protocols.param);
                         });

TEST_P(RandomScripts, TheSameButForTheChoiceOfTheMember) {
    constexpr std::uint32_t kScripts = 12;
    const char* chosen = std::getenv("KEYED_STICKY_SCRIPT_SEED");
    const Brokers brokers("handled* key=topic:3");
    std::size_t grouped = 0;
    for (std::uint32_t i = 0; i < kScripts; ++i) {
        const std::uint32_t seed =
            chosen != nullptr ? static_cast<std::uint32_t>(std::strtoul(chosen, nullptr, 10))
                              : 1000U * static_cast<std::uint32_t>(GetParam()) + i;
        const Script script = random_script(seed, GetParam(), tells_subscription_options());
        const Runs runs = brokers.run(script);
        const auto found = differences(script, runs, tells_subscription_options());
        for (const auto& [client, copies] : runs.keyed.copies) {
            grouped += static_cast<std::size_t>(std::count_if(
                copies.begin(), copies.end(), [](const Copy& copy) { return copy.stamped(); }));
        }
        for (const auto& difference : found) ADD_FAILURE() << "seed " << seed << ": " << difference;
        if (!found.empty()) {
            std::printf("script of seed %u:\n%s", seed, to_string(script).c_str());
            return;
        }
        if (chosen != nullptr) return;
    }
    // The scripts do use the groups.
    EXPECT_TRUE(GetParam() == 4 || grouped > kScripts) << grouped;
}

}  // namespace
}  // namespace keyed_sticky::test
