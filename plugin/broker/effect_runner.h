// Hands the core's deliveries to the broker.
#pragma once

#include <string>
#include <string_view>

#include "broker/main_thread.h"
#include "core/effect.h"

namespace keyed_sticky {

/// Publishes straight to one client: no access check, no subscription, no retain flag. The broker
/// sends what it was handed in that order, in the next turn of its loop. Main thread only.
class EffectRunner final : public EffectSink {
  public:
    /// The delivery's properties must be null or of a kind from message_properties.h.
    bool deliver(const Delivery& delivery) override;
    void log(LogLevel level, std::string_view line) override;

  private:
    MainThread thread_;
    // Zero-terminated copies for the broker's functions, kept so that a delivery allocates nothing
    // for them.
    std::string client_id_;
    std::string topic_;
    std::string key_;
};

}  // namespace keyed_sticky
