// The ordering key of a message: the bytes that name its device. Exact bytes as published, never
// normalised.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/message.h"
#include "core/options.h"

namespace keyed_sticky {

/// The key where the rule looks for it. An empty topic level, property value or user name that is
/// there *is* a key, the empty one; nullopt means that it is not there at all: the topic has fewer
/// levels, no such property, or the publisher is not known. The first of several properties of the
/// name counts. The view is into what was passed in, and valid as long as that.
std::optional<std::string_view> ordering_key(const KeyRule& rule, const MessageView& message,
                                             const Publisher& publisher);

/// The same with Missing::whole_topic already applied: nullopt only where the rule says round_robin
/// or reject.
std::optional<std::string_view> ordering_key_or_topic(const KeyRule& rule,
                                                      const MessageView& message,
                                                      const Publisher& publisher);

/// The rule as the `group` option writes it, with every default spelled out, e.g. "key=topic:2
/// missing=whole-topic". Equal texts are equal rules, so brokers compare it (GroupFingerprint).
std::string normalised(const KeyRule& rule);

}  // namespace keyed_sticky
