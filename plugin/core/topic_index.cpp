#include "core/topic_index.h"

#include <algorithm>

namespace keyed_sticky {
namespace {

bool contains(const std::vector<std::uint32_t>& ids, std::uint32_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool remove(std::vector<std::uint32_t>& ids, std::uint32_t id) {
    const auto found = std::find(ids.begin(), ids.end(), id);
    if (found == ids.end()) return false;
    ids.erase(found);
    if (ids.empty()) ids.shrink_to_fit();
    return true;
}

}  // namespace

TopicIndex::TopicIndex(SubscriptionTree tree) : tree_(tree) {}

TopicIndex::~TopicIndex() = default;

bool TopicIndex::insert(std::string_view filter, std::uint32_t id) {
    if (!is_valid_filter(filter)) return false;
    Node* node = &root_;
    TopicLevels levels{filter};
    for (; !levels.at_end() && levels.level() != "#"; levels.advance()) {
        std::unique_ptr<Node>* child = &node->plus;
        if (levels.level() != "+") {
            auto found = node->literal.find(levels.level());
            if (found == node->literal.end()) {
                found = node->literal.emplace(std::string{levels.level()}, nullptr).first;
            }
            child = &found->second;
        }
        if (!*child) *child = std::make_unique<Node>();
        node = child->get();
    }
    std::vector<std::uint32_t>& ids = levels.at_end() ? node->here : node->hash;
    if (contains(ids, id)) return false;
    ids.push_back(id);
    ++size_;
    return true;
}

bool TopicIndex::erase(std::string_view filter, std::uint32_t id) {
    if (!is_valid_filter(filter) || !erase_below(root_, TopicLevels{filter}, id)) return false;
    --size_;
    return true;
}

bool TopicIndex::erase_below(Node& node, TopicLevels levels, std::uint32_t id) {
    if (levels.at_end()) return remove(node.here, id);
    const std::string_view level = levels.level();
    levels.advance();
    if (level == "#") return remove(node.hash, id);
    if (level == "+") {
        if (!node.plus || !erase_below(*node.plus, levels, id)) return false;
        if (node.plus->empty()) node.plus.reset();
        return true;
    }
    const auto child = node.literal.find(level);
    if (child == node.literal.end() || !erase_below(*child->second, levels, id)) return false;
    if (child->second->empty()) node.literal.erase(child);
    return true;
}

}  // namespace keyed_sticky
