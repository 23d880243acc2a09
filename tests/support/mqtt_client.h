#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/broker.h"
#include "support/mqtt_types.h"

struct mosquitto;

namespace keyed_sticky::test {

struct Message {
    std::string topic;
    std::string payload;
    int qos = 0;
    bool retain = false;
    Properties properties;
    std::size_t order = 0;  // 0, 1, 2… over all messages of this Client, in the order of arrival
    std::chrono::steady_clock::time_point arrived;
};

struct PublishResult {
    int reason = 0;  // of PUBACK, PUBCOMP, or the PUBREC that refused; 0 for QoS 0 and for 3.1.1
    std::optional<std::string> reason_string;
};

// A well-behaved client on libmosquitto, with a network thread of its own: it acknowledges at once
// and never reconnects by itself. For manual acknowledgement, DUP, packets out of order and
// UNSUBACK reasons there is RawClient.
//
// Without a Receive Maximum among its options libmosquitto announces 20, as mosquitto_sub does. On
// Mosquitto 2.0 this client announces 65535 instead: with a backlog at QoS 2 that broker sends more
// than it was allowed, and libmosquitto then ends the connection.
//
// Functions that wait throw std::runtime_error where their deadline (kDeadline unless given) passes
// or the connection ends; those that return bool do not. All members may be called from any thread,
// but for connecting and disconnecting only one at a time. The destructor disconnects cleanly where
// connected.
class Client {
  public:
    struct Unconnected {};

    // Connects; throws where the broker refuses.
    explicit Client(const Broker& broker, ConnectOptions options = {});
    // Does not connect yet: see try_connect().
    Client(const Broker& broker, ConnectOptions options, Unconnected);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // CONNECT, and the CONNACK's reason: 0 is accepted.
    int try_connect();
    // CONNECT again with the same options and what libmosquitto has in flight. Throws where
    // refused. Precondition: not connected; the broker may be another process on the same port.
    void reconnect();
    // As the last CONNACK said.
    [[nodiscard]] bool session_present() const;
    [[nodiscard]] bool connected() const;
    [[nodiscard]] bool wait_disconnected(Duration deadline = kDeadline) const;
    // Reason of the last end of the connection: 0 after disconnect(), the broker's DISCONNECT
    // reason (e.g. 0x8e taken over), or libmosquitto's error number. Nothing while the first
    // connection lasts.
    [[nodiscard]] std::optional<int> disconnect_reason() const;
    // DISCONNECT with this reason, and waits until the connection has ended.
    void disconnect(std::uint8_t reason = 0, const Properties& properties = {});
    // Ends the connection without a DISCONNECT, as a killed process does.
    void drop();

    // SUBSCRIBE and its SUBACK: the granted QoS, or a reason of 0x80 and above. Filters that
    // libmosquitto itself refuses throw.
    int subscribe(const std::string& filter, const SubscribeOptions& options = {});
    int subscribe(const std::string& filter, int qos) {
        return subscribe(filter, SubscribeOptions{.qos = qos});
    }
    // UNSUBSCRIBE, and waits for the UNSUBACK.
    void unsubscribe(const std::string& filter);

    // PUBLISH and its completion.
    PublishResult publish(const std::string& topic, const std::string& payload,
                          const PublishOptions& options = {});
    PublishResult publish(const std::string& topic, const std::string& payload, int qos) {
        return publish(topic, payload, PublishOptions{.qos = qos});
    }
    // PUBLISH only. Order is kept; libmosquitto holds back what goes beyond the in-flight limit.
    void publish_async(const std::string& topic, const std::string& payload,
                       const PublishOptions& options = {});
    // Waits until all that was published is complete.
    [[nodiscard]] bool wait_all_published(Duration deadline = kDeadline);
    // How many of those published with publish_async() were refused (reason 0x80 and above) so far.
    [[nodiscard]] std::size_t refused_count() const;

    // Copies of what has arrived, in order.
    [[nodiscard]] std::vector<Message> messages() const;
    [[nodiscard]] std::size_t message_count() const;
    // Returns and forgets what has arrived.
    std::vector<Message> take_messages();
    // Waits until at least `count` messages are here (those taken do not count).
    [[nodiscard]] bool wait_for(std::size_t count, Duration deadline = kDeadline) const;
    // The same, and returns the messages; throws where they do not come.
    std::vector<Message> expect_messages(std::size_t count, Duration deadline = kDeadline) const;
    // Waits until `condition(messages)` is true. It is called with the queue locked: it must not
    // call this Client.
    [[nodiscard]] bool wait_until(const std::function<bool(const std::vector<Message>&)>& condition,
                                  Duration deadline = kDeadline) const;

    // After it returns, everything that the broker had queued for this client before the call has
    // arrived, at any QoS. It sends a QoS 2 marker through the broker to this client itself, on a
    // `$` topic that no wildcard matches; the marker is not among the messages. What a plugin holds
    // back for later it cannot know of. The first call subscribes to that topic, so it needs the
    // right to.
    void barrier(Duration deadline = kDeadline);
    // barrier(), and the number of messages here.
    std::size_t count_after_barrier(Duration deadline = kDeadline);

    [[nodiscard]] const ConnectOptions& options() const { return options_; }
    // Called on the network thread for each message as it arrives, before it is queued. Set it
    // before connecting.
    void on_message(std::function<void(const Message&)> callback) {
        callback_ = std::move(callback);
    }

  private:
    struct Callbacks;
    friend struct Callbacks;

    void start_thread();
    void stop_thread();
    int wait_connack();
    void throw_unless(bool condition, const std::string& what) const;
    template <typename Predicate>
    bool wait(std::unique_lock<std::mutex>& lock, Duration deadline, Predicate predicate) const;
    int issue(const std::string& topic, const std::string& payload, const PublishOptions& options);

    const std::uint16_t port_;
    const ConnectOptions options_;
    const std::string barrier_topic_;
    mosquitto* handle_ = nullptr;
    std::thread thread_;
    std::atomic<bool> stopping_ = false;
    std::function<void(const Message&)> callback_;

    // Guards all below.
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    bool connected_ = false;
    bool loop_ended_ = true;
    bool session_present_ = false;
    bool barrier_subscribed_ = false;
    std::uint64_t barriers_sent_ = 0;
    std::uint64_t barriers_arrived_ = 0;
    std::optional<int> connack_;
    std::optional<int> disconnect_reason_;
    std::map<int, int> subacks_;     // by packet identifier
    std::map<int, bool> unsubacks_;  // by packet identifier
    std::map<int, PublishResult>
        completed_;                // by packet identifier, those that publish() waits for
    std::map<int, bool> awaited_;  // packet identifiers that publish() waits for
    std::size_t issued_ = 0;
    std::size_t completions_ = 0;
    std::size_t refused_ = 0;
    std::vector<Message> messages_;
    std::size_t next_order_ = 0;
};

}  // namespace keyed_sticky::test
