// Shell-like patterns over names: '*' is any run of bytes (also none), '?' is exactly one byte,
// everything else is itself. There is no escape and no character class.
#pragma once

#include <string_view>

namespace keyed_sticky {

/// Whether the whole text matches the whole pattern, byte by byte: no case folding, no Unicode.
/// No recursion and no allocation; at most |pattern| * |text| steps, so linear in the text a client
/// chose.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace keyed_sticky
