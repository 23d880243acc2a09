// Just enough MQTT 3.1.1 and 5 for a load generator: encoders append to a byte string, the decoder
// takes whole packets off the front of one. No I/O, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace keyed_sticky::bench {

enum class Protocol : std::uint8_t { v311 = 4, v5 = 5 };  ///< the protocol level byte of CONNECT

enum class PacketType : std::uint8_t {
    connect = 1,
    connack = 2,
    publish = 3,
    puback = 4,
    pubrec = 5,
    pubrel = 6,
    pubcomp = 7,
    subscribe = 8,
    suback = 9,
    pingreq = 12,
    pingresp = 13,
    disconnect = 14,
};

/// The peer sent bytes that are not MQTT, or that this decoder has no use for.
struct ProtocolError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One packet. `body` (all after the fixed header) points into the input it was taken from.
struct Packet {
    PacketType type;
    std::uint8_t flags;
    std::string_view body;
};

struct Publish {
    int qos;
    std::uint16_t packet_id;  ///< 0 for QoS 0
    std::string_view payload;
};

struct Connack {
    std::uint8_t reason;            ///< 0: accepted
    std::uint16_t receive_maximum;  ///< 65535 where the broker names none
};

struct Ack {
    std::uint16_t packet_id;
    std::uint8_t reason;  ///< 0 where absent
};

/// Clean start, no keep-alive, session ends with the connection.
void append_connect(std::string& out, Protocol protocol, std::string_view client_id);
void append_subscribe(std::string& out, Protocol protocol, std::uint16_t packet_id,
                      std::string_view filter, int qos);
/// `packet_id` is left out for QoS 0. Precondition: topic of at most 65 535 bytes.
void append_publish(std::string& out, Protocol protocol, std::string_view topic, int qos,
                    std::uint16_t packet_id, std::string_view payload);
/// PUBACK, PUBREC, PUBREL or PUBCOMP with reason 0.
void append_ack(std::string& out, PacketType type, std::uint16_t packet_id);
/// PINGREQ or DISCONNECT.
void append_empty(std::string& out, PacketType type);

/// Takes one whole packet off the front of `input`; nothing (and `input` unchanged) if it is not
/// all there yet. Throws ProtocolError on an impossible length.
std::optional<Packet> take_packet(std::string_view& input);

/// Each throws ProtocolError if the body is too short for what it says.
Publish decode_publish(const Packet& packet, Protocol protocol);
Connack decode_connack(const Packet& packet, Protocol protocol);
Ack decode_ack(const Packet& packet);
/// Reason of a SUBACK for one filter: the granted QoS, or 0x80 and up where refused.
std::uint8_t decode_suback(const Packet& packet, Protocol protocol);

}  // namespace keyed_sticky::bench
