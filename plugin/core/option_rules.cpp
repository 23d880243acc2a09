#include "core/option_rules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "core/glob.h"
#include "core/nearest_name.h"

namespace keyed_sticky {
namespace {

constexpr std::string_view blanks = " \t";

// Takes the next word off the front of `rest`; empty at the end.
std::string_view next_word(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(blanks));
    rest.remove_prefix(word.size());
    return word;
}

// nullopt: the text does not begin with it.
std::optional<std::string_view> after(std::string_view text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return std::nullopt;
    return text.substr(prefix.size());
}

class GroupReader {
  public:
    Parsed<GroupRule> read(std::string_view text) {
        std::string_view rest = text;
        read_pattern(next_word(rest));
        for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
            read_setting(word);
        }
        if (!why_.empty()) return BadValue{why_};
        return rule_;
    }

  private:
    void read_pattern(std::string_view pattern) {
        if (pattern.empty()) {
            complain(
                "there is no share name pattern: write the share name first ('*' any run, '?' one "
                "byte)");
        } else if (pattern.find('=') != std::string_view::npos &&
                   is_setting(pattern.substr(0, pattern.find('=')))) {
            complain("the share name pattern is missing before " + in_quotes(pattern));
        } else if (pattern.find_first_of("/+#") != std::string_view::npos) {
            complain("the pattern " + in_quotes(pattern) +
                     " matches nothing: a share name contains no '/', '+' or '#'" +
                     (pattern.starts_with("$share/")
                          ? ", and is written here without \"$share/\" and filter"
                          : ""));
        }
        rule_.share_pattern = pattern;
    }

    void read_setting(std::string_view word) {
        const std::size_t equals = word.find('=');
        const std::string_view name = word.substr(0, equals);
        const auto index = static_cast<std::size_t>(
            std::find(settings.begin(), settings.end(), name) - settings.begin());
        if (equals == std::string_view::npos || index == settings.size()) {
            complain("unknown setting " + in_quotes(word) + did_you_mean(name, settings) +
                     ": after the pattern come key=, missing= and slots=");
            return;
        }
        if (std::exchange(given_.at(index), true)) {
            complain(std::string{name} + "= is given twice");
            return;
        }
        const std::string_view value = word.substr(equals + 1);
        if (name == "key") read_key(value);
        if (name == "missing") read_missing(value);
        if (name == "slots") rule_.slots = read_number("slots", value, slots_range);
    }

    void read_key(std::string_view value) {
        if (value == "client-id") {
            rule_.key.source = KeyRule::Source::client_id;
        } else if (value == "username") {
            rule_.key.source = KeyRule::Source::username;
        } else if (const auto level = after(value, "topic:")) {
            rule_.key.source = KeyRule::Source::topic_level;
            rule_.key.topic_level = read_number("key=topic", *level, topic_level_range);
        } else if (const auto property = after(value, "user-property:")) {
            rule_.key.source = KeyRule::Source::user_property;
            rule_.key.property_name = *property;
            if (property->empty()) complain("key=user-property: has no property name");
            if (property->starts_with("ks-")) {
                complain("key= " + in_quotes(value) +
                         " never has a value: names under \"ks-\" are this plugin's own, and are "
                         "removed from what publishers send");
            }
        } else {
            constexpr std::array<std::string_view, 4> known{"topic", "client-id", "username",
                                                            "user-property"};
            complain("unknown key= " + in_quotes(value) +
                     did_you_mean(value.substr(0, value.find(':')), known) +
                     ": write key=topic:N, key=client-id, key=username or key=user-property:NAME");
        }
    }

    void read_missing(std::string_view value) {
        constexpr std::array<std::string_view, 3> known{"whole-topic", "round-robin", "reject"};
        if (value == "whole-topic") {
            rule_.key.missing = KeyRule::Missing::whole_topic;
        } else if (value == "round-robin") {
            rule_.key.missing = KeyRule::Missing::round_robin;
        } else if (value == "reject") {
            rule_.key.missing = KeyRule::Missing::reject;
        } else {
            complain("unknown missing= " + in_quotes(value) + did_you_mean(value, known) +
                     ": write missing=whole-topic, missing=round-robin or missing=reject");
        }
    }

    std::uint32_t read_number(std::string_view name, std::string_view text,
                              Range<std::uint32_t> range) {
        const auto parsed = parse_count(text, {range.min, range.max});
        if (const auto* bad = std::get_if<BadValue>(&parsed)) {
            complain(std::string{name} + ": " + bad->why);
            return range.min;
        }
        return static_cast<std::uint32_t>(std::get<std::size_t>(parsed));
    }

    static bool is_setting(std::string_view name) {
        return std::find(settings.begin(), settings.end(), name) != settings.end();
    }

    void complain(const std::string& what) {
        if (!why_.empty()) why_ += "; ";
        why_ += what;
    }

    static constexpr std::array<std::string_view, 3> settings{"key", "missing", "slots"};
    std::array<bool, 3> given_{};
    GroupRule rule_;
    std::string why_;
};

}  // namespace

Parsed<GroupRule> parse_group_rule(std::string_view text) {
    return GroupReader{}.read(text);
}

Parsed<MemberRule> parse_member_rule(std::string_view text) {
    MemberRule rule;
    if (const auto client_id = after(text, "client-id:")) {
        rule.field = MemberRule::Field::client_id;
        rule.pattern = *client_id;
    } else if (const auto username = after(text, "username:")) {
        rule.field = MemberRule::Field::username;
        rule.pattern = *username;
    } else {
        constexpr std::array<std::string_view, 2> known{"client-id", "username"};
        return BadValue{in_quotes(text) + " names no field" +
                        did_you_mean(text.substr(0, text.find(':')), known) +
                        ": write client-id:PATTERN or username:PATTERN"};
    }
    if (rule.pattern.empty()) return BadValue{in_quotes(text) + " has no pattern: write * for any"};
    return rule;
}

const GroupRule* find_group_rule(std::span<const GroupRule> rules, std::string_view share) {
    const auto found = std::find_if(rules.begin(), rules.end(), [&](const GroupRule& rule) {
        return glob_matches(rule.share_pattern, share);
    });
    return found == rules.end() ? nullptr : &*found;
}

bool may_join(std::span<const MemberRule> rules, std::string_view client_id,
              std::optional<std::string_view> username) {
    return rules.empty() || std::any_of(rules.begin(), rules.end(), [&](const MemberRule& rule) {
               if (rule.field == MemberRule::Field::client_id)
                   return glob_matches(rule.pattern, client_id);
               return username && glob_matches(rule.pattern, *username);
           });
}

}  // namespace keyed_sticky
