// Every difference between Mosquitto 2.0 and 2.1 that this plugin knows of stands here and in
// compat.cpp.
//
// The version is that of the headers at build time. struct layouts differ between the two, so a
// plugin built for one is refused by the other at load (version_refusal). Main thread only.
#pragma once

#include <mosquitto.h>
#if __has_include(<mosquitto/broker.h>)
#include <mosquitto/broker.h>
#include <mosquitto/broker_plugin.h>
#include <mosquitto/mqtt_protocol.h>
#else
#include <mosquitto_broker.h>
#include <mosquitto_plugin.h>
#include <mqtt_protocol.h>
#endif

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"

namespace keyed_sticky::compat {

inline constexpr bool built_for_21 = LIBMOSQUITTO_VERSION_NUMBER >= 2001000;

/// 2.1 shows an access check's properties and raises SUBSCRIBE after authorisation; on 2.0 the
/// properties come from the message event, and the only sign of a subscription is its access check.
inline constexpr bool has_subscribe_event = built_for_21;
inline constexpr bool shows_properties_with_checks = built_for_21;

/// Whether the running broker sends retained messages on a share subscription, as on any
/// other: 2.0.11 does, 2.0.21 and 2.1.2 do not. The versions between are taken to be like the
/// first.
bool shares_get_retained();

/// Events that exist since 2.1 only; registering them on 2.0 fails.
struct LaterEvents {
    int connect;
    int subscribe;
    int unsubscribe;
    int client_offline;
};
std::optional<LaterEvents> later_events();

/// The answer to an access check that is not ours, as if the plugin were not loaded.
///
/// others_decide: an acl_file or another plugin decides access. Then it is always "defer": 2.1
/// takes the *last* plugin's answer where none decided, so that "ignore" after another plugin's
/// "defer" would turn its denial into permission. Otherwise 2.1 has "ignore"; 2.0 has no such
/// answer and denies what everybody defers, so permission is granted.
int not_ours(bool others_decide);

/// Properties of a message under an access check; null on 2.0.
const mosquitto_property* check_properties(const mosquitto_evt_acl_check& check);

/// One property of a PUBLISH, in a form of its own. text and name: user properties have both,
/// number is of the byte kind.
struct Property {
    int identifier = 0;
    std::uint8_t number = 0;
    std::string name;
    std::string text;
};
/// Reads the first node of the list. nullopt: a kind that no stored PUBLISH has. Throws
/// std::bad_alloc.
std::optional<Property> read_property(const mosquitto_property* node);

/// A subscription as the broker is about to make it, or the one it is about to remove.
struct Subscription {
    mosquitto* client = nullptr;
    std::string_view filter;
    Qos granted_qos = Qos::at_most_once;
    bool no_local = false;
    std::uint32_t identifier = 0;  ///< 0: none
};
/// event_data: of a SUBSCRIBE or UNSUBSCRIBE event. 2.1 only.
Subscription subscription(const void* event_data, bool subscribing);
/// event_data: of a CONNECT event. 2.1 only.
mosquitto* connected_client(const void* event_data);
/// event_data: of a CLIENT_OFFLINE event. 2.1 only.
mosquitto* offline_client(const void* event_data);

/// What a disconnect event says of why. 2.0 says nothing.
enum class DisconnectReason : std::uint8_t { unknown, said_goodbye, taken_over, other };
DisconnectReason disconnect_reason(const mosquitto_evt_disconnect& event);

/// Asks for the next tick at most this many milliseconds from now, and for one in every turn of the
/// broker's loop before that. No effect on 2.0, which ticks every 100 ms at least.
void request_tick(mosquitto_evt_tick& event, long within_ms);

/// Tells the broker the plugin's name and version, where it wants to know.
void announce(mosquitto_plugin_id_t* plugin, const char* name, const char* version);

/// "2.1.2"; of the libmosquitto in use, which comes with the broker's package.
std::string running_version();
std::string built_version();
/// Why this build cannot work with the broker it was loaded by; nullopt: it can.
std::optional<std::string> version_refusal();

}  // namespace keyed_sticky::compat
