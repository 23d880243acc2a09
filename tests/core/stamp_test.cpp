#include "keyed_sticky/stamp.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/effect.h"

namespace keyed_sticky {
namespace {

using Cause = StampHandover::Cause;
using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs written(const Stamp& stamp) {
    Pairs pairs;
    write_stamp(stamp, [&](std::string_view name, std::string_view value) {
        pairs.emplace_back(name, value);
    });
    return pairs;
}

const Pairs& whole() {
    static const Pairs pairs{
        {"ks-key", "k1"}, {"ks-epoch", "4096"}, {"ks-generation", "3"}, {"ks-sequence", "17"}};
    return pairs;
}

Pairs replaced(const std::string& name, const std::string& value) {
    Pairs pairs = whole();
    for (auto& pair : pairs) {
        if (pair.first == name) {
            pair.second = value;
            return pairs;
        }
    }
    pairs.emplace_back(name, value);
    return pairs;
}

void expect_garbled(const std::string& name, const std::string& value) {
    const Pairs pairs = replaced(name, value);
    const StampResult result = parse_stamp(pairs);
    EXPECT_EQ(result.status, StampStatus::garbled) << name << "=" << value;
    EXPECT_EQ(result.property, name);
}

// The text of each property is part of the interface to workers in any language.
TEST(Stamp, WrittenText) {
    EXPECT_EQ(written({.key = "k1",
                       .epoch = 4096,
                       .generation = 3,
                       .sequence = 17,
                       .handover = std::nullopt}),
              whole());
    const Stamp full{"", 5, 0, 1, true, StampHandover{Cause::lease_expired, 4}};
    const Pairs expected{
        {"ks-key", ""},         {"ks-epoch", "5"},
        {"ks-generation", "0"}, {"ks-sequence", "1"},
        {"ks-redelivery", "1"}, {"ks-handover", "cause=lease-expired;previous-epoch=4"}};
    EXPECT_EQ(written(full), expected);
}

// Every stamp that can be written is read back as itself, at the ends of its ranges too.
TEST(Stamp, RoundTrip) {
    std::vector<std::optional<StampHandover>> handovers{std::nullopt};
    for (const Cause cause : {Cause::first_use, Cause::unsubscribed, Cause::disconnected,
                              Cause::lease_expired, Cause::rebalanced}) {
        handovers.emplace_back(StampHandover{cause, 0});
        handovers.emplace_back(StampHandover{cause, largest_stamp_number});
    }
    for (const auto& handover : handovers) {
        for (const std::uint64_t number : {std::uint64_t{1}, largest_stamp_number}) {
            for (const std::string_view key : {"", "k1", "ks-key", "ger\xc3\xa4t\x01;="}) {
                const Stamp stamp{key, number, number - 1, number, number == 1, handover};
                const Pairs pairs = written(stamp);
                const StampResult result = parse_stamp(pairs);
                ASSERT_EQ(result.status, StampStatus::ok) << result.property;
                EXPECT_EQ(result.stamp, stamp);
            }
        }
    }
}

// Order does not matter, nor do other properties, nor names under "ks-" that a later plugin may
// add.
TEST(Stamp, OtherPropertiesAreIgnored) {
    const std::array<std::pair<std::string_view, std::string_view>, 7> pairs{
        {{"ks-sequence", "17"},
         {"device", "x"},
         {"ks-new", "?"},
         {"ks-generation", "3"},
         {"KS-EPOCH", "x"},
         {"ks-epoch", "4096"},
         {"ks-key", "k1"}}};
    const StampResult result = parse_stamp(pairs);
    ASSERT_EQ(result.status, StampStatus::ok);
    EXPECT_EQ(result.stamp, (Stamp{"k1", 4096, 3, 17, false, std::nullopt}));
}

// No stamp at all is a status of its own: such a message is no record of a handled group.
TEST(Stamp, Absent) {
    EXPECT_EQ(parse_stamp(Pairs{}).status, StampStatus::absent);
    EXPECT_EQ(parse_stamp(Pairs{{"device", "k1"}, {"ks-new", "1"}}).status, StampStatus::absent);
}

// A part of a stamp is not one, and the missing part is named.
TEST(Stamp, Missing) {
    for (const auto& left_out : whole()) {
        Pairs pairs;
        for (const auto& pair : whole()) {
            if (pair.first != left_out.first) pairs.push_back(pair);
        }
        const StampResult result = parse_stamp(pairs);
        EXPECT_EQ(result.status, StampStatus::missing);
        EXPECT_EQ(result.property, left_out.first);
    }
    EXPECT_EQ(parse_stamp(Pairs{{"ks-redelivery", "1"}}).status, StampStatus::missing);
}

// A property that is there twice is an error even if both agree: somebody else wrote one of them.
TEST(Stamp, Duplicate) {
    Pairs pairs = replaced("ks-redelivery", "1");
    pairs.emplace_back("ks-handover", "cause=first-use;previous-epoch=0");
    for (const auto& pair : Pairs{pairs}) {
        Pairs twice = pairs;
        twice.push_back(pair);
        const StampResult result = parse_stamp(twice);
        EXPECT_EQ(result.status, StampStatus::duplicate);
        EXPECT_EQ(result.property, pair.first);
    }
}

// Numbers are whole values in their one spelling and in their range.
TEST(Stamp, GarbledNumbers) {
    for (const std::string name : {"ks-epoch", "ks-generation", "ks-sequence"}) {
        for (const std::string value :
             {"", " ", "-1", "+1", "1 ", " 1", "01", "00", "0x1", "1.0", "1e3", "one",
              "9007199254740992", "18446744073709551616", "99999999999999999999999"}) {
            expect_garbled(name, value);
        }
    }
    expect_garbled("ks-epoch", "0");
    expect_garbled("ks-sequence", "0");
    EXPECT_EQ(parse_stamp(replaced("ks-generation", "0")).status, StampStatus::ok);
    EXPECT_EQ(parse_stamp(replaced("ks-epoch", "9007199254740991")).status, StampStatus::ok);
}

// ks-redelivery and ks-handover have the listed values and no others.
TEST(Stamp, GarbledFlags) {
    for (const std::string value : {"", "0", "true", "01", "1 "})
        expect_garbled("ks-redelivery", value);
    for (const std::string value :
         {"", "cause=", "rebalanced", "cause=rebalanced", "cause=rebalanced;",
          "cause=rebalanced;previous-epoch=", "cause=rebalanced;previous-epoch=01",
          "cause=rebalanced;previous-epoch=1;", "cause=moved;previous-epoch=1",
          "cause=first_use;previous-epoch=0", "previous-epoch=1;cause=rebalanced",
          "Cause=rebalanced;previous-epoch=1",
          "cause=rebalanced;previous-epoch=9007199254740992"}) {
        expect_garbled("ks-handover", value);
    }
}

// The plugin's causes and the stamp's have the same names, one for one.
TEST(Stamp, CausesAreThoseOfTheCore) {
    const std::array<std::pair<HandoverCause, Cause>, 5> same{
        {{HandoverCause::first_use, Cause::first_use},
         {HandoverCause::unsubscribed, Cause::unsubscribed},
         {HandoverCause::disconnected, Cause::disconnected},
         {HandoverCause::lease_expired, Cause::lease_expired},
         {HandoverCause::rebalanced, Cause::rebalanced}}};
    for (const auto& [core, stamp] : same) {
        EXPECT_EQ(to_string(core), to_string(stamp));
        EXPECT_EQ(static_cast<int>(core), static_cast<int>(stamp));
    }
}

// The texts fit their buffers whatever is written, and end with a zero for C interfaces.
TEST(Stamp, TextsEndWithZero) {
    const StampNumberText number{std::numeric_limits<std::uint64_t>::max()};
    EXPECT_EQ(number.view(), "18446744073709551615");
    EXPECT_EQ(number.c_str(), number.view());
    const StampHandoverText handover{
        {Cause::lease_expired, std::numeric_limits<std::uint64_t>::max()}};
    EXPECT_EQ(handover.view(), "cause=lease-expired;previous-epoch=18446744073709551615");
    EXPECT_EQ(handover.c_str(), handover.view());
    EXPECT_EQ(std::string_view{stamp_property::handover}
                  .data()[std::string_view{stamp_property::handover}.size()],
              '\0');
}

}  // namespace
}  // namespace keyed_sticky
