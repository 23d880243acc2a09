#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/broker.h"
#include "support/mqtt_packets.h"

namespace keyed_sticky::test {

enum class Transport { kTcp, kWebsocket };

// An MQTT client that does nothing by itself: no acknowledgement, no ping, no reading unless asked.
// For what a well-behaved client never sends, and for the exact moment of each packet.
//
// One blocking loopback socket, Nagle off. Functions that wait throw std::runtime_error where the
// deadline passes or the connection ends first. Not thread-safe. The destructor closes the socket
// without a DISCONNECT.
class RawClient {
  public:
    // Opens the connection (and for websockets upgrades it, subprotocol `mqtt`), and sends no MQTT
    // packet.
    explicit RawClient(const Broker& broker, Transport transport = Transport::kTcp);
    RawClient(std::uint16_t port, Transport transport);
    ~RawClient();
    RawClient(RawClient&&) noexcept;
    RawClient& operator=(RawClient&&) noexcept;

    // Sends CONNECT and returns the CONNACK, whatever its reason. Sets the protocol for all that
    // follows.
    Packet connect(const ConnectOptions& options);
    // Sends the CONNECT alone.
    void send_connect(const ConnectOptions& options);

    // SUBSCRIBE and its SUBACK. What arrives meanwhile is kept for read_packet(), in order.
    Packet subscribe(const std::string& filter, const SubscribeOptions& options = {});
    Packet subscribe(const std::vector<RawFilter>& filters);
    Packet unsubscribe(const std::string& filter);

    // PUBLISH only: no acknowledgement is awaited. Where qos > 0 and id is 0, a new packet
    // identifier is taken. Returns it.
    std::uint16_t publish(RawPublish publish);
    // The whole exchange of a QoS 1 or 2 publish: returns the PUBACK, or the PUBCOMP; the PUBREC
    // where it refuses.
    Packet publish_and_wait(RawPublish publish);
    // PUBACK, PUBREC, PUBREL or PUBCOMP.
    void send_ack(PacketType type, std::uint16_t id, std::uint8_t reason = 0,
                  const Properties& properties = {});
    void send_pingreq();
    void send_disconnect(std::uint8_t reason = 0, const Properties& properties = {});
    // In one write, so that the broker can read it at once: join the results of encode_*() for a
    // burst.
    void send_bytes(std::string_view bytes);

    // The next packet; nothing where the deadline passes or the connection ends first (then
    // closed() is true).
    std::optional<Packet> read_packet(Duration deadline = kDeadline);
    // The next packet, which must be of this type.
    Packet expect(PacketType type, Duration deadline = kDeadline);
    // The first packet of this type and, where given, this identifier. The others stay, in order,
    // for read_packet().
    Packet wait_for(PacketType type, std::optional<std::uint16_t> id = std::nullopt,
                    Duration deadline = kDeadline);
    // Reads `count` PUBLISH packets, acknowledging none. Any other packet stays for read_packet().
    std::vector<Packet> read_publishes(std::size_t count, Duration deadline = kDeadline);
    // Everything that the broker had for this client when it read a PINGREQ sent now, and again one
    // sent after that answer: so also what a plugin published while the broker read what came
    // before. Packets other than PINGRESP, none acknowledged, in order. What the broker holds back
    // for want of acknowledgements is not among them.
    std::vector<Packet> barrier(Duration deadline = kDeadline);
    // Waits until the broker has closed the connection, keeping the packets before.
    [[nodiscard]] bool wait_closed(Duration deadline = kDeadline);
    [[nodiscard]] bool closed() const { return ended_; }

    // Closes without a DISCONNECT, as a killed process does.
    void close();
    // Closes with a TCP reset; what the broker has not read yet is lost.
    void reset();

    [[nodiscard]] Protocol protocol() const { return protocol_; }
    std::uint16_t next_id();
    // Without a receive buffer to speak of, so that a test can fill the broker's side. Before
    // connect().
    void set_receive_buffer(int bytes);
    [[nodiscard]] int native_handle() const { return fd_; }

  private:
    void upgrade();
    void write_all(std::string_view bytes) const;
    // Reads what is there; false where the deadline passes or the connection ends first.
    bool read_more(std::chrono::steady_clock::time_point end);
    void take_frames();
    std::optional<Packet> next_from_socket(std::chrono::steady_clock::time_point end);

    int fd_ = -1;
    Transport transport_;
    Protocol protocol_ = Protocol::kMqtt5;
    bool ended_ = false;
    std::uint16_t last_id_ = 0;
    std::string received_;  // as read from the socket, websocket frames not yet taken apart
    std::string bytes_;     // MQTT bytes
    std::deque<Packet> inbox_;
};

}  // namespace keyed_sticky::test
