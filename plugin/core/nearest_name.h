// "Did you mean": the known name a mistyped one is closest to.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace keyed_sticky {

/// The known name with the fewest changes (insert, delete or replace a byte) from `name`; the
/// first of several. Empty if every one is further away than half of its own length: such a hint
/// would only mislead.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

/// " (did you mean NAME?)" for an error line, or empty.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace keyed_sticky
