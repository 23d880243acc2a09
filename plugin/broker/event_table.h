// The broker's C callbacks: one table for registering and unregistering, and the boundary no
// exception crosses.
#pragma once

#include <string>

#include "broker/compat.h"

namespace keyed_sticky {

/// What the broker tells and asks. Main thread only. Exceptions are caught by the callbacks, which
/// then log them and give the answer of an absent plugin.
class EventHandler {
  public:
    EventHandler() = default;
    EventHandler(const EventHandler&) = delete;
    EventHandler& operator=(const EventHandler&) = delete;
    virtual ~EventHandler() = default;

    /// A MOSQ_ERR_ code.
    virtual int access_check(const mosquitto_evt_acl_check& check) = 0;
    virtual void message(const mosquitto_evt_message& message) = 0;
    virtual void disconnected(const mosquitto_evt_disconnect& event) = 0;
    virtual void tick(mosquitto_evt_tick& event) = 0;
    virtual void reload() = 0;
    // 2.1 only.
    virtual void connected(mosquitto* client) = 0;
    virtual void went_offline(mosquitto* client) = 0;
    virtual void subscribed(const compat::Subscription& subscription) = 0;
    virtual void unsubscribed(const compat::Subscription& subscription) = 0;

    /// The answer to an access check that could not be decided. Must not throw.
    virtual int undecided() const noexcept = 0;
    /// Called with what went wrong. Must not throw.
    virtual void failed(const char* what) noexcept = 0;
};

/// Registers every callback of the table with handler. Empty: done; otherwise what failed, and none
/// stays registered.
std::string register_events(mosquitto_plugin_id_t* plugin, EventHandler& handler);

/// Safe to call whatever is registered.
void unregister_events(mosquitto_plugin_id_t* plugin) noexcept;

}  // namespace keyed_sticky
