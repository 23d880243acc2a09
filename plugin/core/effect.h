// What the core asks of the world. The broker layer implements EffectSink; tests record it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.h"
#include "core/message.h"

namespace keyed_sticky {

/// Why a slot changed its owner. The names are those of the log, the stamp and Redis.
enum class HandoverCause : std::uint8_t {
    first_use,      ///< the slot had no owner yet
    unsubscribed,   ///< the owner left the group by UNSUBSCRIBE
    disconnected,   ///< the owner's session ended by its own DISCONNECT (2.1 only: 2.0 cannot tell)
    lease_expired,  ///< the owner's connection was lost and it did not return within its lease
    rebalanced,     ///< another member joined and took its fair share
};

std::string_view to_string(HandoverCause cause);

/// Stamp of one delivery, see include/keyed_sticky/stamp.h for what each field promises.
struct DeliveryStamp {
    std::string_view key;
    Epoch epoch;
    std::uint64_t generation = 0;
    std::uint64_t sequence = 0;
    bool redelivery = false;
    std::optional<HandoverCause> handover;  ///< set on the first record after a change of owner
    Epoch previous_epoch;                   ///< meaningful with handover
};

/// One record on its way to one member. All views are valid during the call only.
struct Delivery {
    std::string_view client_id;
    MessageView message;  ///< qos: already the smaller of published and granted
    std::uint32_t subscription_identifier = 0;  ///< 0: none
    const DeliveryStamp* stamp =
        nullptr;  ///< null: the member gets none (MQTT 3.1.1, or stamping is off)
};

enum class LogLevel : std::uint8_t { debug, info, notice, warning, error };

/// Called on the broker's main thread, from within a call to the core. An implementation must not
/// call back into it.
class EffectSink {
  public:
    EffectSink() = default;
    EffectSink(const EffectSink&) = delete;
    EffectSink& operator=(const EffectSink&) = delete;
    virtual ~EffectSink() = default;

    /// Hands one record to the broker, in the order of the calls. Copies what it needs.
    /// False: the broker did not take it (out of memory); the record counts as not sent.
    virtual bool deliver(const Delivery& delivery) = 0;

    /// One line for the broker's log: the event first, then key=value. Never a payload.
    virtual void log(LogLevel level, std::string_view line) = 0;
};

}  // namespace keyed_sticky
