#include "support/mqtt_client.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace keyed_sticky::test {
namespace {

struct Library {
    Library() { mosquitto_lib_init(); }
    ~Library() { mosquitto_lib_cleanup(); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
};

struct FreeProperties {
    void operator()(mosquitto_property* list) const { mosquitto_property_free_all(&list); }
};
using PropertyList = std::unique_ptr<mosquitto_property, FreeProperties>;

std::string unique_topic() {
    static std::atomic<unsigned> counter = 0;
    return "$keyed-sticky-test/" + std::to_string(::getpid()) + '/' + std::to_string(counter++);
}

// Only what a client may send in CONNECT, a will, PUBLISH or DISCONNECT.
PropertyList to_list(const Properties& from) {
    mosquitto_property* list = nullptr;
    if (from.payload_format) {
        mosquitto_property_add_byte(&list, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR,
                                    *from.payload_format);
    }
    const auto u32 = [&](int id, const std::optional<std::uint32_t>& value) {
        if (value) mosquitto_property_add_int32(&list, id, *value);
    };
    const auto u16 = [&](int id, const std::optional<std::uint16_t>& value) {
        if (value) mosquitto_property_add_int16(&list, id, *value);
    };
    const auto text = [&](int id, const std::optional<std::string>& value) {
        if (value) mosquitto_property_add_string(&list, id, value->c_str());
    };
    u32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, from.message_expiry);
    u32(MQTT_PROP_SESSION_EXPIRY_INTERVAL, from.session_expiry);
    u32(MQTT_PROP_WILL_DELAY_INTERVAL, from.will_delay);
    u32(MQTT_PROP_MAXIMUM_PACKET_SIZE, from.maximum_packet_size);
    u16(MQTT_PROP_RECEIVE_MAXIMUM, from.receive_maximum);
    u16(MQTT_PROP_TOPIC_ALIAS_MAXIMUM, from.topic_alias_maximum);
    u16(MQTT_PROP_TOPIC_ALIAS, from.topic_alias);
    text(MQTT_PROP_CONTENT_TYPE, from.content_type);
    text(MQTT_PROP_RESPONSE_TOPIC, from.response_topic);
    text(MQTT_PROP_REASON_STRING, from.reason_string);
    if (from.correlation_data) {
        mosquitto_property_add_binary(&list, MQTT_PROP_CORRELATION_DATA,
                                      from.correlation_data->data(),
                                      static_cast<std::uint16_t>(from.correlation_data->size()));
    }
    for (const auto id : from.subscription_identifiers) {
        mosquitto_property_add_varint(&list, MQTT_PROP_SUBSCRIPTION_IDENTIFIER, id);
    }
    for (const auto& [name, value] : from.user) {
        mosquitto_property_add_string_pair(&list, MQTT_PROP_USER_PROPERTY, name.c_str(),
                                           value.c_str());
    }
    return PropertyList(list);
}

std::string take_c_string(char* text) {
    const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
    return text == nullptr ? std::string() : std::string(text);
}

std::optional<std::string> read_text(const mosquitto_property* list, int id) {
    char* text = nullptr;
    if (mosquitto_property_read_string(list, id, &text, false) == nullptr) return std::nullopt;
    return take_c_string(text);
}

// Only what a broker may send in PUBLISH.
Properties from_list(const mosquitto_property* list) {
    Properties to;
    std::uint8_t byte = 0;
    if (mosquitto_property_read_byte(list, MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, &byte, false) !=
        nullptr) {
        to.payload_format = byte;
    }
    std::uint32_t number = 0;
    if (mosquitto_property_read_int32(list, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, &number, false) !=
        nullptr) {
        to.message_expiry = number;
    }
    to.content_type = read_text(list, MQTT_PROP_CONTENT_TYPE);
    to.response_topic = read_text(list, MQTT_PROP_RESPONSE_TOPIC);
    void* data = nullptr;
    std::uint16_t size = 0;
    if (mosquitto_property_read_binary(list, MQTT_PROP_CORRELATION_DATA, &data, &size, false) !=
        nullptr) {
        const std::unique_ptr<void, decltype(&std::free)> owner(data, std::free);
        to.correlation_data.emplace(static_cast<const char*>(data), size);
    }
    const auto* at =
        mosquitto_property_read_varint(list, MQTT_PROP_SUBSCRIPTION_IDENTIFIER, &number, false);
    while (at != nullptr) {
        to.subscription_identifiers.push_back(number);
        at = mosquitto_property_read_varint(at, MQTT_PROP_SUBSCRIPTION_IDENTIFIER, &number, true);
    }
    char* name = nullptr;
    char* value = nullptr;
    at = mosquitto_property_read_string_pair(list, MQTT_PROP_USER_PROPERTY, &name, &value, false);
    while (at != nullptr) {
        auto first = take_c_string(name);
        to.user.emplace_back(std::move(first), take_c_string(value));
        at = mosquitto_property_read_string_pair(at, MQTT_PROP_USER_PROPERTY, &name, &value, true);
    }
    return to;
}

void check(int result, const std::string& what) {
    if (result != MOSQ_ERR_SUCCESS)
        throw std::runtime_error(what + ": " + mosquitto_strerror(result));
}

}  // namespace

// What libmosquitto calls on the network thread.
struct Client::Callbacks {
    static Client& self(void* object) { return *static_cast<Client*>(object); }

    static void connect(mosquitto*, void* object, int reason, int flags,
                        const mosquitto_property*) {
        auto& client = self(object);
        const std::lock_guard lock(client.mutex_);
        client.connack_ = reason;
        client.connected_ = reason == 0;
        client.session_present_ = (flags & 1) != 0;
        client.changed_.notify_all();
    }

    static void disconnect(mosquitto*, void* object, int reason, const mosquitto_property*) {
        auto& client = self(object);
        const std::lock_guard lock(client.mutex_);
        client.connected_ = false;
        client.disconnect_reason_ = reason;
        client.changed_.notify_all();
    }

    static void subscribe(mosquitto*, void* object, int mid, int count, const int* granted,
                          const mosquitto_property*) {
        auto& client = self(object);
        const std::lock_guard lock(client.mutex_);
        client.subacks_[mid] = count > 0 ? granted[0] : 0x80;
        client.changed_.notify_all();
    }

    static void unsubscribe(mosquitto*, void* object, int mid, const mosquitto_property*) {
        auto& client = self(object);
        const std::lock_guard lock(client.mutex_);
        client.unsubacks_[mid] = true;
        client.changed_.notify_all();
    }

    static void publish(mosquitto*, void* object, int mid, int reason,
                        const mosquitto_property* properties) {
        auto& client = self(object);
        const std::lock_guard lock(client.mutex_);
        ++client.completions_;
        if (client.awaited_.erase(mid) != 0) {
            client.completed_[mid] = {reason, read_text(properties, MQTT_PROP_REASON_STRING)};
        } else if (reason >= 0x80) {
            ++client.refused_;
        }
        client.changed_.notify_all();
    }

    static void message(mosquitto*, void* object, const mosquitto_message* from,
                        const mosquitto_property* properties) {
        auto& client = self(object);
        Message message;
        message.arrived = std::chrono::steady_clock::now();
        message.topic = from->topic;
        if (from->payloadlen > 0) {
            message.payload.assign(static_cast<const char*>(from->payload),
                                   static_cast<std::size_t>(from->payloadlen));
        }
        message.qos = from->qos;
        message.retain = from->retain;
        message.properties = from_list(properties);
        const bool marker = message.topic == client.barrier_topic_;
        if (!marker && client.callback_) client.callback_(message);
        const std::lock_guard lock(client.mutex_);
        if (marker) {
            // One of a connection before may be sent again to a resumed session: its number is
            // past.
            client.barriers_arrived_ =
                std::max<std::uint64_t>(client.barriers_arrived_, std::stoull(message.payload));
        } else {
            message.order = client.next_order_++;
            client.messages_.push_back(std::move(message));
        }
        client.changed_.notify_all();
    }
};

Client::Client(const Broker& broker, ConnectOptions options)
    : Client(broker, std::move(options), Unconnected{}) {
    const int reason = try_connect();
    if (reason != 0) throw std::runtime_error("connection refused: " + std::to_string(reason));
}

Client::Client(const Broker& broker, ConnectOptions options, Unconnected)
    : port_(broker.port()), options_(std::move(options)), barrier_topic_(unique_topic()) {
    static const Library library;
    handle_ = mosquitto_new(options_.client_id.empty() ? nullptr : options_.client_id.c_str(),
                            options_.clean, this);
    if (handle_ == nullptr) throw std::runtime_error("libmosquitto refuses these options");
    const bool v5 = options_.protocol == Protocol::kMqtt5;
    mosquitto_int_option(handle_, MOSQ_OPT_PROTOCOL_VERSION,
                         v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311);
    mosquitto_int_option(handle_, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_threaded_set(handle_, true);
    mosquitto_connect_v5_callback_set(handle_, Callbacks::connect);
    mosquitto_disconnect_v5_callback_set(handle_, Callbacks::disconnect);
    mosquitto_subscribe_v5_callback_set(handle_, Callbacks::subscribe);
    mosquitto_unsubscribe_v5_callback_set(handle_, Callbacks::unsubscribe);
    mosquitto_publish_v5_callback_set(handle_, Callbacks::publish);
    mosquitto_message_v5_callback_set(handle_, Callbacks::message);
    if (options_.username) {
        mosquitto_username_pw_set(handle_, options_.username->c_str(),
                                  options_.password ? options_.password->c_str() : nullptr);
    }
    auto receive_maximum = options_.properties.receive_maximum;
    if (!receive_maximum && Broker::version() < BrokerVersion{2, 1, 0}) receive_maximum = 65'535;
    if (receive_maximum) {
        mosquitto_int_option(handle_, MOSQ_OPT_RECEIVE_MAXIMUM, *receive_maximum);
    }
    if (options_.will) {
        const auto& will = *options_.will;
        auto properties = to_list(will.properties);
        // On success libmosquitto owns the properties.
        check(mosquitto_will_set_v5(handle_, will.topic.c_str(),
                                    static_cast<int>(will.payload.size()), will.payload.data(),
                                    will.qos, will.retain, v5 ? properties.get() : nullptr),
              "will");
        if (v5) static_cast<void>(properties.release());
    }
}

Client::~Client() {
    if (connected()) {
        mosquitto_disconnect(handle_);
        const bool ended = wait_disconnected();
        static_cast<void>(ended);
    }
    stop_thread();
    mosquitto_destroy(handle_);
}

void Client::start_thread() {
    {
        const std::lock_guard lock(mutex_);
        loop_ended_ = false;
    }
    stopping_ = false;
    thread_ = std::thread([this] {
        // Publishing from another thread wakes the loop; the timeout is only for keep-alive and
        // stop_thread().
        while (!stopping_ && mosquitto_loop(handle_, 100, 1) == MOSQ_ERR_SUCCESS) {
        }
        const std::lock_guard lock(mutex_);
        loop_ended_ = true;
        connected_ = false;
        changed_.notify_all();
    });
}

void Client::stop_thread() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

template <typename Predicate>
bool Client::wait(std::unique_lock<std::mutex>& lock, Duration deadline,
                  Predicate predicate) const {
    return changed_.wait_for(lock, deadline, predicate);
}

void Client::throw_unless(bool condition, const std::string& what) const {
    if (condition) return;
    throw std::runtime_error("client " + options_.client_id + ": no " + what +
                             (loop_ended_ ? " (connection ended)" : " in time"));
}

int Client::wait_connack() {
    start_thread();
    std::unique_lock lock(mutex_);
    wait(lock, kDeadline, [this] { return connack_.has_value() || loop_ended_; });
    throw_unless(connack_.has_value(), "CONNACK");
    return *connack_;
}

int Client::try_connect() {
    stop_thread();
    {
        const std::lock_guard lock(mutex_);
        connack_.reset();
    }
    const bool v5 = options_.protocol == Protocol::kMqtt5;
    Properties properties = options_.properties;
    properties.receive_maximum.reset();  // libmosquitto sends its own option
    const auto list = to_list(properties);
    check(mosquitto_connect_bind_v5(handle_, "127.0.0.1", port_, options_.keep_alive_s, nullptr,
                                    v5 ? list.get() : nullptr),
          "connect");
    return wait_connack();
}

void Client::reconnect() {
    stop_thread();
    {
        const std::lock_guard lock(mutex_);
        connack_.reset();
    }
    check(mosquitto_reconnect(handle_), "reconnect");
    const int reason = wait_connack();
    if (reason != 0) throw std::runtime_error("connection refused: " + std::to_string(reason));
}

bool Client::session_present() const {
    const std::lock_guard lock(mutex_);
    return session_present_;
}

bool Client::connected() const {
    const std::lock_guard lock(mutex_);
    return connected_;
}

bool Client::wait_disconnected(Duration deadline) const {
    std::unique_lock lock(mutex_);
    return wait(lock, deadline, [this] { return loop_ended_; });
}

std::optional<int> Client::disconnect_reason() const {
    const std::lock_guard lock(mutex_);
    return disconnect_reason_;
}

void Client::disconnect(std::uint8_t reason, const Properties& properties) {
    const auto list = to_list(properties);
    const bool v5 = options_.protocol == Protocol::kMqtt5;
    check(mosquitto_disconnect_v5(handle_, reason, v5 ? list.get() : nullptr), "disconnect");
    const bool ended = wait_disconnected();
    stop_thread();
    if (!ended)
        throw std::runtime_error("client " + options_.client_id + ": the connection did not end");
}

void Client::drop() {
    const int socket = mosquitto_socket(handle_);
    if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
    const bool ended = wait_disconnected();
    stop_thread();
    if (!ended)
        throw std::runtime_error("client " + options_.client_id + ": the connection did not end");
}

int Client::subscribe(const std::string& filter, const SubscribeOptions& options) {
    Properties properties;
    if (options.identifier) properties.subscription_identifiers = {*options.identifier};
    properties.user = options.user;
    const auto list = to_list(properties);
    const bool v5 = options_.protocol == Protocol::kMqtt5;
    const int bits = (options.no_local ? MQTT_SUB_OPT_NO_LOCAL : 0) |
                     (options.retain_as_published ? MQTT_SUB_OPT_RETAIN_AS_PUBLISHED : 0) |
                     options.retain_handling << 4;
    std::unique_lock lock(mutex_);
    int mid = 0;
    check(mosquitto_subscribe_v5(handle_, &mid, filter.c_str(), options.qos, v5 ? bits : 0,
                                 v5 ? list.get() : nullptr),
          "subscribe " + filter);
    wait(lock, kDeadline, [&] { return subacks_.contains(mid) || loop_ended_; });
    throw_unless(subacks_.contains(mid), "SUBACK for " + filter);
    const int reason = subacks_[mid];
    subacks_.erase(mid);
    return reason;
}

void Client::unsubscribe(const std::string& filter) {
    std::unique_lock lock(mutex_);
    int mid = 0;
    check(mosquitto_unsubscribe(handle_, &mid, filter.c_str()), "unsubscribe " + filter);
    wait(lock, kDeadline, [&] { return unsubacks_.contains(mid) || loop_ended_; });
    throw_unless(unsubacks_.erase(mid) != 0, "UNSUBACK for " + filter);
}

// The lock is held, so that the completion cannot come before it is known to be awaited.
int Client::issue(const std::string& topic, const std::string& payload,
                  const PublishOptions& options) {
    const auto list =
        options_.protocol == Protocol::kMqtt5 ? to_list(options.properties) : PropertyList();
    int mid = 0;
    check(mosquitto_publish_v5(handle_, &mid, topic.c_str(), static_cast<int>(payload.size()),
                               payload.data(), options.qos, options.retain, list.get()),
          "publish to " + topic);
    ++issued_;
    return mid;
}

PublishResult Client::publish(const std::string& topic, const std::string& payload,
                              const PublishOptions& options) {
    std::unique_lock lock(mutex_);
    const int mid = issue(topic, payload, options);
    awaited_[mid] = true;
    wait(lock, kDeadline, [&] { return completed_.contains(mid) || loop_ended_; });
    throw_unless(completed_.contains(mid), "completion of a publish to " + topic);
    auto result = std::move(completed_[mid]);
    completed_.erase(mid);
    return result;
}

void Client::publish_async(const std::string& topic, const std::string& payload,
                           const PublishOptions& options) {
    const std::lock_guard lock(mutex_);
    issue(topic, payload, options);
}

bool Client::wait_all_published(Duration deadline) {
    std::unique_lock lock(mutex_);
    return wait(lock, deadline, [this] { return completions_ >= issued_; });
}

std::size_t Client::refused_count() const {
    const std::lock_guard lock(mutex_);
    return refused_;
}

std::vector<Message> Client::messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
}

std::size_t Client::message_count() const {
    const std::lock_guard lock(mutex_);
    return messages_.size();
}

std::vector<Message> Client::take_messages() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
}

bool Client::wait_for(std::size_t count, Duration deadline) const {
    std::unique_lock lock(mutex_);
    return wait(lock, deadline, [&] { return messages_.size() >= count; });
}

std::vector<Message> Client::expect_messages(std::size_t count, Duration deadline) const {
    std::unique_lock lock(mutex_);
    wait(lock, deadline, [&] { return messages_.size() >= count; });
    throw_unless(messages_.size() >= count,
                 std::to_string(count) + " messages, only " + std::to_string(messages_.size()));
    return messages_;
}

bool Client::wait_until(const std::function<bool(const std::vector<Message>&)>& condition,
                        Duration deadline) const {
    std::unique_lock lock(mutex_);
    return wait(lock, deadline, [&] { return condition(messages_); });
}

void Client::barrier(Duration deadline) {
    const bool subscribed = [this] {
        const std::lock_guard lock(mutex_);
        return std::exchange(barrier_subscribed_, true);
    }();
    if (!subscribed) {
        if (subscribe(barrier_topic_, 2) != 2)
            throw std::runtime_error("the barrier's subscription was refused");
    }
    std::unique_lock lock(mutex_);
    const auto wanted = ++barriers_sent_;
    issue(barrier_topic_, std::to_string(wanted), {.qos = 2});
    wait(lock, deadline, [&] { return barriers_arrived_ >= wanted || loop_ended_; });
    throw_unless(barriers_arrived_ >= wanted, "barrier marker");
}

std::size_t Client::count_after_barrier(Duration deadline) {
    barrier(deadline);
    return message_count();
}

}  // namespace keyed_sticky::test
