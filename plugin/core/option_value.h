// How single values are written in the configuration: durations, byte sizes, counts, switches.
// Every parser takes the whole value: anything left over makes it bad.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "core/time.h"

namespace keyed_sticky {

/// Why a value was refused, for the operator: what is wrong, then what may be written. Does not
/// name the option.
struct BadValue {
    std::string why;
};

template <typename T>
using Parsed = std::variant<T, BadValue>;

/// Both ends are allowed values.
template <typename T>
struct Range {
    T min;
    T max;
};

/// A whole number and its unit without a blank: ms, s, m, h. A bare number is bad: it would have to
/// be guessed.
Parsed<Duration> parse_duration(std::string_view text, Range<Duration> range);

/// A whole number of bytes, bare or followed by KiB, MiB, GiB or TiB (powers of 1024).
Parsed<std::size_t> parse_size(std::string_view text, Range<std::size_t> range);

/// A whole number, decimal digits only.
Parsed<std::size_t> parse_count(std::string_view text, Range<std::size_t> range);

/// "on" or "off".
Parsed<bool> parse_switch(std::string_view text);

/// As parse_duration() reads it, in the largest unit that is exact. Precondition: a whole number of
/// milliseconds, not negative.
std::string format_duration(Duration value);
/// As parse_size() reads it, in the largest unit that is exact.
std::string format_size(std::size_t bytes);
std::string_view format_switch(bool value);

/// Without blanks (space, tab) at either end: Mosquitto leaves those at the end of a line in the
/// value.
std::string_view trim(std::string_view text);

/// The value in quotes for an error line: control bytes replaced by '?', shortened after 80 bytes.
std::string in_quotes(std::string_view value);

}  // namespace keyed_sticky
