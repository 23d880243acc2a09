#include "core/option_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/option_value.h"

namespace keyed_sticky {
namespace {

using Settings = std::vector<OptionSetting>;

Options good(const Settings& settings) {
    ParseResult result = parse_options(settings);
    if (const auto* const errors = std::get_if<std::vector<std::string>>(&result)) {
        for (const std::string& error : *errors) ADD_FAILURE() << error;
        return {};
    }
    return std::get<Options>(result);
}

std::vector<std::string> errors_of(const Settings& settings) {
    const ParseResult result = parse_options(settings);
    const auto* const errors = std::get_if<std::vector<std::string>>(&result);
    return errors == nullptr ? std::vector<std::string>{} : *errors;
}

// Expects exactly one error, which holds every given part.
void expect_error(const Settings& settings, std::initializer_list<std::string_view> parts) {
    const auto errors = errors_of(settings);
    ASSERT_EQ(errors.size(), 1U) << (errors.empty() ? "no error" : errors.back());
    for (const std::string_view part : parts) {
        EXPECT_NE(errors[0].find(part), std::string::npos) << errors[0] << " lacks: " << part;
    }
}

// Settings a value can be added to.
Settings with(std::string_view name, std::string_view value) {
    return {{"group", "g"}, {name, value}};
}

// One group is enough; everything else keeps its default.
TEST(OptionTable, DefaultsAreThoseOfOptions) {
    const Options options = good({{"group", "g"}});
    const Options defaults;
    ASSERT_EQ(options.groups.size(), 1U);
    EXPECT_TRUE(options.members.empty());
    EXPECT_EQ(options.lease_timeout, defaults.lease_timeout);
    EXPECT_EQ(options.max_held_bytes, defaults.max_held_bytes);
    EXPECT_EQ(options.broker_acl, BrokerAcl::automatic);
    EXPECT_TRUE(options.stamp);
    EXPECT_FALSE(options.log_keys);
}

// Every option reaches its own field.
TEST(OptionTable, EveryOptionIsRead) {
    const Options options = good({{"group", "a key=topic:2"},
                                  {"group", "b slots=8"},
                                  {"members", "client-id:w*"},
                                  {"members", "username:u"},
                                  {"broker_acl", "none"},
                                  {"lease_timeout", "11s"},
                                  {"rebalance_delay", "12s"},
                                  {"drain_timeout", "13s"},
                                  {"unacked_window", "14"},
                                  {"max_held_messages", "15"},
                                  {"max_held_bytes", "16MiB"},
                                  {"overflow", "drop_oldest"},
                                  {"max_tracked_keys", "17"},
                                  {"key_idle_timeout", "18m"},
                                  {"stamp", "off"},
                                  {"log_keys", "on"}});
    ASSERT_EQ(options.groups.size(), 2U);
    EXPECT_EQ(options.groups[0].key.topic_level, 2U);
    EXPECT_EQ(options.groups[1].slots, 8U);
    ASSERT_EQ(options.members.size(), 2U);
    EXPECT_EQ(options.members[1].pattern, "u");
    EXPECT_EQ(options.broker_acl, BrokerAcl::none);
    EXPECT_EQ(options.lease_timeout, seconds{11});
    EXPECT_EQ(options.rebalance_delay, seconds{12});
    EXPECT_EQ(options.drain_timeout, seconds{13});
    EXPECT_EQ(options.unacked_window, 14U);
    EXPECT_EQ(options.max_held_messages, 15U);
    EXPECT_EQ(options.max_held_bytes, 16U * 1024 * 1024);
    EXPECT_EQ(options.overflow, Overflow::drop_oldest);
    EXPECT_EQ(options.max_tracked_keys, 17U);
    EXPECT_EQ(options.key_idle_timeout, seconds{18 * 60});
    EXPECT_FALSE(options.stamp);
    EXPECT_TRUE(options.log_keys);
}

// Blanks at the ends of a value do not count: the broker leaves them in.
TEST(OptionTable, BlanksAroundAValueDoNotCount) {
    EXPECT_EQ(good(with("lease_timeout", " 7s\t")).lease_timeout, seconds{7});
}

// An unknown name is an error that names the nearest known one, where one is near.
TEST(OptionTable, UnknownNames) {
    expect_error(with("lease_time", "10s"),
                 {"unknown option \"lease_time\"", "did you mean lease_timeout?"});
    expect_error(with("", "10s"), {"unknown option"});
    for (const std::string_view later : {"redis_url", "redis_prefix", "redis_outage", "instance_id",
                                         "progress_timeout", "max_inflight"}) {
        expect_error(with(later, "1"), {"unknown option"});
    }
}

// Each bad value is an error that names its option and what may be written instead.
TEST(OptionTable, BadValues) {
    expect_error(with("lease_timeout", "10"),
                 {"option lease_timeout: ", "ms, s, m or h", "100ms to 24h"});
    expect_error(with("lease_timeout", "0s"), {"option lease_timeout: ", "100ms to 24h"});
    expect_error(with("lease_timeout", ""), {"option lease_timeout: ", "100ms to 24h"});
    expect_error(with("rebalance_delay", "2h"), {"option rebalance_delay: ", "0s to 1h"});
    expect_error(with("unacked_window", "1000001"), {"option unacked_window: ", "0 to 1000000"});
    expect_error(with("max_held_bytes", "1"), {"option max_held_bytes: ", "64KiB to 1TiB"});
    expect_error(with("broker_acl", "yes"), {"option broker_acl: ", "auto | none | present"});
    expect_error(with("overflow", "drop-oldest"),
                 {"drop_newest | drop_oldest", "did you mean drop_oldest?"});
    expect_error(with("stamp", "true"), {"option stamp: ", "on or off"});
    expect_error(with("members", "w*"), {"option members: ", "client-id:PATTERN"});
}

// Every option but the two rules may be given once only, whether or not the values agree.
TEST(OptionTable, GivenTwice) {
    for (const OptionInfo& info : option_table()) {
        if (info.repeatable) continue;
        const OptionSetting setting{info.name, info.default_value};
        expect_error({{"group", "g"}, setting, setting},
                     {"option " + std::string{info.name}, "more than once"});
    }
}

// All errors are told, in the order of the settings, and relations after them.
TEST(OptionTable, TellsEveryError) {
    const auto errors = errors_of(
        {{"group", "a"}, {"nope_nope", "1"}, {"stamp", "x"}, {"group", "a"}, {"overflow", "y"}});
    ASSERT_EQ(errors.size(), 4U);
    EXPECT_NE(errors[0].find("nope_nope"), std::string::npos);
    EXPECT_NE(errors[1].find("stamp"), std::string::npos);
    EXPECT_NE(errors[2].find("overflow"), std::string::npos);
    EXPECT_NE(errors[3].find("given twice"), std::string::npos);
}

// Without a group there is nothing to do; a group that could not be read is told once, not also as
// missing.
TEST(OptionTable, AtLeastOneGroup) {
    expect_error({}, {"option group: none is given"});
    expect_error({{"group", "g slots=0"}}, {"slots"});
}

// The same pattern twice is refused: the second would never be looked at.
TEST(OptionTable, SamePatternTwice) {
    expect_error({{"group", "a"}, {"group", "b"}, {"group", "a slots=2"}},
                 {"\"a\" is given twice"});
}

// Who says that the broker has ACLs must say who may join, and the error says why.
TEST(OptionTable, AclsNeedMembers) {
    expect_error(with("broker_acl", "present"), {"option members", "READ check"});
    good({{"group", "g"}, {"broker_acl", "present"}, {"members", "client-id:*"}});
    expect_error({{"group", "g"}, {"broker_acl", "present"}, {"members", "x"}}, {"names no field"});
    Options resolved = good({{"group", "g"}});
    EXPECT_TRUE(check_relations(resolved).empty());
    resolved.broker_acl = BrokerAcl::present;
    EXPECT_EQ(check_relations(resolved).size(), 1U);
}

// Options that were not read from text obey the same relations.
TEST(OptionTable, LeaseAboveZero) {
    Options options = good({{"group", "g"}});
    options.lease_timeout = Duration{0};
    const auto errors = check_relations(options);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_NE(errors[0].find("lease_timeout"), std::string::npos);
}

// The table says of each option all an operator needs, and its default is a value it accepts.
TEST(OptionTable, TableIsComplete) {
    std::set<std::string_view> names;
    for (const OptionInfo& info : option_table()) {
        SCOPED_TRACE(info.name);
        EXPECT_TRUE(names.insert(info.name).second);
        EXPECT_FALSE(info.range.empty());
        EXPECT_FALSE(info.text.empty());
        EXPECT_EQ(info.repeatable, info.default_value.empty());
        if (!info.repeatable) good(with(info.name, info.default_value));
    }
    EXPECT_EQ(names.size(), option_table().size());
}

}  // namespace
}  // namespace keyed_sticky
