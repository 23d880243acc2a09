#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/broker.h"
#include "support/mqtt_client.h"
#include "support/raw_client.h"

// The group that the cases speak of: share name g, filter dev/+/up, ordering key = topic level 2.
namespace keyed_sticky::test {

inline const std::string kSubscription = "$share/g/dev/+/up";

// Topic of the device `key`.
inline std::string up(const std::string& key) {
    return "dev/" + key + "/up";
}

// A broker that handles the group, with short times: lease_timeout 1s, drain_timeout 200ms. Nothing
// moves because somebody joined (rebalance_delay 1h) unless `options` says otherwise. Each of
// `options` replaces the one of its name; `group` is the only one that does not have to be given.
BrokerConfig case_group(const std::vector<PluginOption>& options = {});

// The same broker without the plugin: the control that shows that a check can fail.
BrokerConfig native_control(BrokerConfig config = case_group());

// A session that outlives its connection.
ConnectOptions persistent(const std::string& client_id, Protocol protocol = Protocol::kMqtt5);

// Waits until the plugin has logged `event` for the client, as member_online, member_absent or
// member_gone, `times` times in all. Throws where it does not.
void await_member_event(const Broker& broker, const std::string& event,
                        const std::string& client_id, std::size_t times = 1,
                        Duration deadline = kDeadline);
std::size_t member_event_count(const Broker& broker, const std::string& event,
                               const std::string& client_id);

// Waits until each of these has become a member `times` times in all, publishing QoS 0 records of
// the device kWarmUp meanwhile: Mosquitto 2.0 shows that it accepted a subscription only by picking
// the member.
inline const std::string kWarmUp = "warm-up";
void await_members(const Broker& broker, Client& publisher,
                   const std::vector<std::string>& client_ids, std::size_t times = 1);

// Publishes `count` QoS 1 records of one device, with payloads "<key> <first>", "<key> <first +
// 1>", and so on. Each is acknowledged before the next.
void publish_records(Client& publisher, const std::string& key, int first, int count, int qos = 1);

// Those payloads.
std::vector<std::string> numbered(const std::string& key, int first, int count);

// What of the device `key` has arrived, in order.
std::vector<Message> records_of(const std::vector<Message>& messages, const std::string& key);
std::vector<Packet> records_of(const std::vector<Packet>& packets, const std::string& key);

// Waits until `count` messages of that device have arrived, and returns all of its that have.
// Throws where they do not come.
std::vector<Message> expect_records(const Client& client, const std::string& key, std::size_t count,
                                    Duration deadline = kDeadline);

template <typename Received>
std::vector<std::string> payloads(const std::vector<Received>& messages) {
    std::vector<std::string> result;
    result.reserve(messages.size());
    for (const auto& message : messages) result.push_back(message.payload);
    return result;
}

// From the stamp; what is not there throws.
std::uint64_t epoch_of(const Properties& properties);
std::uint64_t sequence_of(const Properties& properties);
inline bool is_redelivery(const Properties& properties) {
    return properties.user_property("ks-redelivery").has_value();
}
inline bool is_stamped(const Properties& properties) {
    return properties.user_property("ks-key").has_value();
}

// Publishes one record of the device and returns the index, among `members`, of the one that gets
// it. Fails the test where it is not exactly one.
std::size_t owner_among(Client& publisher, const std::vector<Client*>& members,
                        const std::string& key);

// Counters of the plugin, as it logs them on SIGHUP: the value of `name`. Throws where there is
// none.
std::uint64_t counter(Broker& broker, const std::string& name);

}  // namespace keyed_sticky::test
