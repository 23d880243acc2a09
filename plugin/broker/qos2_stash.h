// What the message event of a QoS 2 PUBLISH said, kept until the broker dispatches the message at
// PUBREL.
//
// The only link between the two is the address of the topic, which stays the same. An entry may be
// left over: a repeated PUBLISH is stored by the broker once but announced each time, and a session
// may end before its PUBREL. So the number and the size of the entries are bounded, the oldest
// going first, and topic text and payload are compared too. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/message.h"

namespace keyed_sticky {

/// Where the broker keeps a message. Addresses, compared and never read.
struct MessageAddress {
    const void* topic = nullptr;
    const void* payload = nullptr;
    std::size_t payload_bytes = 0;
    bool operator==(const MessageAddress&) const = default;
};

struct StashedPublish {
    MessageAddress address;
    std::string topic;
    std::optional<std::string> client_id;
    std::optional<std::string> username;
    std::unique_ptr<MessageProperties>
        properties;  ///< null: none, or shown by the broker at the dispatch
};

class Qos2Stash {
  public:
    Qos2Stash(std::size_t max_entries, std::size_t max_bytes)
        : max_entries_(max_entries), max_bytes_(max_bytes) {}

    /// Replaces what was known of that topic address.
    void put(StashedPublish publish);
    /// Null: not the address of a stashed publish, or of another message by now. Valid until the
    /// next change.
    const StashedPublish* find(const MessageAddress& address, std::string_view topic) const;
    /// The memory at that topic address holds another message now, or the message is dispatched.
    void erase(const void* topic_address);
    /// The client's session is over: its unfinished messages are gone.
    void erase_client(std::string_view client_id);

    std::size_t size() const { return entries_.size(); }
    std::size_t bytes() const { return bytes_; }
    /// Entries that had to go for the bounds.
    std::uint64_t evicted() const { return evicted_; }

  private:
    using Entries = std::list<StashedPublish>;  // oldest first

    void remove(Entries::iterator entry);

    std::size_t max_entries_;
    std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    std::uint64_t evicted_ = 0;
    Entries entries_;
    std::unordered_map<const void*, Entries::iterator> by_topic_;
};

}  // namespace keyed_sticky
