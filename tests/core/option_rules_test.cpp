#include "core/option_rules.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace keyed_sticky {
namespace {

using Source = KeyRule::Source;
using Missing = KeyRule::Missing;

GroupRule group(std::string_view text) {
    const auto parsed = parse_group_rule(text);
    if (const auto* const bad = std::get_if<BadValue>(&parsed)) {
        ADD_FAILURE() << text << ": " << bad->why;
        return {};
    }
    return std::get<GroupRule>(parsed);
}

std::string group_error(std::string_view text) {
    const auto parsed = parse_group_rule(text);
    const auto* const bad = std::get_if<BadValue>(&parsed);
    return bad == nullptr ? std::string{} : bad->why;
}

std::string member_error(std::string_view text) {
    const auto parsed = parse_member_rule(text);
    const auto* const bad = std::get_if<BadValue>(&parsed);
    return bad == nullptr ? std::string{} : bad->why;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// A pattern alone takes every default of GroupRule.
TEST(GroupRuleText, PatternAlone) {
    const GroupRule rule = group("telemetry-*");
    EXPECT_EQ(rule.share_pattern, "telemetry-*");
    EXPECT_EQ(rule.key.source, Source::topic_level);
    EXPECT_EQ(rule.key.topic_level, GroupRule{}.key.topic_level);
    EXPECT_EQ(rule.key.missing, Missing::whole_topic);
    EXPECT_EQ(rule.slots, 4096U);
}

// Each setting reads each of its forms.
TEST(GroupRuleText, Settings) {
    EXPECT_EQ(group("g key=topic:2").key.topic_level, 2U);
    EXPECT_EQ(group("g key=topic:200").key.topic_level, 200U);
    EXPECT_EQ(group("g key=client-id").key.source, Source::client_id);
    EXPECT_EQ(group("g key=username").key.source, Source::username);
    const GroupRule property = group("g key=user-property:device:id=x");
    EXPECT_EQ(property.key.source, Source::user_property);
    EXPECT_EQ(property.key.property_name, "device:id=x");
    EXPECT_EQ(group("g missing=round-robin").key.missing, Missing::round_robin);
    EXPECT_EQ(group("g missing=reject").key.missing, Missing::reject);
    EXPECT_EQ(group("g missing=whole-topic").key.missing, Missing::whole_topic);
    EXPECT_EQ(group("g slots=1").slots, 1U);
    EXPECT_EQ(group("g slots=65536").slots, 65536U);
}

// The settings come in any order, with any blanks between them.
TEST(GroupRuleText, OrderAndBlanksDoNotMatter) {
    const GroupRule rule = group("g \t slots=16   missing=reject key=username");
    EXPECT_EQ(rule.slots, 16U);
    EXPECT_EQ(rule.key.missing, Missing::reject);
    EXPECT_EQ(rule.key.source, Source::username);
}

// Numbers outside their range are refused, and the range is named.
TEST(GroupRuleText, NumbersOutOfRange) {
    EXPECT_TRUE(contains(group_error("g slots=0"), "1 to 65536"));
    EXPECT_TRUE(contains(group_error("g slots=65537"), "1 to 65536"));
    EXPECT_TRUE(contains(group_error("g slots="), "1 to 65536"));
    EXPECT_TRUE(contains(group_error("g key=topic:0"), "1 to 200"));
    EXPECT_TRUE(contains(group_error("g key=topic:201"), "1 to 200"));
    EXPECT_TRUE(contains(group_error("g key=topic:"), "1 to 200"));
    EXPECT_TRUE(contains(group_error("g key=topic:4294967298"), "1 to 200"));
}

// A misspelt setting or value is refused with the one that was meant.
TEST(GroupRuleText, DidYouMean) {
    EXPECT_TRUE(contains(group_error("g slot=4"), "did you mean slots?"));
    EXPECT_TRUE(contains(group_error("g keys=topic:1"), "did you mean key?"));
    EXPECT_TRUE(contains(group_error("g key=clientid"), "did you mean client-id?"));
    EXPECT_TRUE(contains(group_error("g key=topics:2"), "did you mean topic?"));
    EXPECT_TRUE(contains(group_error("g missing=round_robin"), "did you mean round-robin?"));
    EXPECT_TRUE(contains(group_error("g slots"), "unknown setting"));
    EXPECT_TRUE(contains(group_error("g h"), "unknown setting"));
}

// A setting given twice is refused, even with the same value.
TEST(GroupRuleText, GivenTwice) {
    EXPECT_TRUE(contains(group_error("g slots=4 slots=4"), "slots= is given twice"));
}

// Everything wrong with a rule is told at once.
TEST(GroupRuleText, TellsAllErrors) {
    const std::string error = group_error("g slots=0 key=colour missing=drop");
    EXPECT_TRUE(contains(error, "slots")) << error;
    EXPECT_TRUE(contains(error, "key= \"colour\"")) << error;
    EXPECT_TRUE(contains(error, "missing= \"drop\"")) << error;
}

// Whatever is wrong, the error is one line of printable bytes: it goes to the broker's log.
TEST(GroupRuleText, ErrorsArePrintable) {
    for (const std::string text :
         {"g key=\x7f", "g missing=\x01", "g \n", "g slots=\x02", "g key=topic:\x03", "\x04/",
          "g key=user-property:ks-\x05", "\x06=1 key=x"}) {
        const std::string error = group_error(text);
        EXPECT_FALSE(error.empty());
        for (const char byte : error) EXPECT_TRUE(byte >= ' ' && byte != '\x7f') << error;
    }
}

// A pattern no share name can match is a mistake, above all a whole subscription written in its
// place.
TEST(GroupRuleText, ImpossiblePatterns) {
    EXPECT_TRUE(contains(group_error(""), "no share name pattern"));
    EXPECT_TRUE(contains(group_error("key=topic:2"), "pattern is missing"));
    EXPECT_TRUE(contains(group_error("$share/g/dev/+/up"), "without \"$share/\""));
    EXPECT_TRUE(contains(group_error("g/x"), "matches nothing"));
    EXPECT_TRUE(contains(group_error("g#"), "matches nothing"));
    EXPECT_TRUE(contains(group_error("g+"), "matches nothing"));
}

// A property this plugin strips from publishers can be nobody's key; nor can a property without a
// name.
TEST(GroupRuleText, ImpossibleProperties) {
    EXPECT_TRUE(contains(group_error("g key=user-property:ks-key"), "never has a value"));
    EXPECT_TRUE(contains(group_error("g key=user-property:"), "no property name"));
}

// A members rule is a field and a pattern, and the pattern keeps its blanks and colons.
TEST(MemberRuleText, Forms) {
    const auto by_id = parse_member_rule("client-id:worker-*");
    ASSERT_TRUE(std::holds_alternative<MemberRule>(by_id));
    EXPECT_EQ(std::get<MemberRule>(by_id).field, MemberRule::Field::client_id);
    EXPECT_EQ(std::get<MemberRule>(by_id).pattern, "worker-*");
    const auto by_name = parse_member_rule("username:plant 4: *");
    ASSERT_TRUE(std::holds_alternative<MemberRule>(by_name));
    EXPECT_EQ(std::get<MemberRule>(by_name).field, MemberRule::Field::username);
    EXPECT_EQ(std::get<MemberRule>(by_name).pattern, "plant 4: *");
}

// A rule without a known field or without a pattern is refused, and the forms are named.
TEST(MemberRuleText, BadOnes) {
    EXPECT_TRUE(contains(member_error("worker-*"), "client-id:PATTERN or username:PATTERN"));
    EXPECT_TRUE(contains(member_error("user-name:x"), "did you mean username?"));
    EXPECT_TRUE(contains(member_error("client-id:"), "has no pattern"));
    EXPECT_TRUE(contains(member_error(""), "names no field"));
}

// The first matching rule wins; no match means the group is not handled.
TEST(OptionRules, FirstMatchingGroupRuleWins) {
    const std::vector<GroupRule> rules{group("a* slots=1"), group("ab* slots=2"),
                                       group("c? slots=3")};
    ASSERT_NE(find_group_rule(rules, "abc"), nullptr);
    EXPECT_EQ(find_group_rule(rules, "abc")->slots, 1U);
    EXPECT_EQ(find_group_rule(rules, "cx"), &rules[2]);
    EXPECT_EQ(find_group_rule(rules, "c"), nullptr);
    EXPECT_EQ(find_group_rule({}, "abc"), nullptr);
}

// With rules, a client joins if any matches; a client without a user name is matched by no username
// rule.
TEST(OptionRules, WhoMayJoin) {
    EXPECT_TRUE(may_join({}, "anybody", std::nullopt));
    const std::vector<MemberRule> rules{{MemberRule::Field::client_id, "worker-*"},
                                        {MemberRule::Field::username, "*"}};
    EXPECT_TRUE(may_join(rules, "worker-1", std::nullopt));
    EXPECT_FALSE(may_join(rules, "other", std::nullopt));
    EXPECT_TRUE(may_join(rules, "other", ""));
    EXPECT_TRUE(may_join(rules, "other", "alice"));
    EXPECT_FALSE(may_join(std::vector<MemberRule>{rules[0]}, "other", "worker-1"));
}

}  // namespace
}  // namespace keyed_sticky
