#include "support/mqtt_packets.h"

#include <stdexcept>

namespace keyed_sticky::test {
namespace {

// Property identifiers, MQTT 5 table 2-4.
enum Identifier : std::uint8_t {
    kPayloadFormat = 1,
    kMessageExpiry = 2,
    kContentType = 3,
    kResponseTopic = 8,
    kCorrelationData = 9,
    kSubscriptionIdentifier = 11,
    kSessionExpiry = 17,
    kAssignedClientId = 18,
    kServerKeepAlive = 19,
    kAuthenticationMethod = 21,
    kAuthenticationData = 22,
    kRequestProblemInformation = 23,
    kWillDelay = 24,
    kRequestResponseInformation = 25,
    kResponseInformation = 26,
    kServerReference = 28,
    kReasonString = 31,
    kReceiveMaximum = 33,
    kTopicAliasMaximum = 34,
    kTopicAlias = 35,
    kMaximumQos = 36,
    kRetainAvailable = 37,
    kUser = 38,
    kMaximumPacketSize = 39,
    kWildcardAvailable = 40,
    kIdentifiersAvailable = 41,
    kSharedAvailable = 42,
};

void put_byte(std::string& out, unsigned value) {
    out += static_cast<char>(value & 0xffU);
}

void put_u16(std::string& out, std::size_t value) {
    put_byte(out, static_cast<unsigned>(value >> 8U));
    put_byte(out, static_cast<unsigned>(value));
}

void put_u32(std::string& out, std::uint32_t value) {
    put_u16(out, value >> 16U);
    put_u16(out, value & 0xffffU);
}

void put_variable(std::string& out, std::size_t value) {
    do {
        const auto rest = value >> 7U;
        put_byte(out, static_cast<unsigned>((value & 0x7fU) | (rest != 0 ? 0x80U : 0U)));
        value = rest;
    } while (value != 0);
}

void put_string(std::string& out, std::string_view text) {
    put_u16(out, text.size());
    out += text;
}

class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    [[nodiscard]] bool done() const { return bytes_.empty(); }
    std::string_view take(std::size_t size) {
        if (size > bytes_.size()) throw std::runtime_error("truncated MQTT packet");
        const auto result = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return result;
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
    std::uint16_t u16() {
        const unsigned high = byte();
        return static_cast<std::uint16_t>(high << 8U | byte());
    }
    std::uint32_t u32() {
        const std::uint32_t high = u16();
        return high << 16U | u16();
    }
    std::uint32_t variable() {
        std::uint32_t value = 0;
        for (unsigned shift = 0; shift < 28; shift += 7) {
            const std::uint32_t next = byte();
            value |= (next & 0x7fU) << shift;
            if ((next & 0x80U) == 0) return value;
        }
        throw std::runtime_error("malformed variable byte integer");
    }
    std::string string() { return std::string(take(u16())); }
    std::string rest() { return std::string(take(bytes_.size())); }
    Reader part(std::size_t size) { return Reader(take(size)); }

  private:
    std::string_view bytes_;
};

void read_property(Reader& in, Properties& out) {
    switch (in.byte()) {
        case kPayloadFormat:
            out.payload_format = in.byte();
            break;
        case kMessageExpiry:
            out.message_expiry = in.u32();
            break;
        case kContentType:
            out.content_type = in.string();
            break;
        case kResponseTopic:
            out.response_topic = in.string();
            break;
        case kCorrelationData:
            out.correlation_data = in.string();
            break;
        case kSubscriptionIdentifier:
            out.subscription_identifiers.push_back(in.variable());
            break;
        case kSessionExpiry:
            out.session_expiry = in.u32();
            break;
        case kAssignedClientId:
            out.assigned_client_id = in.string();
            break;
        case kServerKeepAlive:
            out.server_keep_alive = in.u16();
            break;
        case kWillDelay:
            out.will_delay = in.u32();
            break;
        case kReasonString:
            out.reason_string = in.string();
            break;
        case kReceiveMaximum:
            out.receive_maximum = in.u16();
            break;
        case kTopicAliasMaximum:
            out.topic_alias_maximum = in.u16();
            break;
        case kTopicAlias:
            out.topic_alias = in.u16();
            break;
        case kMaximumQos:
            out.maximum_qos = in.byte();
            break;
        case kRetainAvailable:
            out.retain_available = in.byte();
            break;
        case kMaximumPacketSize:
            out.maximum_packet_size = in.u32();
            break;
        case kUser: {
            auto name = in.string();
            out.user.emplace_back(std::move(name), in.string());
            break;
        }
        case kAuthenticationMethod:
        case kAuthenticationData:
        case kResponseInformation:
        case kServerReference:
            in.string();
            break;
        case kRequestProblemInformation:
        case kRequestResponseInformation:
        case kWildcardAvailable:
        case kIdentifiersAvailable:
        case kSharedAvailable:
            in.byte();
            break;
        default:
            throw std::runtime_error("unknown MQTT property");
    }
}

Properties read_properties(Reader& in) {
    Properties result;
    auto properties = in.part(in.variable());
    while (!properties.done()) read_property(properties, result);
    return result;
}

void read_publish(Reader& in, Protocol protocol, unsigned flags, Packet& out) {
    out.dup = (flags & 8U) != 0;
    out.retain = (flags & 1U) != 0;
    out.qos = static_cast<int>(flags >> 1U & 3U);
    out.topic = in.string();
    if (out.qos > 0) out.id = in.u16();
    if (protocol == Protocol::kMqtt5) out.properties = read_properties(in);
    out.payload = in.rest();
}

void read_reasons(Reader& in, Packet& out) {
    while (!in.done()) out.reasons.push_back(in.byte());
}

void read_body(Reader& in, Protocol protocol, unsigned flags, Packet& out) {
    const bool v5 = protocol == Protocol::kMqtt5;
    switch (out.type) {
        case PacketType::kConnack:
            out.session_present = (in.byte() & 1U) != 0;
            out.reasons = {in.byte()};
            if (v5 && !in.done()) out.properties = read_properties(in);
            break;
        case PacketType::kPublish:
            read_publish(in, protocol, flags, out);
            break;
        case PacketType::kPuback:
        case PacketType::kPubrec:
        case PacketType::kPubrel:
        case PacketType::kPubcomp:
            out.id = in.u16();
            out.reasons = {in.done() ? std::uint8_t{0} : in.byte()};
            if (!in.done()) out.properties = read_properties(in);
            break;
        case PacketType::kSuback:
        case PacketType::kUnsuback:
            out.id = in.u16();
            if (v5) out.properties = read_properties(in);
            read_reasons(in, out);
            break;
        case PacketType::kDisconnect:
            out.reasons = {in.done() ? std::uint8_t{0} : in.byte()};
            if (!in.done()) out.properties = read_properties(in);
            break;
        default:
            break;
    }
}

}  // namespace

std::string encode_properties(const Properties& properties) {
    std::string out;
    const auto bytes = [&](Identifier identifier, const auto& value, auto put) {
        if (!value) return;
        put_byte(out, identifier);
        put(out, *value);
    };
    bytes(kPayloadFormat, properties.payload_format, put_byte);
    bytes(kMessageExpiry, properties.message_expiry, put_u32);
    bytes(kContentType, properties.content_type, put_string);
    bytes(kResponseTopic, properties.response_topic, put_string);
    bytes(kCorrelationData, properties.correlation_data, put_string);
    for (const auto identifier : properties.subscription_identifiers) {
        put_byte(out, kSubscriptionIdentifier);
        put_variable(out, identifier);
    }
    bytes(kSessionExpiry, properties.session_expiry, put_u32);
    bytes(kAssignedClientId, properties.assigned_client_id, put_string);
    bytes(kServerKeepAlive, properties.server_keep_alive, put_u16);
    bytes(kWillDelay, properties.will_delay, put_u32);
    bytes(kReasonString, properties.reason_string, put_string);
    bytes(kReceiveMaximum, properties.receive_maximum, put_u16);
    bytes(kTopicAliasMaximum, properties.topic_alias_maximum, put_u16);
    bytes(kTopicAlias, properties.topic_alias, put_u16);
    bytes(kMaximumQos, properties.maximum_qos, put_byte);
    bytes(kRetainAvailable, properties.retain_available, put_byte);
    bytes(kMaximumPacketSize, properties.maximum_packet_size, put_u32);
    for (const auto& [name, value] : properties.user) {
        put_byte(out, kUser);
        put_string(out, name);
        put_string(out, value);
    }
    std::string result;
    put_variable(result, out.size());
    return result + out;
}

std::string encode_packet(PacketType type, std::uint8_t flags, std::string_view body) {
    std::string out;
    put_byte(out, static_cast<unsigned>(type) << 4U | flags);
    put_variable(out, body.size());
    out += body;
    return out;
}

std::string encode_connect(const ConnectOptions& options) {
    const bool v5 = options.protocol == Protocol::kMqtt5;
    std::string body;
    put_string(body, "MQTT");
    put_byte(body, static_cast<unsigned>(options.protocol));
    unsigned flags = options.clean ? 2U : 0U;
    if (options.will) {
        flags |=
            4U | static_cast<unsigned>(options.will->qos) << 3U | (options.will->retain ? 32U : 0U);
    }
    if (options.username) flags |= 128U;
    if (options.password) flags |= 64U;
    put_byte(body, flags);
    put_u16(body, options.keep_alive_s);
    if (v5) body += encode_properties(options.properties);
    put_string(body, options.client_id);
    if (options.will) {
        if (v5) body += encode_properties(options.will->properties);
        put_string(body, options.will->topic);
        put_string(body, options.will->payload);
    }
    if (options.username) put_string(body, *options.username);
    if (options.password) put_string(body, *options.password);
    return encode_packet(PacketType::kConnect, 0, body);
}

std::string encode_publish(Protocol protocol, const RawPublish& publish) {
    std::string body;
    put_string(body, publish.topic);
    if (publish.qos > 0) put_u16(body, publish.id);
    if (protocol == Protocol::kMqtt5) body += encode_properties(publish.properties);
    body += publish.payload;
    const unsigned flags = (publish.dup ? 8U : 0U) | static_cast<unsigned>(publish.qos) << 1U |
                           (publish.retain ? 1U : 0U);
    return encode_packet(PacketType::kPublish, static_cast<std::uint8_t>(flags), body);
}

std::string encode_subscribe(Protocol protocol, std::uint16_t id,
                             const std::vector<RawFilter>& filters) {
    std::string body;
    put_u16(body, id);
    if (protocol == Protocol::kMqtt5) {
        Properties properties;
        if (!filters.empty()) {
            const auto& first = filters.front().options;
            if (first.identifier) properties.subscription_identifiers = {*first.identifier};
            properties.user = first.user;
        }
        body += encode_properties(properties);
    }
    for (const auto& [filter, options] : filters) {
        put_string(body, filter);
        unsigned bits = static_cast<unsigned>(options.qos);
        if (protocol == Protocol::kMqtt5) {
            bits |= (options.no_local ? 4U : 0U) | (options.retain_as_published ? 8U : 0U) |
                    static_cast<unsigned>(options.retain_handling) << 4U;
        }
        put_byte(body, bits);
    }
    return encode_packet(PacketType::kSubscribe, 2, body);
}

std::string encode_unsubscribe(Protocol protocol, std::uint16_t id,
                               const std::vector<std::string>& filters) {
    std::string body;
    put_u16(body, id);
    if (protocol == Protocol::kMqtt5) put_byte(body, 0);
    for (const auto& filter : filters) put_string(body, filter);
    return encode_packet(PacketType::kUnsubscribe, 2, body);
}

std::string encode_ack(Protocol protocol, PacketType type, std::uint16_t id, std::uint8_t reason,
                       const Properties& properties) {
    std::string body;
    put_u16(body, id);
    const bool bare = reason == 0 && properties == Properties{};
    if (protocol == Protocol::kMqtt5 && !bare) {
        put_byte(body, reason);
        body += encode_properties(properties);
    }
    return encode_packet(type, type == PacketType::kPubrel ? 2 : 0, body);
}

std::string encode_pingreq() {
    return encode_packet(PacketType::kPingreq, 0, "");
}

std::string encode_disconnect(Protocol protocol, std::uint8_t reason,
                              const Properties& properties) {
    std::string body;
    if (protocol == Protocol::kMqtt5 && !(reason == 0 && properties == Properties{})) {
        put_byte(body, reason);
        body += encode_properties(properties);
    }
    return encode_packet(PacketType::kDisconnect, 0, body);
}

std::optional<Packet> take_packet(Protocol protocol, std::string& bytes) {
    std::size_t size = 0;
    std::size_t header = 1;
    for (unsigned shift = 0;; shift += 7, ++header) {
        if (shift == 28) throw std::runtime_error("malformed packet length");
        if (header >= bytes.size()) return std::nullopt;
        const auto next = static_cast<unsigned char>(bytes[header]);
        size |= static_cast<std::size_t>(next & 0x7fU) << shift;
        if ((next & 0x80U) == 0) break;
    }
    ++header;
    if (bytes.size() < header + size) return std::nullopt;
    const auto first = static_cast<unsigned char>(bytes[0]);
    Packet packet;
    packet.type = static_cast<PacketType>(first >> 4U);
    Reader body(std::string_view(bytes).substr(header, size));
    read_body(body, protocol, first & 0xfU, packet);
    bytes.erase(0, header + size);
    return packet;
}

}  // namespace keyed_sticky::test
