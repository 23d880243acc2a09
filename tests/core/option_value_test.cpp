#include "core/option_value.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace keyed_sticky {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr Range<Duration> any_duration{Duration{0}, hours{1000}};
constexpr Range<std::size_t> any_count{0, std::numeric_limits<std::size_t>::max()};

template <typename T>
std::optional<T> good(const Parsed<T>& parsed) {
    const T* const value = std::get_if<T>(&parsed);
    return value == nullptr ? std::nullopt : std::optional<T>{*value};
}
template <typename T>
std::string why(const Parsed<T>& parsed) {
    const auto* const bad = std::get_if<BadValue>(&parsed);
    return bad == nullptr ? std::string{} : bad->why;
}
bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// A duration is a whole number and a unit.
TEST(OptionValue, ReadsDurations) {
    EXPECT_EQ(good(parse_duration("500ms", any_duration)), Duration{milliseconds{500}});
    EXPECT_EQ(good(parse_duration("10s", any_duration)), Duration{seconds{10}});
    EXPECT_EQ(good(parse_duration("2m", any_duration)), Duration{minutes{2}});
    EXPECT_EQ(good(parse_duration("1h", any_duration)), Duration{hours{1}});
    EXPECT_EQ(good(parse_duration("0s", any_duration)), Duration{0});
}

// A bare number is refused with the names of the units: seconds and milliseconds are too easily
// confused.
TEST(OptionValue, RefusesADurationWithoutUnit) {
    const std::string error = why(parse_duration("10", any_duration));
    EXPECT_TRUE(contains(error, "no unit")) << error;
    EXPECT_TRUE(contains(error, "ms, s, m or h")) << error;
}

// Nothing of a value is ignored, in front, behind or in between.
TEST(OptionValue, TakesTheWholeValue) {
    for (const std::string_view text : {"", " ", "s", "-1s", "+1s", "1.5s", "10 s", "10sec", "10s ",
                                        " 10s", "10s10s", "1e3s", "0x1s", "10S"}) {
        EXPECT_FALSE(good(parse_duration(text, any_duration))) << text;
    }
    for (const std::string_view text :
         {"", "-1", "+1", "1 ", "1KB", "1kib", "KiB", "1.5MiB", "1MiB1", "1 MiB"}) {
        EXPECT_FALSE(good(parse_size(text, any_count))) << text;
    }
    for (const std::string_view text : {"", "-1", "+1", "1 ", "1k", "1_000", "0x10", "1.0"}) {
        EXPECT_FALSE(good(parse_count(text, any_count))) << text;
    }
    for (const std::string_view text : {"", "On", "yes", "true", "1", "on ", "offf"}) {
        EXPECT_FALSE(good(parse_switch(text))) << text;
    }
}

// Both ends of a range are allowed, the next ones are not, and the error names the range.
TEST(OptionValue, ChecksRanges) {
    const Range<Duration> duration{milliseconds{100}, hours{1}};
    EXPECT_TRUE(good(parse_duration("100ms", duration)));
    EXPECT_TRUE(good(parse_duration("60m", duration)));
    EXPECT_TRUE(contains(why(parse_duration("99ms", duration)), "100ms to 1h"));
    EXPECT_TRUE(contains(why(parse_duration("3601s", duration)), "100ms to 1h"));
    const Range<std::size_t> count{1, 10};
    EXPECT_TRUE(good(parse_count("1", count)));
    EXPECT_TRUE(good(parse_count("10", count)));
    EXPECT_TRUE(contains(why(parse_count("0", count)), "1 to 10"));
    EXPECT_TRUE(contains(why(parse_count("11", count)), "1 to 10"));
    const Range<std::size_t> size{1024, 2048};
    EXPECT_TRUE(good(parse_size("1KiB", size)));
    EXPECT_TRUE(good(parse_size("2048", size)));
    EXPECT_TRUE(contains(why(parse_size("1023", size)), "1KiB to 2KiB"));
    EXPECT_TRUE(contains(why(parse_size("3KiB", size)), "1KiB to 2KiB"));
}

// A number too large for the machine is out of range, never wrapped round into it.
TEST(OptionValue, DoesNotWrapAround) {
    EXPECT_TRUE(
        contains(why(parse_duration("18446744073709551616ms", any_duration)), "out of range"));
    EXPECT_TRUE(contains(why(parse_duration("5124095576030432h", any_duration)), "out of range"));
    EXPECT_TRUE(contains(why(parse_size("16777216TiB", {0, 1024})), "out of range"));
    EXPECT_TRUE(contains(why(parse_size("16777217TiB", {0, 1ULL << 42U})), "out of range"));
    EXPECT_TRUE(contains(why(parse_count("99999999999999999999", {0, 5})), "out of range"));
}

// What is written out is read back as the same value, in the shortest exact form.
TEST(OptionValue, WritesWhatItReads) {
    EXPECT_EQ(format_duration(Duration{0}), "0s");
    EXPECT_EQ(format_duration(milliseconds{1500}), "1500ms");
    EXPECT_EQ(format_duration(seconds{90}), "90s");
    EXPECT_EQ(format_duration(seconds{120}), "2m");
    EXPECT_EQ(format_duration(seconds{3600}), "1h");
    EXPECT_EQ(format_size(0), "0");
    EXPECT_EQ(format_size(1000), "1000");
    EXPECT_EQ(format_size(65'536), "64KiB");
    EXPECT_EQ(format_size(268'435'456), "256MiB");
    for (const int ms : {1, 999, 1000, 59'999, 60'000, 3'600'000, 3'600'001}) {
        EXPECT_EQ(good(parse_duration(format_duration(milliseconds{ms}), any_duration)),
                  Duration{milliseconds{ms}});
    }
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{1023}, std::size_t{1} << 30U, (std::size_t{1} << 40U) + 1}) {
        EXPECT_EQ(good(parse_size(format_size(bytes), any_count)), bytes);
    }
    for (const bool value : {true, false})
        EXPECT_EQ(good(parse_switch(format_switch(value))), value);
}

// Blanks at the ends go, those within stay.
TEST(OptionValue, Trims) {
    EXPECT_EQ(trim(" \ta b\t "), "a b");
    EXPECT_EQ(trim("a"), "a");
    EXPECT_EQ(trim(" \t"), "");
    EXPECT_EQ(trim(""), "");
}

// A quoted value cannot break the log: no control bytes, no endless line.
TEST(OptionValue, QuotesSafely) {
    EXPECT_EQ(in_quotes("a\nb\x7f"), "\"a?b?\"");
    EXPECT_EQ(in_quotes(std::string(80, 'x')).size(), 82U);
    EXPECT_EQ(in_quotes(std::string(5000, 'x')).size(), 85U);
}

}  // namespace
}  // namespace keyed_sticky
