#include "connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace keyed_sticky::bench {
namespace {

constexpr std::size_t input_size = 256UL * 1024;
constexpr timeval handshake_limit{.tv_sec = 5, .tv_usec = 0};

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Connection::Connection(std::string client_id, Protocol protocol)
    : client_id_(std::move(client_id)), protocol_(protocol), in_(input_size, '\0') {}

Connection::~Connection() {
    if (fd_ >= 0) close(fd_);
}

Connection::Connection(Connection&& other) noexcept
    : client_id_(std::move(other.client_id_)),
      protocol_(other.protocol_),
      receive_maximum_(other.receive_maximum_),
      fd_(std::exchange(other.fd_, -1)),
      out_(std::move(other.out_)),
      sent_(other.sent_),
      in_(std::move(other.in_)),
      begin_(other.begin_),
      end_(other.end_) {}

void Connection::connect(std::uint16_t port) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0) fail("socket");
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &handshake_limit, sizeof handshake_limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        fail("connect " + client_id_);
    }
    append_connect(out_, protocol_, client_id_);
    send_all();
    const auto connack = decode_connack(wait_for(PacketType::connack), protocol_);
    if (connack.reason != 0) {
        throw ProtocolError(client_id_ + ": refused, reason " + std::to_string(connack.reason));
    }
    receive_maximum_ = connack.receive_maximum;
}

void Connection::subscribe(std::string_view filter, int qos) {
    append_subscribe(out_, protocol_, 1, filter, qos);
    send_all();
    const auto granted = decode_suback(wait_for(PacketType::suback), protocol_);
    if (granted != qos) {
        throw ProtocolError(client_id_ + ": subscription answered " + std::to_string(granted));
    }
}

void Connection::start() {
    const int flags = fcntl(fd_, F_GETFL);
    if (flags < 0 || fcntl(fd_, F_SETFL, flags | O_NONBLOCK) != 0) fail("fcntl " + client_id_);
}

bool Connection::flush() {
    while (sent_ < out_.size()) {
        const auto count = send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
        if (count < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
            fail("send " + client_id_);
        }
        sent_ += static_cast<std::size_t>(count);
    }
    out_.clear();
    sent_ = 0;
    return true;
}

std::string_view Connection::receive() {
    if (begin_ > 0) {
        std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == in_.size()) in_.resize(2 * in_.size());
    const auto count = recv(fd_, in_.data() + end_, in_.size() - end_, 0);
    if (count == 0) throw ProtocolError(client_id_ + ": the broker closed the connection");
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        fail("receive " + client_id_);
    }
    if (count > 0) end_ += static_cast<std::size_t>(count);
    return {in_.data(), end_};
}

void Connection::keep(std::size_t size) {
    begin_ = end_ - size;
}

Packet Connection::wait_for(PacketType type) {
    while (true) {
        const auto before = end_ - begin_;
        auto input = receive();
        if (input.size() == before) throw ProtocolError(client_id_ + ": no answer from the broker");
        const auto packet = take_packet(input);
        keep(input.size());
        if (!packet) continue;
        if (packet->type != type) throw ProtocolError(client_id_ + ": unexpected answer");
        return *packet;
    }
}

void Connection::send_all() {
    if (!flush()) throw ProtocolError(client_id_ + ": socket full during the handshake");
}

}  // namespace keyed_sticky::bench
