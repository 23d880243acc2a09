#include "mqtt_packet.h"

#include <cstddef>

namespace keyed_sticky::bench {
namespace {

constexpr std::uint8_t receive_maximum_id = 0x21;
constexpr std::size_t longest_remaining_length = 4;

void append_byte(std::string& out, unsigned value) {
    out.push_back(static_cast<char>(value));
}

void append_u16(std::string& out, std::size_t value) {
    append_byte(out, (value >> 8U) & 0xFFU);
    append_byte(out, value & 0xFFU);
}

void append_varint(std::string& out, std::size_t value) {
    do {
        const auto low = static_cast<unsigned>(value & 0x7FU);
        value >>= 7U;
        append_byte(out, value == 0 ? low : low | 0x80U);
    } while (value != 0);
}

void append_text(std::string& out, std::string_view text) {
    append_u16(out, text.size());
    out.append(text);
}

void append_header(std::string& out, PacketType type, unsigned flags, std::size_t remaining) {
    append_byte(out, (static_cast<unsigned>(type) << 4U) | flags);
    append_varint(out, remaining);
}

/// Reads off the front of a packet's body.
class Reader {
  public:
    explicit Reader(std::string_view body) : rest_(body) {}

    std::string_view bytes(std::size_t count) {
        if (count > rest_.size()) throw ProtocolError("packet too short");
        const auto taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(bytes(1).front()); }
    std::uint16_t u16() {
        const unsigned high = byte();
        return static_cast<std::uint16_t>((high << 8U) | byte());
    }
    std::size_t varint() {
        std::size_t value = 0;
        for (unsigned shift = 0; shift < 7 * longest_remaining_length; shift += 7) {
            const std::size_t next = byte();
            value |= (next & 0x7FU) << shift;
            if ((next & 0x80U) == 0) return value;
        }
        throw ProtocolError("variable length of more than four bytes");
    }
    std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

/// Bytes of a property's value, by its identifier; variable ones are read to find out.
void skip_property_value(Reader& reader, std::uint8_t id) {
    switch (id) {
        case 0x17:
        case 0x19:
        case 0x24:
        case 0x25:
        case 0x28:
        case 0x29:
        case 0x2A:
            reader.bytes(1);
            return;
        case 0x13:
        case 0x21:
        case 0x22:
            reader.bytes(2);
            return;
        case 0x11:
        case 0x27:
            reader.bytes(4);
            return;
        case 0x12:
        case 0x15:
        case 0x16:
        case 0x1A:
        case 0x1C:
        case 0x1F:
            reader.bytes(reader.u16());
            return;
        case 0x26:
            reader.bytes(reader.u16());
            reader.bytes(reader.u16());
            return;
        default:
            throw ProtocolError("unexpected property in CONNACK");
    }
}

}  // namespace

void append_connect(std::string& out, Protocol protocol, std::string_view client_id) {
    constexpr unsigned clean_start = 0x02;
    const std::size_t properties = protocol == Protocol::v5 ? 1 : 0;
    append_header(out, PacketType::connect, 0, 10 + properties + 2 + client_id.size());
    append_text(out, "MQTT");
    append_byte(out, static_cast<unsigned>(protocol));
    append_byte(out, clean_start);
    append_u16(out, 0);
    if (protocol == Protocol::v5) append_byte(out, 0);
    append_text(out, client_id);
}

void append_subscribe(std::string& out, Protocol protocol, std::uint16_t packet_id,
                      std::string_view filter, int qos) {
    const std::size_t properties = protocol == Protocol::v5 ? 1 : 0;
    append_header(out, PacketType::subscribe, 0x02, 2 + properties + 2 + filter.size() + 1);
    append_u16(out, packet_id);
    if (protocol == Protocol::v5) append_byte(out, 0);
    append_text(out, filter);
    append_byte(out, static_cast<unsigned>(qos));
}

void append_publish(std::string& out, Protocol protocol, std::string_view topic, int qos,
                    std::uint16_t packet_id, std::string_view payload) {
    const std::size_t id_size = qos > 0 ? 2 : 0;
    const std::size_t properties = protocol == Protocol::v5 ? 1 : 0;
    append_header(out, PacketType::publish, static_cast<unsigned>(qos) << 1U,
                  2 + topic.size() + id_size + properties + payload.size());
    append_text(out, topic);
    if (qos > 0) append_u16(out, packet_id);
    if (protocol == Protocol::v5) append_byte(out, 0);
    out.append(payload);
}

void append_ack(std::string& out, PacketType type, std::uint16_t packet_id) {
    append_header(out, type, type == PacketType::pubrel ? 0x02 : 0, 2);
    append_u16(out, packet_id);
}

void append_empty(std::string& out, PacketType type) {
    append_header(out, type, 0, 0);
}

std::optional<Packet> take_packet(std::string_view& input) {
    std::size_t length = 0;
    std::size_t at = 1;
    while (true) {
        if (at > longest_remaining_length) throw ProtocolError("impossible remaining length");
        if (at >= input.size()) return std::nullopt;
        const auto next = static_cast<std::uint8_t>(input[at]);
        length |= static_cast<std::size_t>(next & 0x7FU) << (7 * (at - 1));
        ++at;
        if ((next & 0x80U) == 0) break;
    }
    if (input.size() - at < length) return std::nullopt;
    const auto first = static_cast<std::uint8_t>(input.front());
    const Packet packet{static_cast<PacketType>(first >> 4U),
                        static_cast<std::uint8_t>(first & 0x0FU), input.substr(at, length)};
    input.remove_prefix(at + length);
    return packet;
}

Publish decode_publish(const Packet& packet, Protocol protocol) {
    Reader reader(packet.body);
    Publish publish{(packet.flags >> 1U) & 0x03, 0, {}};
    reader.bytes(reader.u16());
    if (publish.qos > 0) publish.packet_id = reader.u16();
    if (protocol == Protocol::v5) reader.bytes(reader.varint());
    publish.payload = reader.rest();
    return publish;
}

Connack decode_connack(const Packet& packet, Protocol protocol) {
    Reader reader(packet.body);
    reader.byte();
    Connack connack{reader.byte(), 65535};
    if (protocol != Protocol::v5) return connack;
    Reader properties(reader.bytes(reader.varint()));
    while (!properties.rest().empty()) {
        const auto id = properties.byte();
        if (id == receive_maximum_id) {
            connack.receive_maximum = properties.u16();
        } else {
            skip_property_value(properties, id);
        }
    }
    return connack;
}

Ack decode_ack(const Packet& packet) {
    Reader reader(packet.body);
    Ack ack{reader.u16(), 0};
    if (!reader.rest().empty()) ack.reason = reader.byte();
    return ack;
}

std::uint8_t decode_suback(const Packet& packet, Protocol protocol) {
    Reader reader(packet.body);
    reader.u16();
    if (protocol == Protocol::v5) reader.bytes(reader.varint());
    return reader.byte();
}

}  // namespace keyed_sticky::bench
