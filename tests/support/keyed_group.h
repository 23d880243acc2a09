#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/broker.h"
#include "support/mqtt_client.h"

namespace keyed_sticky::test {

// A broker with the plugin, which handles the groups that `rules` name, as "ingest key=topic:2".
// Unless `more` says otherwise no slot moves while a test runs because somebody joined:
// rebalance_delay is an hour.
BrokerConfig keyed(const std::vector<std::string>& rules, std::vector<PluginOption> more = {});

// The same configuration without the plugin: the native control.
BrokerConfig native(BrokerConfig config = {});

// Options of a member. Mosquitto 2.0.11 sends an MQTT 5 client more than its Receive Maximum at
// times, and libmosquitto then ends the connection: this one is never reached.
ConnectOptions member(const std::string& client_id, Protocol protocol = Protocol::kMqtt5);

// Returns when all of `members`, which have subscribed to `filter` under `share`, are members of
// that handled group. Mosquitto 2.0 shows a member only when it picks it: so this publishes to
// `topic`, which must match the filter, until it has picked each. What they got of that is
// forgotten, with all that they had got before.
void await_members(const Broker& broker, Client& publisher, const std::string& share,
                   const std::string& filter, const std::string& topic,
                   const std::vector<Client*>& members);

// The same for members of another kind: returns when `count` members of that group were seen. They
// get some messages with the payload kWarmUp.
inline constexpr const char* kWarmUp = "warm-up";
void await_member_count(const Broker& broker, Client& publisher, const std::string& share,
                        const std::string& filter, const std::string& topic, std::size_t count);

// Waits for what the broker has for each, and forgets it.
void forget_messages(const std::vector<Client*>& clients);

}  // namespace keyed_sticky::test
