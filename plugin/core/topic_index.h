// Which of many filters match a topic, in the order in which the broker's own tree reaches them.
//
// Main thread only, as the rest of the core. Ids are the caller's, e.g. indices of groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/topic_filter.h"
#include "core/topic_levels.h"

namespace keyed_sticky {

class TopicIndex {
  public:
    explicit TopicIndex(SubscriptionTree tree);
    ~TopicIndex();
    TopicIndex(const TopicIndex&) = delete;
    TopicIndex& operator=(const TopicIndex&) = delete;

    /// Adds the pair. False, and nothing changed: the pair is there already, or the filter is not a
    /// valid one. The same id may be under several filters, several ids under the same one.
    bool insert(std::string_view filter, std::uint32_t id);

    /// Removes the pair and gives back the memory no other filter needs. False: it was not there.
    bool erase(std::string_view filter, std::uint32_t id);

    /// Calls visit(id) for every pair whose filter matches the topic, in the order of
    /// walk_before(); ids of one filter in the order of their insertion, as the broker's share
    /// names of one filter. Allocates nothing. The work depends on the filters that agree with the
    /// topic's first levels, not on how many others there are. visit must not change this index.
    template <typename Visit>
    void match(std::string_view topic, Visit&& visit) const {
        if (topic.empty()) return;
        if (!topic.starts_with('$')) {
            walk(root_, TopicLevels{topic}, true, visit);
        } else if (tree_ == SubscriptionTree::ordinary) {
            walk(root_, TopicLevels{topic}, false, visit);
        }
    }

    /// Pairs held.
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

  private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    struct Node {
        std::unordered_map<std::string, std::unique_ptr<Node>, TextHash, std::equal_to<>> literal;
        std::unique_ptr<Node> plus;
        std::vector<std::uint32_t> hash;  // ids of the filter that goes on with '#'
        std::vector<std::uint32_t> here;  // ids of the filter that ends at this node

        bool empty() const { return literal.empty() && !plus && hash.empty() && here.empty(); }
    };

    // Visits what lies below the node, then the '#' beside it. No deeper than the longest filter,
    // which is 201 levels.
    template <typename Visit>
    static void walk(const Node& node, TopicLevels levels, bool wildcards, Visit& visit) {
        if (!levels.at_end()) {
            const std::string_view level = levels.level();
            levels.advance();
            const auto child = node.literal.find(level);
            if (child != node.literal.end()) enter(*child->second, levels, visit);
            if (wildcards && node.plus) enter(*node.plus, levels, visit);
        }
        if (wildcards) {
            for (const std::uint32_t id : node.hash) visit(id);
        }
    }

    template <typename Visit>
    static void enter(const Node& node, TopicLevels rest, Visit& visit) {
        walk(node, rest, true, visit);
        if (rest.at_end()) {
            for (const std::uint32_t id : node.here) visit(id);
        }
    }

    static bool erase_below(Node& node, TopicLevels levels, std::uint32_t id);

    Node root_;
    std::size_t size_ = 0;
    SubscriptionTree tree_;
};

}  // namespace keyed_sticky
