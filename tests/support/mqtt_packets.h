#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/mqtt_types.h"

namespace keyed_sticky::test {

enum class PacketType : std::uint8_t {
    kConnect = 1,
    kConnack,
    kPublish,
    kPuback,
    kPubrec,
    kPubrel,
    kPubcomp,
    kSubscribe,
    kSuback,
    kUnsubscribe,
    kUnsuback,
    kPingreq,
    kPingresp,
    kDisconnect,
    kAuth,
};

// A packet as a broker sends it, taken apart. Fields that the packet does not have keep their
// defaults.
struct Packet {
    PacketType type = PacketType::kPingresp;
    bool dup = false;
    bool retain = false;
    int qos = 0;
    std::string topic = {};
    std::string payload = {};
    std::uint16_t id = 0;
    bool session_present = false;
    // SUBACK, UNSUBACK: one for each filter. CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP, DISCONNECT:
    // one; 0 where left out.
    std::vector<std::uint8_t> reasons = {};
    Properties properties = {};

    // The first reason, 0 where there is none.
    [[nodiscard]] std::uint8_t reason() const {
        return reasons.empty() ? std::uint8_t{0} : reasons.front();
    }
};

struct RawPublish {
    std::string topic = {};
    std::string payload = {};
    int qos = 0;
    bool retain = false;
    bool dup = false;
    std::uint16_t id = 0;  // sent where qos > 0
    Properties properties = {};
};

struct RawFilter {
    std::string filter = {};
    SubscribeOptions options = {};  // identifier and user are taken from the first of a SUBSCRIBE
};

// The bytes of one packet each, to be joined for a burst. Nothing is checked: what a test wants to
// send wrong, it can.
std::string encode_connect(const ConnectOptions& options);
std::string encode_publish(Protocol protocol, const RawPublish& publish);
std::string encode_subscribe(Protocol protocol, std::uint16_t id,
                             const std::vector<RawFilter>& filters);
std::string encode_unsubscribe(Protocol protocol, std::uint16_t id,
                               const std::vector<std::string>& filters);
// PUBACK, PUBREC, PUBREL, PUBCOMP. In MQTT 5 reason and properties are left out where both are
// empty; in 3.1.1 always.
std::string encode_ack(Protocol protocol, PacketType type, std::uint16_t id,
                       std::uint8_t reason = 0, const Properties& properties = {});
std::string encode_pingreq();
std::string encode_disconnect(Protocol protocol, std::uint8_t reason = 0,
                              const Properties& properties = {});

// The fixed header and body of any packet: for what has no function above.
std::string encode_packet(PacketType type, std::uint8_t flags, std::string_view body);
// Property length and properties.
std::string encode_properties(const Properties& properties);

// Takes one whole packet off the front of `bytes`; nothing, and `bytes` unchanged, where it is not
// all there yet. Throws std::runtime_error where the bytes are no MQTT packet.
std::optional<Packet> take_packet(Protocol protocol, std::string& bytes);

}  // namespace keyed_sticky::test
