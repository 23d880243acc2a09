// The two options that are rules: `group` (which groups are handled, and how) and `members` (who
// may join them).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/option_value.h"
#include "core/options.h"

namespace keyed_sticky {

/// A broker of Mosquitto's kind takes no topic with more levels than this after the share name.
inline constexpr Range<std::uint32_t> topic_level_range{1, 200};
inline constexpr Range<std::uint32_t> slots_range{1, 65536};

/// Reads `SHARE-PATTERN [key=...] [missing=...] [slots=N]`, the settings in any order, each at most
/// once, separated by blanks:
///   key=topic:N | key=client-id | key=username | key=user-property:NAME
///   missing=whole-topic | missing=round-robin | missing=reject
/// What is not given keeps the default of GroupRule. A bad value tells everything that is wrong
/// with it, not only the first. Bad too: a pattern with '/', '+' or '#', which no share name
/// contains, and a property under "ks-", which never arrives from a publisher. A property name with
/// a blank cannot be written.
Parsed<GroupRule> parse_group_rule(std::string_view text);

/// Reads `client-id:PATTERN` or `username:PATTERN`. The pattern is the rest of the text, blanks
/// within it included.
Parsed<MemberRule> parse_member_rule(std::string_view text);

/// The first rule whose pattern matches the share name; null: groups of that name are not handled.
/// Points into `rules`.
const GroupRule* find_group_rule(std::span<const GroupRule> rules, std::string_view share);

/// Whether a client may join handled groups: some rule matches, or there are none. A client without
/// a user name matches no username rule, whatever its pattern.
bool may_join(std::span<const MemberRule> rules, std::string_view client_id,
              std::optional<std::string_view> username);

}  // namespace keyed_sticky
