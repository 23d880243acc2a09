// One client connection to the broker on loopback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mqtt_packet.h"

namespace keyed_sticky::bench {

/// Owns its socket, which closes with it. connect() and subscribe() wait for the broker (at most 5
/// s); afterwards nothing waits. Everything that talks to the broker throws std::system_error where
/// the socket fails, and ProtocolError where the broker refuses or closes.
class Connection {
  public:
    Connection(std::string client_id, Protocol protocol);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&&) = delete;

    void connect(std::uint16_t port);
    /// Precondition: connected, and start() not called yet.
    void subscribe(std::string_view filter, int qos);
    /// From here on the socket does not block.
    void start();

    /// Bytes to send; flush() sends them, as far as the socket takes them.
    std::string& out() { return out_; }
    /// True if all was sent.
    bool flush();
    /// Reads once what is there and returns all bytes not yet consumed. They stay valid until the
    /// next call.
    std::string_view receive();
    /// The last `size` bytes of what receive() returned are kept for the next time.
    void keep(std::size_t size);

    int fd() const { return fd_; }
    Protocol protocol() const { return protocol_; }
    const std::string& client_id() const { return client_id_; }
    /// QoS 1 and 2 messages the broker lets this client have unacknowledged.
    std::uint16_t receive_maximum() const { return receive_maximum_; }

  private:
    Packet wait_for(PacketType type);
    void send_all();

    std::string client_id_;
    Protocol protocol_;
    std::uint16_t receive_maximum_ = 65535;
    int fd_ = -1;
    std::string out_;
    std::size_t sent_ = 0;  ///< of out_
    std::string in_;        ///< fixed size; [begin_, end_) holds unconsumed bytes
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace keyed_sticky::bench
