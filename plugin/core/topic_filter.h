// Topic filters as Mosquitto's subscription tree treats them (src/subs.c, src/topic_tok.c of 2.0.11
// to 2.1.2).
//
// Topics here are those the broker accepted: not empty, without '+' and '#', at most 65535 bytes
// and 201 levels. Every function is linear in the text it is given, allocates nothing unless it
// says so, and compares exact bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.h"

namespace keyed_sticky {

/// In bytes; of a share subscription with its "$share/NAME/".
inline constexpr std::size_t longest_topic = 65535;
/// '/' in a topic or filter; of a share subscription with those of "$share/NAME/".
inline constexpr std::size_t most_topic_separators = 200;

/// Mosquitto keeps two trees, and walks both for every message: first all of the ordinary one, then
/// all of the shared one. (2.0.11 as released, without Debian's patches, has a single tree, in
/// which the shared subscriptions of a node come before its ordinary ones.)
enum class SubscriptionTree : std::uint8_t {
    ordinary,
    /// Its filters all hang below the root of topics without '$', and are stored there whatever
    /// they begin with: no topic that begins with '$' reaches one of them, not even by
    /// `$share/g/$SYS/#`.
    shared,
};

/// Whether a client can subscribe to it: not empty, within the limits, '+' and '#' only as whole
/// levels, '#' only as the last.
bool is_valid_filter(std::string_view filter);

/// Splits `$share/NAME/FILTER`. nullopt for everything that is no share subscription by MQTT 5,
/// section 4.8.2: another prefix, an empty name or one with '+' or '#', an empty or invalid filter,
/// or too long. Mosquitto admits some of those (an empty name, and 2.0 a wildcard as the name); we
/// handle none of them. Allocates the result.
std::optional<GroupName> parse_share_subscription(std::string_view subscription);

/// Whether a message on the topic reaches a subscription of that filter (without "$share/NAME/") in
/// that tree. Precondition: is_valid_filter(filter).
bool filter_matches(SubscriptionTree tree, std::string_view filter, std::string_view topic);

/// Whether the broker's walk reaches filter `a` before filter `b`, in the same tree: at each level
/// it goes down the literal branch first, then '+', then '#', and serves a node only after
/// everything below it. False for equal filters. Precondition: both match one and the same topic;
/// which one does not matter.
bool walk_before(std::string_view a, std::string_view b);

}  // namespace keyed_sticky
