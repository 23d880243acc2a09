// A small copy of the shape of Mosquitto's subscription trees, written to be compared with
// src/subs.c and src/topic_tok.c line by line rather than to be fast. The reference for what our
// own matching must do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/topic_filter.h"

namespace keyed_sticky::reference {

/// sub__topic_tokenise() of something without "$share/NAME/": an empty first entry unless it begins
/// with '$'.
inline std::vector<std::string> tokenise(std::string_view text, bool below_share) {
    std::vector<std::string> parts;
    if (below_share || text.empty() || text[0] != '$') parts.emplace_back();
    for (std::string_view rest = text;;) {
        const std::size_t slash = rest.find('/');
        parts.emplace_back(rest.substr(0, slash));
        if (slash == std::string_view::npos) return parts;
        rest.remove_prefix(slash + 1);
    }
}

class BrokerTree {
  public:
    explicit BrokerTree(SubscriptionTree tree) : shared_(tree == SubscriptionTree::shared) {}

    /// sub__add() and sub__add_context()
    void add(std::string_view filter, std::uint32_t id) {
        const auto parts = tokenise(filter, shared_);
        Node* node = &roots_[parts[0]];
        for (const std::string& part : parts) {
            auto& child = node->children[part];
            if (!child) child = std::make_unique<Node>();
            node = child.get();
        }
        node->leaves.push_back(id);
    }

    /// sub__messages_queue(): the ids in the order in which they are served.
    std::vector<std::uint32_t> served(std::string_view topic) const {
        std::vector<std::uint32_t> ids;
        const auto parts = tokenise(topic, false);
        const auto root = roots_.find(parts[0]);
        if (root != roots_.end()) search(root->second, parts, 0, ids);
        return ids;
    }

  private:
    struct Node {
        std::map<std::string, std::unique_ptr<Node>> children;
        std::vector<std::uint32_t> leaves;
    };

    static const Node* child(const Node& node, const std::string& name) {
        const auto found = node.children.find(name);
        return found == node.children.end() ? nullptr : found->second.get();
    }

    static void process(const Node& node, std::vector<std::uint32_t>& ids) {
        ids.insert(ids.end(), node.leaves.begin(), node.leaves.end());
    }

    // sub__search()
    static void search(const Node& node, const std::vector<std::string>& parts, std::size_t at,
                       std::vector<std::uint32_t>& ids) {
        if (at < parts.size()) {
            for (const std::string& name : {parts[at], std::string{"+"}}) {
                const Node* const branch = child(node, name);
                if (branch == nullptr) continue;
                search(*branch, parts, at + 1, ids);
                if (at + 1 == parts.size()) process(*branch, ids);
            }
        }
        const Node* const hash = child(node, "#");
        if (hash != nullptr && hash->children.empty()) process(*hash, ids);
    }

    std::map<std::string, Node> roots_;
    bool shared_;
};

}  // namespace keyed_sticky::reference
