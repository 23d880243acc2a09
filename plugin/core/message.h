// A message as the core handles it. The MQTT properties stay closed to the core: the broker layer
// made them, copies them and adds the stamp to them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"

namespace keyed_sticky {

/// MQTT properties of one message. Implemented by the broker layer, which has two kinds: one that
/// borrows the broker's list during a callback, and one that owns a copy.
class MessageProperties {
  public:
    MessageProperties() = default;
    MessageProperties(const MessageProperties&) = delete;
    MessageProperties& operator=(const MessageProperties&) = delete;
    virtual ~MessageProperties() = default;

    /// A deep copy that outlives the original, without any "ks-" property; null if memory ran out.
    virtual std::unique_ptr<MessageProperties> clone() const = 0;
    /// Value of the first user property of that exact name; valid as long as this object.
    virtual std::optional<std::string_view> user_property(std::string_view name) const = 0;
    /// Bytes held, for the bounds on held records.
    virtual std::size_t bytes() const = 0;
};

/// Who published a message, as far as the broker tells: wills and other plugins' messages may have
/// neither.
struct Publisher {
    std::optional<std::string_view> client_id;
    std::optional<std::string_view> username;
};

/// A message that somebody else owns, valid during one call.
struct MessageView {
    std::string_view topic;
    std::string_view payload;                       ///< any bytes, may be empty
    Qos qos = Qos::at_most_once;                    ///< as published
    const MessageProperties* properties = nullptr;  ///< null: none
};

}  // namespace keyed_sticky
