#include "core/topic_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker_tree.h"
#include "random_topics.h"

namespace keyed_sticky {
namespace {

using Ids = std::vector<std::uint32_t>;

Ids matched(const TopicIndex& index, std::string_view topic) {
    Ids ids;
    index.match(topic, [&](std::uint32_t id) { ids.push_back(id); });
    return ids;
}

// What matches is visited in the order of the broker's walk, whatever the order of insertion.
TEST(TopicIndex, VisitsInWalkOrder) {
    TopicIndex index{SubscriptionTree::shared};
    std::uint32_t id = 0;
    for (const std::string_view filter : {"#", "+/#", "a", "+", "a/#", "b", "a/b"})
        ASSERT_TRUE(index.insert(filter, id++));
    EXPECT_EQ(matched(index, "a"), (Ids{4, 2, 1, 3, 0}));
    EXPECT_EQ(matched(index, "a/b"), (Ids{6, 4, 1, 0}));
    EXPECT_EQ(matched(index, "c/d"), (Ids{1, 0}));
    EXPECT_EQ(matched(index, "$SYS"), Ids{});
    EXPECT_EQ(matched(index, ""), Ids{});
}

// Several ids share a filter in the order they came, and coming back means coming last.
TEST(TopicIndex, SameFilterInOrderOfInsertion) {
    TopicIndex index{SubscriptionTree::shared};
    for (const std::uint32_t id : {3U, 1U, 2U}) ASSERT_TRUE(index.insert("a/+", id));
    EXPECT_EQ(matched(index, "a/b"), (Ids{3, 1, 2}));
    ASSERT_TRUE(index.erase("a/+", 3));
    ASSERT_TRUE(index.insert("a/+", 3));
    EXPECT_EQ(matched(index, "a/b"), (Ids{1, 2, 3}));
}

// A pair is there once or not at all, and what is refused changes nothing.
TEST(TopicIndex, RefusesWhatChangesNothing) {
    TopicIndex index{SubscriptionTree::shared};
    EXPECT_TRUE(index.insert("a/#", 1));
    EXPECT_FALSE(index.insert("a/#", 1));
    EXPECT_FALSE(index.insert("a/#/b", 2));
    EXPECT_FALSE(index.insert("", 2));
    EXPECT_FALSE(index.erase("a/#", 2));
    EXPECT_FALSE(index.erase("a", 1));
    EXPECT_FALSE(index.erase("a/+", 1));
    EXPECT_FALSE(index.erase("b/#", 1));
    EXPECT_FALSE(index.erase("#/", 1));
    EXPECT_EQ(index.size(), 1U);
    EXPECT_EQ(matched(index, "a"), Ids{1});
    EXPECT_TRUE(index.erase("a/#", 1));
    EXPECT_TRUE(index.empty());
    EXPECT_EQ(matched(index, "a"), Ids{});
}

// Taking one filter out leaves those above and below it in place.
TEST(TopicIndex, EraseKeepsNeighbours) {
    TopicIndex index{SubscriptionTree::ordinary};
    ASSERT_TRUE(index.insert("a", 1));
    ASSERT_TRUE(index.insert("a/b/c", 2));
    ASSERT_TRUE(index.insert("a/b", 3));
    ASSERT_TRUE(index.erase("a/b", 3));
    EXPECT_EQ(matched(index, "a"), Ids{1});
    EXPECT_EQ(matched(index, "a/b"), Ids{});
    EXPECT_EQ(matched(index, "a/b/c"), Ids{2});
    ASSERT_TRUE(index.erase("a/b/c", 2));
    EXPECT_EQ(matched(index, "a"), Ids{1});
}

// The deepest filters and longest topics the broker takes are matched, and filters beyond are
// refused.
TEST(TopicIndex, AtTheLimits) {
    TopicIndex index{SubscriptionTree::shared};
    std::string filter;
    for (int i = 0; i < 200; ++i) filter += "+/";
    ASSERT_TRUE(index.insert(filter, 1));
    EXPECT_FALSE(index.insert(filter + "/", 2));
    EXPECT_EQ(matched(index, std::string(200, '/')), Ids{1});
    EXPECT_EQ(matched(index, std::string(65535, '/')), Ids{});
    ASSERT_TRUE(index.insert(std::string(65535, 'x'), 3));
    EXPECT_EQ(matched(index, std::string(65535, 'x')), Ids{3});
}

// After any sequence of insertions and removals, matches and their order are those of the broker's
// tree holding the same filters, in both trees.
TEST(TopicIndex, AgreesWithBroker) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    reference::RandomTopics random{seed};
    for (const SubscriptionTree kind : {SubscriptionTree::shared, SubscriptionTree::ordinary}) {
        TopicIndex index{kind};
        std::vector<std::pair<std::string, std::uint32_t>> pairs;
        for (int step = 0; step < 1500; ++step) {
            if (pairs.size() > 40 || (!pairs.empty() && random.below(3) == 0)) {
                const auto victim =
                    pairs.begin() + static_cast<std::ptrdiff_t>(random.below(pairs.size()));
                ASSERT_TRUE(index.erase(victim->first, victim->second));
                ASSERT_FALSE(index.erase(victim->first, victim->second));
                pairs.erase(victim);
            } else {
                const std::pair<std::string, std::uint32_t> pair{
                    random.filter(), static_cast<std::uint32_t>(random.below(5))};
                const bool is_new = std::find(pairs.begin(), pairs.end(), pair) == pairs.end();
                ASSERT_EQ(index.insert(pair.first, pair.second), is_new);
                if (is_new) pairs.push_back(pair);
            }
            ASSERT_EQ(index.size(), pairs.size());
            reference::BrokerTree tree{kind};
            for (const auto& [filter, id] : pairs) tree.add(filter, id);
            for (int i = 0; i < 5; ++i) {
                const std::string topic = random.topic();
                ASSERT_EQ(matched(index, topic), tree.served(topic)) << topic;
            }
        }
        for (const auto& [filter, id] : pairs) ASSERT_TRUE(index.erase(filter, id));
        EXPECT_TRUE(index.empty());
    }
}

// A match looks at filters that share the topic's first levels only: a hundred thousand others cost
// nothing that would show.
TEST(TopicIndex, OtherFiltersCostNothing) {
    TopicIndex index{SubscriptionTree::shared};
    for (std::uint32_t id = 0; id < 100'000; ++id) {
        std::string filter = "site/";
        filter += std::to_string(id);
        filter += "/+/up";
        ASSERT_TRUE(index.insert(filter, id));
    }
    std::size_t visited = 0;
    for (int i = 0; i < 100'000; ++i) {
        index.match("site/777/x/up", [&](std::uint32_t) { ++visited; });
    }
    EXPECT_EQ(visited, 100'000U);
}

}  // namespace
}  // namespace keyed_sticky
