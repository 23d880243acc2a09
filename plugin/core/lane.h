// A slot's queue of records: [settled, gone | in flight to the owner | held]. Two queues, one
// order: what is in flight is always older than what is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/key_table.h"
#include "core/message.h"

namespace keyed_sticky {

/// One accepted message, owned, with its place in its key's sequence.
struct Record {
    std::string text;            ///< the topic, then the payload: one block of memory for both
    std::size_t topic_size = 0;  ///< of `text`
    std::unique_ptr<MessageProperties> properties;  ///< null: none
    Qos qos = Qos::at_most_once;                    ///< as published
    TrackedKey* key = nullptr;   ///< pinned while the record is in a lane; null: no stamp
    std::uint64_t sequence = 0;  ///< meaningful with key

    MessageView view() const {
        const std::string_view all = text;
        return {all.substr(0, topic_size), all.substr(topic_size), qos, properties.get()};
    }
    /// What the bounds count: everything held for it.
    std::size_t bytes() const;
};

/// Copies a message into a record. Properties that could not be copied for lack of memory: nullptr
/// is returned.
std::unique_ptr<Record> make_record(const MessageView& message);

using RecordQueue = std::deque<std::unique_ptr<Record>>;

struct Lane {
    RecordQueue in_flight;  ///< sent to the owner (or to the one before), not settled; oldest first
    RecordQueue held;       ///< not sent yet; oldest first
    bool empty() const { return in_flight.empty() && held.empty(); }
};

/// Bounds on what all lanes of a broker hold. Records kept for redelivery may take half of them, so
/// that they never crowd out records that were not sent at all.
class HeldBudget {
  public:
    HeldBudget(std::size_t max_messages, std::size_t max_bytes)
        : max_messages_(max_messages), max_bytes_(max_bytes) {}

    /// Takes room for one more held record; false and nothing taken where there is none.
    bool take_held(std::size_t bytes) { return take(held_, bytes, max_messages_, max_bytes_); }
    /// The same for a record kept for redelivery.
    bool take_kept(std::size_t bytes) {
        return take(kept_, bytes, max_messages_ / 2, max_bytes_ / 2);
    }
    void give_back_held(std::size_t bytes) { give_back(held_, bytes); }
    void give_back_kept(std::size_t bytes) { give_back(kept_, bytes); }

    std::size_t messages() const { return held_.messages + kept_.messages; }
    std::size_t bytes() const { return held_.bytes + kept_.bytes; }

  private:
    struct Use {
        std::size_t messages = 0;
        std::size_t bytes = 0;
    };
    bool take(Use& use, std::size_t bytes, std::size_t max_messages, std::size_t max_bytes);
    static void give_back(Use& use, std::size_t bytes);

    std::size_t max_messages_;
    std::size_t max_bytes_;
    Use held_;
    Use kept_;
};

}  // namespace keyed_sticky
