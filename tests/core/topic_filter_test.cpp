#include "core/topic_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>

#include "broker_tree.h"
#include "random_topics.h"

namespace keyed_sticky {
namespace {

constexpr auto shared = SubscriptionTree::shared;
constexpr auto ordinary = SubscriptionTree::ordinary;

// MQTT 5, section 4.7, read literally.
bool by_the_standard(std::string_view filter, std::string_view topic) {
    if (filter == "#") return true;
    const std::size_t filter_end = std::min(filter.find('/'), filter.size());
    const std::size_t topic_end = std::min(topic.find('/'), topic.size());
    if (filter.substr(0, filter_end) != "+" &&
        filter.substr(0, filter_end) != topic.substr(0, topic_end))
        return false;
    const bool filter_goes_on = filter_end != filter.size();
    const bool topic_goes_on = topic_end != topic.size();
    if (!filter_goes_on) return !topic_goes_on;
    if (!topic_goes_on) return filter.substr(filter_end) == "/#";
    return by_the_standard(filter.substr(filter_end + 1), topic.substr(topic_end + 1));
}

bool by_the_standard_with_dollar(std::string_view filter, std::string_view topic) {
    const bool wildcard_first = filter.starts_with('+') || filter.starts_with('#');
    return !(topic.starts_with('$') && wildcard_first) && by_the_standard(filter, topic);
}

std::string repeat(std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
}

// The two wildcards and empty levels do what MQTT says.
TEST(TopicFilter, Wildcards) {
    EXPECT_TRUE(filter_matches(shared, "dev/+/up", "dev/k1/up"));
    EXPECT_FALSE(filter_matches(shared, "dev/+/up", "dev/k1/x/up"));
    EXPECT_FALSE(filter_matches(shared, "dev/+", "dev"));
    EXPECT_TRUE(filter_matches(shared, "dev/+", "dev/"));
    EXPECT_TRUE(filter_matches(shared, "#", "a/b"));
    EXPECT_TRUE(filter_matches(shared, "+", "a"));
    EXPECT_FALSE(filter_matches(shared, "+", "/a"));
    EXPECT_TRUE(filter_matches(shared, "+/+", "/a"));
    EXPECT_TRUE(filter_matches(shared, "/a", "/a"));
    EXPECT_FALSE(filter_matches(shared, "a", "/a"));
    EXPECT_TRUE(filter_matches(shared, "a//b", "a//b"));
    EXPECT_FALSE(filter_matches(shared, "a//b", "a/b"));
    EXPECT_FALSE(filter_matches(shared, "a", "A"));
}

// '#' also matches the level above it, but not that level with an empty one below as if it were the
// same.
TEST(TopicFilter, HashMatchesItsParent) {
    EXPECT_TRUE(filter_matches(shared, "a/#", "a"));
    EXPECT_TRUE(filter_matches(shared, "a/#", "a/"));
    EXPECT_TRUE(filter_matches(shared, "a/#", "a/b/c"));
    EXPECT_FALSE(filter_matches(shared, "a/#", "ab"));
    EXPECT_TRUE(filter_matches(shared, "+/#", "a"));
    EXPECT_TRUE(filter_matches(shared, "/#", "/"));
    EXPECT_FALSE(filter_matches(shared, "/#", "a"));
    EXPECT_FALSE(filter_matches(shared, "a/b/#", "a"));
}

// An ordinary subscription reaches '$' topics by name only, never by a wildcard as its first level.
TEST(TopicFilter, DollarTopicsOfOrdinarySubscriptions) {
    EXPECT_FALSE(filter_matches(ordinary, "#", "$SYS/a"));
    EXPECT_FALSE(filter_matches(ordinary, "+/a", "$SYS/a"));
    EXPECT_TRUE(filter_matches(ordinary, "$SYS/#", "$SYS/a"));
    EXPECT_TRUE(filter_matches(ordinary, "$SYS/+", "$SYS/a"));
    EXPECT_TRUE(filter_matches(ordinary, "a/#", "a/$SYS"));
}

// A share subscription reaches no '$' topic at all: the broker files it below the root of the other
// topics.
TEST(TopicFilter, DollarTopicsOfSharedSubscriptions) {
    EXPECT_FALSE(filter_matches(shared, "$SYS/#", "$SYS/a"));
    EXPECT_FALSE(filter_matches(shared, "$SYS/a", "$SYS/a"));
    EXPECT_FALSE(filter_matches(shared, "#", "$share/g/a"));
}

// No message has an empty topic.
TEST(TopicFilter, EmptyTopicMatchesNothing) {
    EXPECT_FALSE(filter_matches(shared, "#", ""));
    EXPECT_FALSE(filter_matches(ordinary, "+", ""));
}

// The longest topics and the deepest filters are matched like any other.
TEST(TopicFilter, AtTheLimits) {
    const std::string deep_topic = repeat("a/", 200) + "a";
    const std::string deep_filter = repeat("+/", 200) + "a";
    EXPECT_TRUE(is_valid_filter(deep_filter));
    EXPECT_TRUE(filter_matches(shared, deep_filter, deep_topic));
    EXPECT_FALSE(filter_matches(shared, repeat("+/", 200) + "b", deep_topic));
    EXPECT_FALSE(is_valid_filter(repeat("+/", 201) + "a"));
    const std::string long_topic(longest_topic, 'x');
    EXPECT_TRUE(is_valid_filter(long_topic));
    EXPECT_FALSE(is_valid_filter(long_topic + "x"));
    EXPECT_TRUE(filter_matches(shared, long_topic, long_topic));
    EXPECT_FALSE(filter_matches(shared, long_topic.substr(1), long_topic));
    EXPECT_TRUE(filter_matches(shared, "#", std::string(longest_topic, '/')));
}

// Wildcards stand alone in their level, and '#' at the end.
TEST(TopicFilter, ValidFilters) {
    for (const std::string_view good :
         {"a", "/", "#", "+", "a/#", "+/b/+", "/#", "//", "$SYS/#", "\xc3\xa9"}) {
        EXPECT_TRUE(is_valid_filter(good)) << good;
    }
    for (const std::string_view bad :
         {"", "a#", "#a", "a/#/b", "#/", "a+", "+a/b", "a/b+c", "++", "##", "a/b#"}) {
        EXPECT_FALSE(is_valid_filter(bad)) << bad;
    }
}

// A share subscription is split at its second slash; everything behind it is the filter.
TEST(TopicFilter, SplitsShareSubscriptions) {
    const auto group = parse_share_subscription("$share/g/dev/+/up");
    ASSERT_TRUE(group);
    EXPECT_EQ(group->share, "g");
    EXPECT_EQ(group->filter, "dev/+/up");
    EXPECT_EQ(parse_share_subscription("$share/g//a")->filter, "/a");
    EXPECT_EQ(parse_share_subscription("$share/g/#")->filter, "#");
    EXPECT_EQ(parse_share_subscription("$share/ g/$SYS/#")->share, " g");
}

// What MQTT does not allow as a share subscription is none, also where some Mosquitto would take
// it.
TEST(TopicFilter, RefusesWhatIsNoShareSubscription) {
    for (const std::string_view text :
         {"", "a/b", "$share", "$share/", "$share/g", "$share/g/", "$share//a", "$share/+/a",
          "$share/#/a", "$share/g#/a", "$share/g/a#", "$share/g/#/a", "$Share/g/a", "$shared/g/a",
          "share/g/a", "/$share/g/a", "$queue/a"}) {
        EXPECT_FALSE(parse_share_subscription(text)) << text;
    }
}

// The broker's limits count the prefix too.
TEST(TopicFilter, ShareSubscriptionsAtTheLimits) {
    EXPECT_TRUE(parse_share_subscription("$share/g/" + repeat("a/", 198) + "a"));
    EXPECT_FALSE(parse_share_subscription("$share/g/" + repeat("a/", 199) + "a"));
    EXPECT_TRUE(parse_share_subscription("$share/g/" + std::string(longest_topic - 9, 'x')));
    EXPECT_FALSE(parse_share_subscription("$share/g/" + std::string(longest_topic - 8, 'x')));
}

// For random filters and topics the answer is that of the standard, save '$' topics of share
// subscriptions, and always that of a walk of the broker's own tree.
TEST(TopicFilter, AgreesWithStandardAndBroker) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    reference::RandomTopics random{seed};
    int matches = 0;
    for (int i = 0; i < 30'000; ++i) {
        const std::string filter = random.filter();
        const std::string topic = random.topic();
        SCOPED_TRACE(testing::Message() << filter << " on " << topic);
        ASSERT_TRUE(is_valid_filter(filter));
        ASSERT_EQ(filter_matches(ordinary, filter, topic),
                  by_the_standard_with_dollar(filter, topic));
        for (const SubscriptionTree kind : {ordinary, shared}) {
            reference::BrokerTree tree{kind};
            tree.add(filter, 7);
            ASSERT_EQ(filter_matches(kind, filter, topic), !tree.served(topic).empty());
        }
        if (filter_matches(ordinary, filter, topic)) ++matches;
    }
    EXPECT_GT(matches, 1000);
}

// The literal branch goes first with all that is below it, then '+', then '#'; a node is served
// after what is below it.
TEST(TopicFilter, WalkOrder) {
    EXPECT_TRUE(walk_before("a/b", "a/+"));
    EXPECT_TRUE(walk_before("a/+", "a/#"));
    EXPECT_TRUE(walk_before("a/#", "+/b"));
    EXPECT_TRUE(walk_before("+/b", "#"));
    EXPECT_TRUE(walk_before("a/#", "a"));
    EXPECT_TRUE(walk_before("a/b/#", "a/b"));
    EXPECT_FALSE(walk_before("a", "a/#"));
    EXPECT_FALSE(walk_before("a/+", "a/+"));
}

// For any two filters that match a topic, the order is that in which the broker's tree serves them.
TEST(TopicFilter, WalkOrderAgreesWithBroker) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    reference::RandomTopics random{seed};
    int compared = 0;
    while (compared < 5000) {
        const std::string a = random.filter();
        const std::string b = random.filter();
        const std::string topic = random.topic();
        if (a == b || !filter_matches(ordinary, a, topic) || !filter_matches(ordinary, b, topic))
            continue;
        ++compared;
        reference::BrokerTree tree{ordinary};
        tree.add(a, 1);
        tree.add(b, 2);
        const auto served = tree.served(topic);
        ASSERT_EQ(served.size(), 2U);
        ASSERT_EQ(walk_before(a, b), served[0] == 1) << a << " and " << b << " on " << topic;
        ASSERT_EQ(walk_before(b, a), served[0] == 2) << a << " and " << b << " on " << topic;
    }
}

}  // namespace
}  // namespace keyed_sticky
