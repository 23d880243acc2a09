#include "support/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace keyed_sticky::test {
namespace {

using Clock = std::chrono::steady_clock;

// RFC 6455 section 5.2.
constexpr unsigned kFinalBinary = 0x82;
constexpr unsigned kOpcodeClose = 0x8;
constexpr unsigned kMasked = 0x80;

// One masked binary frame. The mask is constant: it protects proxies, of which there are none.
std::string websocket_frame(std::string_view payload) {
    constexpr std::array<unsigned char, 4> kMask{0x12, 0x34, 0x56, 0x78};
    std::string out;
    const auto put = [&out](std::uint64_t value, int bytes) {
        for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
            out += static_cast<char>(value >> shift & 0xffU);
    };
    put(kFinalBinary, 1);
    if (payload.size() < 126) {
        put(kMasked | payload.size(), 1);
    } else if (payload.size() <= 0xffff) {
        put(kMasked | 126U, 1);
        put(payload.size(), 2);
    } else {
        put(kMasked | 127U, 1);
        put(payload.size(), 8);
    }
    for (const auto byte : kMask) out += static_cast<char>(byte);
    for (std::size_t i = 0; i < payload.size(); ++i) {
        out += static_cast<char>(static_cast<unsigned char>(payload[i]) ^ kMask[i % 4]);
    }
    return out;
}

std::uint16_t port_of(const Broker& broker, Transport transport) {
    return transport == Transport::kTcp ? broker.port() : broker.websocket_port();
}

}  // namespace

RawClient::RawClient(const Broker& broker, Transport transport)
    : RawClient(port_of(broker, transport), transport) {}

RawClient::RawClient(std::uint16_t port, Transport transport)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), transport_(transport) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const std::string reason = std::strerror(errno);
        ::close(fd_);
        throw std::runtime_error("cannot connect to port " + std::to_string(port) + ": " + reason);
    }
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (transport_ == Transport::kWebsocket) {
        try {
            upgrade();
        } catch (...) {
            close();
            throw;
        }
    }
}

RawClient::~RawClient() {
    close();
}

RawClient::RawClient(RawClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      transport_(other.transport_),
      protocol_(other.protocol_),
      ended_(std::exchange(other.ended_, true)),
      last_id_(other.last_id_),
      received_(std::move(other.received_)),
      bytes_(std::move(other.bytes_)),
      inbox_(std::move(other.inbox_)) {}

RawClient& RawClient::operator=(RawClient&& other) noexcept {
    if (this != &other) {
        close();
        fd_ = std::exchange(other.fd_, -1);
        transport_ = other.transport_;
        protocol_ = other.protocol_;
        ended_ = std::exchange(other.ended_, true);
        last_id_ = other.last_id_;
        received_ = std::move(other.received_);
        bytes_ = std::move(other.bytes_);
        inbox_ = std::move(other.inbox_);
    }
    return *this;
}

void RawClient::upgrade() {
    write_all(
        "GET /mqtt HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mqtt\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n");
    const auto end = Clock::now() + kDeadline;
    while (received_.find("\r\n\r\n") == std::string::npos) {
        if (!read_more(end)) throw std::runtime_error("no answer to the websocket upgrade");
    }
    const auto header_end = received_.find("\r\n\r\n");
    if (!received_.starts_with("HTTP/1.1 101")) {
        throw std::runtime_error("websocket upgrade refused: " + received_.substr(0, header_end));
    }
    received_.erase(0, header_end + 4);
}

void RawClient::write_all(std::string_view bytes) const {
    while (!bytes.empty()) {
        const auto written = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0)
            throw std::runtime_error(std::string("cannot send: ") + std::strerror(errno));
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void RawClient::send_bytes(std::string_view bytes) {
    if (transport_ == Transport::kWebsocket) {
        write_all(websocket_frame(bytes));
    } else {
        write_all(bytes);
    }
}

bool RawClient::read_more(Clock::time_point end) {
    if (ended_ || fd_ < 0) return false;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd poll_fd{fd_, POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, std::max<int>(0, static_cast<int>(left.count())));
    if (ready <= 0) return false;
    std::array<char, 65536> buffer{};
    const auto size = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (size <= 0) {
        ended_ = true;
        return false;
    }
    received_.append(buffer.data(), static_cast<std::size_t>(size));
    return true;
}

void RawClient::take_frames() {
    if (transport_ == Transport::kTcp) {
        bytes_ += std::exchange(received_, {});
        return;
    }
    const auto at = [this](std::size_t i) { return static_cast<unsigned char>(received_[i]); };
    while (received_.size() >= 2) {
        const unsigned opcode = at(0) & 0xfU;
        std::size_t size = at(1) & 0x7fU;
        const std::size_t length_bytes = size == 126 ? 2 : size == 127 ? 8 : 0;
        if (received_.size() < 2 + length_bytes) return;
        if (length_bytes > 0) {
            size = 0;
            for (std::size_t i = 0; i < length_bytes; ++i) size = size << 8U | at(2 + i);
        }
        if (received_.size() < 2 + length_bytes + size) return;
        if (opcode == kOpcodeClose) ended_ = true;
        if (opcode <= 2) bytes_.append(received_, 2 + length_bytes, size);
        received_.erase(0, 2 + length_bytes + size);
    }
}

std::optional<Packet> RawClient::next_from_socket(Clock::time_point end) {
    for (;;) {
        take_frames();
        if (auto packet = take_packet(protocol_, bytes_)) return packet;
        if (!read_more(end)) return std::nullopt;
    }
}

std::optional<Packet> RawClient::read_packet(Duration deadline) {
    if (!inbox_.empty()) {
        Packet packet = std::move(inbox_.front());
        inbox_.pop_front();
        return packet;
    }
    return next_from_socket(Clock::now() + deadline);
}

Packet RawClient::expect(PacketType type, Duration deadline) {
    auto packet = read_packet(deadline);
    if (!packet) {
        throw std::runtime_error(
            (ended_ ? "connection closed, expected packet type " : "no packet, expected type ") +
            std::to_string(static_cast<int>(type)));
    }
    if (packet->type != type) {
        throw std::runtime_error("packet of type " +
                                 std::to_string(static_cast<int>(packet->type)) + ", expected " +
                                 std::to_string(static_cast<int>(type)));
    }
    return *std::move(packet);
}

Packet RawClient::wait_for(PacketType type, std::optional<std::uint16_t> id, Duration deadline) {
    const auto wanted = [&](const Packet& packet) {
        return packet.type == type && (!id || packet.id == *id);
    };
    const auto found = std::find_if(inbox_.begin(), inbox_.end(), wanted);
    if (found != inbox_.end()) {
        Packet packet = std::move(*found);
        inbox_.erase(found);
        return packet;
    }
    const auto end = Clock::now() + deadline;
    while (auto packet = next_from_socket(end)) {
        if (wanted(*packet)) return *std::move(packet);
        inbox_.push_back(*std::move(packet));
    }
    throw std::runtime_error((ended_ ? "connection closed while waiting for packet type "
                                     : "deadline passed waiting for packet type ") +
                             std::to_string(static_cast<int>(type)));
}

std::vector<Packet> RawClient::read_publishes(std::size_t count, Duration deadline) {
    const auto end = Clock::now() + deadline;
    std::vector<Packet> result;
    while (result.size() < count) {
        const auto left = std::chrono::ceil<Duration>(end - Clock::now());
        result.push_back(wait_for(PacketType::kPublish, std::nullopt, std::max(left, Duration{0})));
    }
    return result;
}

std::vector<Packet> RawClient::barrier(Duration deadline) {
    for (int round = 0; round < 2; ++round) {
        send_pingreq();
        wait_for(PacketType::kPingresp, std::nullopt, deadline);
    }
    const auto packets = std::exchange(inbox_, {});
    return {packets.begin(), packets.end()};
}

bool RawClient::wait_closed(Duration deadline) {
    const auto end = Clock::now() + deadline;
    while (auto packet = next_from_socket(end)) inbox_.push_back(*std::move(packet));
    return ended_;
}

Packet RawClient::connect(const ConnectOptions& options) {
    send_connect(options);
    return wait_for(PacketType::kConnack);
}

void RawClient::send_connect(const ConnectOptions& options) {
    protocol_ = options.protocol;
    send_bytes(encode_connect(options));
}

Packet RawClient::subscribe(const std::string& filter, const SubscribeOptions& options) {
    return subscribe({RawFilter{filter, options}});
}

Packet RawClient::subscribe(const std::vector<RawFilter>& filters) {
    const auto id = next_id();
    send_bytes(encode_subscribe(protocol_, id, filters));
    return wait_for(PacketType::kSuback, id);
}

Packet RawClient::unsubscribe(const std::string& filter) {
    const auto id = next_id();
    send_bytes(encode_unsubscribe(protocol_, id, {filter}));
    return wait_for(PacketType::kUnsuback, id);
}

std::uint16_t RawClient::publish(RawPublish publish) {
    if (publish.qos > 0 && publish.id == 0) publish.id = next_id();
    send_bytes(encode_publish(protocol_, publish));
    return publish.id;
}

Packet RawClient::publish_and_wait(RawPublish publish) {
    const int qos = publish.qos;
    if (qos == 0) throw std::logic_error("QoS 0 has no acknowledgement");
    const auto id = this->publish(std::move(publish));
    if (qos == 1) return wait_for(PacketType::kPuback, id);
    Packet received = wait_for(PacketType::kPubrec, id);
    if (received.reason() >= 0x80) return received;
    send_ack(PacketType::kPubrel, id);
    return wait_for(PacketType::kPubcomp, id);
}

void RawClient::send_ack(PacketType type, std::uint16_t id, std::uint8_t reason,
                         const Properties& properties) {
    send_bytes(encode_ack(protocol_, type, id, reason, properties));
}

void RawClient::send_pingreq() {
    send_bytes(encode_pingreq());
}

void RawClient::send_disconnect(std::uint8_t reason, const Properties& properties) {
    send_bytes(encode_disconnect(protocol_, reason, properties));
}

void RawClient::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    ended_ = true;
}

void RawClient::reset() {
    const linger hard{1, 0};
    if (fd_ >= 0) ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close();
}

std::uint16_t RawClient::next_id() {
    if (++last_id_ == 0) ++last_id_;
    return last_id_;
}

void RawClient::set_receive_buffer(int bytes) {
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

}  // namespace keyed_sticky::test
