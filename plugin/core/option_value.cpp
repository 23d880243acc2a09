#include "core/option_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <system_error>

namespace keyed_sticky {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

// Smallest first; factors in milliseconds.
constexpr std::array<Unit, 4> duration_units{
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
constexpr std::array<Unit, 5> size_units{{{"", 1},
                                          {"KiB", 1ULL << 10U},
                                          {"MiB", 1ULL << 20U},
                                          {"GiB", 1ULL << 30U},
                                          {"TiB", 1ULL << 40U}}};

struct Quantity {
    std::uint64_t number = 0;
    bool too_large = false;
    std::string_view unit;
};

// nullopt: it does not begin with a digit.
std::optional<Quantity> split_quantity(std::string_view text) {
    Quantity quantity;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, quantity.number);
    if (error == std::errc::invalid_argument) return std::nullopt;
    quantity.too_large = error == std::errc::result_out_of_range;
    quantity.unit = text.substr(static_cast<std::size_t>(rest - text.data()));
    return quantity;
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
    const auto found = std::find_if(units.begin(), units.end(),
                                    [&](const Unit& unit) { return unit.name == name; });
    return found == units.end() ? nullptr : &*found;
}

// The number in units of factor 1; the largest one where it does not fit.
std::uint64_t scaled(const Quantity& quantity, const Unit& unit) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    if (quantity.too_large || quantity.number > most / unit.factor) return most;
    return quantity.number * unit.factor;
}

std::string format_quantity(std::uint64_t value, std::span<const Unit> units) {
    const Unit* unit = units.data();
    for (const Unit& larger : units) {
        if (value != 0 && value % larger.factor == 0) unit = &larger;
    }
    return std::to_string(value / unit->factor) + std::string{unit->name};
}

BadValue out_of_range(std::string_view text, const std::string& min, const std::string& max) {
    return BadValue{in_quotes(text) + " is out of range: " + min + " to " + max + " is allowed"};
}

std::uint64_t in_ms(Duration value) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(value).count());
}

}  // namespace

Parsed<Duration> parse_duration(std::string_view text, Range<Duration> range) {
    const std::string allowed = format_duration(range.min) + " to " + format_duration(range.max);
    const auto quantity = split_quantity(text);
    if (!quantity) {
        return BadValue{
            in_quotes(text) +
            " is not a duration: write a whole number with its unit, as 500ms, 10s, 2m or 1h (" +
            allowed + ")"};
    }
    if (quantity->unit.empty()) {
        return BadValue{
            in_quotes(text) +
            " has no unit: write ms, s, m or h right after the number, as 500ms, 10s, 2m or 1h (" +
            allowed + ")"};
    }
    const Unit* const unit = find_unit(duration_units, quantity->unit);
    if (unit == nullptr) {
        return BadValue{in_quotes(text) + " has the unknown unit " + in_quotes(quantity->unit) +
                        ": the units are ms, s, m and h, and the number is a whole one (" +
                        allowed + ")"};
    }
    const std::uint64_t value = scaled(*quantity, *unit);
    if (value < in_ms(range.min) || value > in_ms(range.max)) {
        return out_of_range(text, format_duration(range.min), format_duration(range.max));
    }
    return Duration{milliseconds{static_cast<milliseconds::rep>(value)}};
}

Parsed<std::size_t> parse_size(std::string_view text, Range<std::size_t> range) {
    const std::string allowed = format_size(range.min) + " to " + format_size(range.max);
    const auto quantity = split_quantity(text);
    if (!quantity) {
        return BadValue{in_quotes(text) +
                        " is not a size: write a whole number of bytes, or with a unit, as 64KiB, "
                        "256MiB or 1GiB (" +
                        allowed + ")"};
    }
    const Unit* const unit = find_unit(size_units, quantity->unit);
    if (unit == nullptr) {
        return BadValue{in_quotes(text) + " has the unknown unit " + in_quotes(quantity->unit) +
                        ": the units are KiB, MiB, GiB and TiB, none means bytes, and the number "
                        "is a whole one (" +
                        allowed + ")"};
    }
    const std::uint64_t value = scaled(*quantity, *unit);
    if (value < range.min || value > range.max)
        return out_of_range(text, format_size(range.min), format_size(range.max));
    return static_cast<std::size_t>(value);
}

Parsed<std::size_t> parse_count(std::string_view text, Range<std::size_t> range) {
    const std::string min = std::to_string(range.min);
    const std::string max = std::to_string(range.max);
    const auto quantity = split_quantity(text);
    if (!quantity || !quantity->unit.empty()) {
        return BadValue{in_quotes(text) + " is not a whole number (" + min + " to " + max +
                        ", without a unit)"};
    }
    if (quantity->too_large || quantity->number < range.min || quantity->number > range.max) {
        return out_of_range(text, min, max);
    }
    return static_cast<std::size_t>(quantity->number);
}

Parsed<bool> parse_switch(std::string_view text) {
    if (text == "on") return true;
    if (text == "off") return false;
    return BadValue{in_quotes(text) + " is not a switch: write on or off"};
}

std::string format_duration(Duration value) {
    if (value == Duration::zero()) return "0s";
    return format_quantity(in_ms(value), duration_units);
}

std::string format_size(std::size_t bytes) {
    return format_quantity(bytes, size_units);
}

std::string_view format_switch(bool value) {
    return value ? "on" : "off";
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string in_quotes(std::string_view value) {
    constexpr std::size_t longest = 80;
    std::string text{value.substr(0, longest)};
    std::replace_if(
        text.begin(), text.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; },
        '?');
    return '"' + text + (value.size() > longest ? "..." : "") + '"';
}

}  // namespace keyed_sticky
