// For any filters and any topic, the matcher, the index and the order of the walk are those of the
// broker's own tree; and any subscription text is split without loss or refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker_tree.h"
#include "core/ordering_key.h"
#include "core/topic_filter.h"
#include "core/topic_index.h"
#include "core/topic_levels.h"
#include "promise.h"

using namespace keyed_sticky;
using fuzz::promise;

namespace {

void check_subscription(std::string_view text) {
    const auto group = parse_share_subscription(text);
    if (!group) return;
    promise("$share/" + group->share + "/" + group->filter == text, "a subscription is its parts");
    promise(group->share.find_first_of("/+#") == std::string::npos, "a share name is a legal one");
    promise(!group->share.empty(), "a share name is not empty");
    promise(is_valid_filter(group->filter), "its filter is a valid one");
    promise(is_valid_filter(text.substr(1)), "what is split could be subscribed to");
}

void check_key(std::string_view topic) {
    MessageView message;
    message.topic = topic;
    std::string joined;
    std::uint32_t level = 1;
    for (; level < 300; ++level) {
        KeyRule rule;
        rule.topic_level = level;
        const auto key = ordering_key(rule, message, {});
        const auto or_topic = ordering_key_or_topic(rule, message, {});
        promise(or_topic == (key ? *key : topic), "only a missing key is replaced");
        if (!key) break;
        promise(key->find('/') == std::string_view::npos, "a level has no slash");
        joined += (level == 1 ? "" : "/") + std::string{*key};
    }
    if (level < 300) promise(joined == topic, "the levels make the topic, none is lost");
}

void check_match(SubscriptionTree tree, const std::vector<std::string_view>& filters,
                 std::string_view topic) {
    TopicIndex index{tree};
    reference::BrokerTree broker{tree};
    for (std::uint32_t id = 0; id < filters.size(); ++id) {
        promise(index.insert(filters[id], id), "a new pair is taken");
        broker.add(filters[id], id);
    }
    std::vector<std::uint32_t> ids;
    index.match(topic, [&](std::uint32_t id) { ids.push_back(id); });
    promise(ids == broker.served(topic), "the index serves as the broker does");
    for (std::uint32_t id = 0; id < filters.size(); ++id) {
        const bool in_index = std::find(ids.begin(), ids.end(), id) != ids.end();
        promise(filter_matches(tree, filters[id], topic) == in_index, "matcher and index agree");
    }
    for (std::size_t i = 1; i < ids.size(); ++i) {
        promise(!walk_before(filters[ids[i]], filters[ids[i - 1]]),
                "the order is that of the walk");
        promise(filters[ids[i]] == filters[ids[i - 1]] ||
                    walk_before(filters[ids[i - 1]], filters[ids[i]]),
                "different filters are in one order");
    }
    for (std::uint32_t id = 0; id < filters.size(); ++id) {
        promise(index.erase(filters[id], id), "what was put in is taken out");
        promise(!index.erase(filters[id], id), "and only once");
    }
    promise(index.empty(), "nothing is left behind");
}

}  // namespace

// A topic on the first line, a filter or subscription on each further one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    const std::string_view topic = input.line();
    check_key(topic);
    std::vector<std::string_view> filters;
    while (!input.at_end() && filters.size() < 16) {
        const std::string_view line = input.line();
        check_subscription(line);
        if (is_valid_filter(line)) filters.push_back(line);
    }
    // What the broker refuses to publish is not promised anything.
    const bool publishable = !topic.empty() && topic.find_first_of("+#") == std::string_view::npos;
    if (!publishable) return 0;
    check_match(SubscriptionTree::shared, filters, topic);
    check_match(SubscriptionTree::ordinary, filters, topic);
    return 0;
}
