#include "core/topic_filter.h"

#include <algorithm>
#include <string>

#include "core/topic_levels.h"

namespace keyed_sticky {
namespace {

constexpr std::string_view share_prefix = "$share/";

bool within_limits(std::string_view text) {
    return text.size() <= longest_topic &&
           static_cast<std::size_t>(std::count(text.begin(), text.end(), '/')) <=
               most_topic_separators;
}

}  // namespace

bool is_valid_filter(std::string_view filter) {
    if (filter.empty() || !within_limits(filter)) return false;
    for (TopicLevels levels{filter}; !levels.at_end();) {
        const std::string_view level = levels.level();
        levels.advance();
        if (level.size() > 1 && level.find_first_of("+#") != std::string_view::npos) return false;
        if (level == "#" && !levels.at_end()) return false;
    }
    return true;
}

std::optional<GroupName> parse_share_subscription(std::string_view subscription) {
    if (!subscription.starts_with(share_prefix) || !within_limits(subscription))
        return std::nullopt;
    const std::string_view rest = subscription.substr(share_prefix.size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const std::string_view share = rest.substr(0, slash);
    const std::string_view filter = rest.substr(slash + 1);
    if (share.empty() || share.find_first_of("+#") != std::string_view::npos) return std::nullopt;
    if (!is_valid_filter(filter)) return std::nullopt;
    return GroupName{std::string{share}, std::string{filter}};
}

bool filter_matches(SubscriptionTree tree, std::string_view filter, std::string_view topic) {
    if (topic.empty()) return false;
    if (topic.starts_with('$') && (tree == SubscriptionTree::shared || !filter.starts_with('$'))) {
        return false;
    }
    TopicLevels wanted{filter};
    TopicLevels given{topic};
    while (!wanted.at_end()) {
        if (wanted.level() == "#") return true;
        if (given.at_end() || (wanted.level() != "+" && wanted.level() != given.level()))
            return false;
        wanted.advance();
        given.advance();
    }
    return given.at_end();
}

bool walk_before(std::string_view a, std::string_view b) {
    enum Rank { literal, plus, hash, served };
    const auto rank = [](const TopicLevels& levels) {
        if (levels.at_end()) return served;
        if (levels.level() == "+") return plus;
        return levels.level() == "#" ? hash : literal;
    };
    TopicLevels in_a{a};
    TopicLevels in_b{b};
    while (rank(in_a) == rank(in_b)) {
        if (in_a.at_end()) return false;
        in_a.advance();
        in_b.advance();
    }
    return rank(in_a) < rank(in_b);
}

}  // namespace keyed_sticky
