#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace keyed_sticky::test {

enum class Protocol : std::uint8_t { kMqtt311 = 4, kMqtt5 = 5 };

using UserProperty = std::pair<std::string, std::string>;
using UserProperties = std::vector<UserProperty>;

// MQTT 5 properties of any packet (MQTT 5 section 2.2.2.2), each absent unless set. Times are
// seconds, as on the wire. Repeatable ones keep their order. 3.1.1 has none: there they are not
// sent.
struct Properties {
    std::optional<std::uint8_t> payload_format = {};
    std::optional<std::uint32_t> message_expiry = {};
    std::optional<std::string> content_type = {};
    std::optional<std::string> response_topic = {};
    std::optional<std::string> correlation_data = {};
    std::vector<std::uint32_t> subscription_identifiers = {};
    std::optional<std::uint32_t> session_expiry = {};
    std::optional<std::string> assigned_client_id = {};
    std::optional<std::uint16_t> server_keep_alive = {};
    std::optional<std::uint32_t> will_delay = {};
    std::optional<std::string> reason_string = {};
    std::optional<std::uint16_t> receive_maximum = {};
    std::optional<std::uint16_t> topic_alias_maximum = {};
    std::optional<std::uint16_t> topic_alias = {};
    std::optional<std::uint8_t> maximum_qos = {};
    std::optional<std::uint8_t> retain_available = {};
    std::optional<std::uint32_t> maximum_packet_size = {};
    UserProperties user = {};

    // Value of the first user property of that name.
    [[nodiscard]] std::optional<std::string> user_property(const std::string& name) const {
        for (const auto& [key, value] : user) {
            if (key == name) return value;
        }
        return std::nullopt;
    }
    friend bool operator==(const Properties&, const Properties&) = default;
};

struct Will {
    std::string topic = {};
    std::string payload = {};
    int qos = 0;
    bool retain = false;
    Properties properties = {};  // will_delay among them
};

struct ConnectOptions {
    std::string client_id = {};  // empty: the broker chooses one
    Protocol protocol = Protocol::kMqtt5;
    bool clean = true;  // clean start, or clean session in 3.1.1
    std::uint16_t keep_alive_s = 60;
    std::optional<std::string> username = {};
    std::optional<std::string> password = {};
    std::optional<Will> will = {};
    Properties properties = {};  // session_expiry, receive_maximum, maximum_packet_size, user, …
};

struct SubscribeOptions {
    int qos = 0;
    bool no_local = false;
    bool retain_as_published = false;
    int retain_handling = 0;  // 0 send retained, 1 only for a new subscription, 2 never
    std::optional<std::uint32_t> identifier = {};
    UserProperties user = {};
};

struct PublishOptions {
    int qos = 0;
    bool retain = false;
    Properties properties = {};
};

}  // namespace keyed_sticky::test
