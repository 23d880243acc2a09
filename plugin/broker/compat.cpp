#include "broker/compat.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace keyed_sticky::compat {

namespace {

std::string version_text(int major, int minor, int revision) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(revision);
}

enum class PropertyKind : std::uint8_t { byte, text, binary, pair, other };

PropertyKind kind_of(int identifier) {
    switch (identifier) {
        case MQTT_PROP_PAYLOAD_FORMAT_INDICATOR:
            return PropertyKind::byte;
        case MQTT_PROP_CONTENT_TYPE:
        case MQTT_PROP_RESPONSE_TOPIC:
            return PropertyKind::text;
        case MQTT_PROP_CORRELATION_DATA:
            return PropertyKind::binary;
        case MQTT_PROP_USER_PROPERTY:
            return PropertyKind::pair;
        default:
            return PropertyKind::other;
    }
}

}  // namespace

#if LIBMOSQUITTO_VERSION_NUMBER >= 2001000

std::optional<LaterEvents> later_events() {
    return LaterEvents{MOSQ_EVT_CONNECT, MOSQ_EVT_SUBSCRIBE, MOSQ_EVT_UNSUBSCRIBE,
                       MOSQ_EVT_CLIENT_OFFLINE};
}

int not_ours(bool others_decide) {
    return others_decide ? MOSQ_ERR_PLUGIN_DEFER : MOSQ_ERR_PLUGIN_IGNORE;
}

const mosquitto_property* check_properties(const mosquitto_evt_acl_check& check) {
    return check.properties;
}

std::optional<Property> read_property(const mosquitto_property* node) {
    Property property;
    property.identifier = mosquitto_property_identifier(node);
    const auto text = [node] {
        const char* value = mosquitto_property_string_value(node);
        return value == nullptr ? std::string{} : std::string{value};
    };
    switch (kind_of(property.identifier)) {
        case PropertyKind::byte:
            property.number = mosquitto_property_byte_value(node);
            break;
        case PropertyKind::text:
            property.text = text();
            break;
        case PropertyKind::binary: {
            const void* value = mosquitto_property_binary_value(node);
            const std::size_t length = mosquitto_property_binary_value_length(node);
            if (value != nullptr) {
                property.text.assign(static_cast<const char*>(value), length);
            }
            break;
        }
        case PropertyKind::pair: {
            const char* name = mosquitto_property_string_name(node);
            property.name = name == nullptr ? "" : name;
            property.text = text();
            break;
        }
        case PropertyKind::other:
            return std::nullopt;
    }
    return property;
}

Subscription subscription(const void* event_data, bool subscribing) {
    // The structs for both events are laid out alike, but are two types.
    const auto convert = [](const auto& event) {
        const auto options = event.data.options;
        return Subscription{event.client, event.data.topic_filter,
                            static_cast<Qos>(options & 0x03U),
                            (options & MQTT_SUB_OPT_NO_LOCAL) != 0, event.data.identifier};
    };
    return subscribing ? convert(*static_cast<const mosquitto_evt_subscribe*>(event_data))
                       : convert(*static_cast<const mosquitto_evt_unsubscribe*>(event_data));
}

mosquitto* connected_client(const void* event_data) {
    return static_cast<const mosquitto_evt_connect*>(event_data)->client;
}

mosquitto* offline_client(const void* event_data) {
    return static_cast<const mosquitto_evt_client_offline*>(event_data)->client;
}

DisconnectReason disconnect_reason(const mosquitto_evt_disconnect& event) {
    switch (event.reason) {
        case MOSQ_ERR_SUCCESS:
            return DisconnectReason::said_goodbye;
        case MOSQ_ERR_SESSION_TAKEN_OVER:
            return DisconnectReason::taken_over;
        default:
            return DisconnectReason::other;
    }
}

void request_tick(mosquitto_evt_tick& event, long within_ms) {
    event.next_s = 0;
    event.next_ms = within_ms;
    // The broker adds next_* to this time to know when it may tick again, and a turn of its loop
    // without a tick forgets the wake-up asked for above. A time in the past makes it tick, and
    // renew the wake-up, in every turn.
    event.now_s = 0;
    event.now_ns = 0;
}

void announce(mosquitto_plugin_id_t* plugin, const char* name, const char* version) {
    mosquitto_plugin_set_info(plugin, name, version);
}

#else

std::optional<LaterEvents> later_events() {
    return std::nullopt;
}

int not_ours(bool others_decide) {
    return others_decide ? MOSQ_ERR_PLUGIN_DEFER : MOSQ_ERR_SUCCESS;
}

const mosquitto_property* check_properties(const mosquitto_evt_acl_check& /*check*/) {
    return nullptr;
}

namespace {

using FreeFunction = void (*)(void*);

/// Frees what the property functions return. Some builds of the broker export them, and then they
/// count that memory as the broker's; otherwise they are those of libmosquitto, and it is plain
/// malloc.
FreeFunction matching_free() {
    static const FreeFunction chosen = [] {
        void* const broker_free = dlsym(RTLD_DEFAULT, "mosquitto_free");
        void* const reader = reinterpret_cast<void*>(&mosquitto_property_read_string_pair);
        Dl_info of_free{};
        Dl_info of_reader{};
        const bool same = broker_free != nullptr && dladdr(broker_free, &of_free) != 0 &&
                          dladdr(reader, &of_reader) != 0 &&
                          of_free.dli_fbase == of_reader.dli_fbase;
        return same ? reinterpret_cast<FreeFunction>(broker_free) : &std::free;
    }();
    return chosen;
}

struct Free {
    void operator()(void* memory) const { matching_free()(memory); }
};
template <typename T>
using FromLibrary = std::unique_ptr<T, Free>;

/// copy: as a property function returned it, null where memory ran out.
void take(char* copy, std::string& into) {
    const FromLibrary<char> owned{copy};
    if (!owned) {
        throw std::bad_alloc{};
    }
    into = owned.get();
}

}  // namespace

std::optional<Property> read_property(const mosquitto_property* node) {
    Property property;
    const int identifier = mosquitto_property_identifier(node);
    property.identifier = identifier;
    switch (kind_of(identifier)) {
        case PropertyKind::byte:
            mosquitto_property_read_byte(node, identifier, &property.number, false);
            break;
        case PropertyKind::text: {
            char* text = nullptr;
            mosquitto_property_read_string(node, identifier, &text, false);
            take(text, property.text);
            break;
        }
        case PropertyKind::binary: {
            void* data = nullptr;
            std::uint16_t length = 0;
            mosquitto_property_read_binary(node, identifier, &data, &length, false);
            const FromLibrary<void> owned{data};
            if (!owned && length > 0) {
                throw std::bad_alloc{};
            }
            property.text.assign(static_cast<const char*>(owned.get()), length);
            break;
        }
        case PropertyKind::pair: {
            char* name = nullptr;
            char* text = nullptr;
            mosquitto_property_read_string_pair(node, identifier, &name, &text, false);
            const FromLibrary<char> owned_text{text};
            take(name, property.name);
            if (!owned_text) {
                throw std::bad_alloc{};
            }
            property.text = owned_text.get();
            break;
        }
        case PropertyKind::other:
            return std::nullopt;
    }
    return property;
}

Subscription subscription(const void* /*event_data*/, bool /*subscribing*/) {
    return {};
}
mosquitto* connected_client(const void* /*event_data*/) {
    return nullptr;
}
mosquitto* offline_client(const void* /*event_data*/) {
    return nullptr;
}

DisconnectReason disconnect_reason(const mosquitto_evt_disconnect& /*event*/) {
    return DisconnectReason::unknown;
}

void request_tick(mosquitto_evt_tick& /*event*/, long /*within_ms*/) {}
void announce(mosquitto_plugin_id_t* /*plugin*/, const char* /*name*/, const char* /*version*/) {}

#endif

bool shares_get_retained() {
    int minor = 0;
    int revision = 0;
    mosquitto_lib_version(nullptr, &minor, &revision);
    return minor == 0 && revision < 21;
}

std::string running_version() {
    int major = 0;
    int minor = 0;
    int revision = 0;
    mosquitto_lib_version(&major, &minor, &revision);
    return version_text(major, minor, revision);
}

std::string built_version() {
    return version_text(LIBMOSQUITTO_MAJOR, LIBMOSQUITTO_MINOR, LIBMOSQUITTO_REVISION);
}

std::optional<std::string> version_refusal() {
    // The library is the one this plugin was linked with, and may be another than the broker's: ask
    // the broker too. It has exported this name since 2.1.
    const bool broker_is_21 = dlsym(RTLD_DEFAULT, "mosquitto_plugin_set_info") != nullptr;
    int major = 0;
    int minor = 0;
    mosquitto_lib_version(&major, &minor, nullptr);
    const bool library_is_21 = minor >= 1;
    if (major == LIBMOSQUITTO_MAJOR && library_is_21 == built_for_21 &&
        broker_is_21 == built_for_21) {
        return std::nullopt;
    }
    return "this build is for Mosquitto " + built_version() + ", the broker is " +
           (broker_is_21 ? "2.1 or later" : "2.0") + " and its library is " + running_version() +
           ": build the plugin against the headers of the broker in use";
}

}  // namespace keyed_sticky::compat
