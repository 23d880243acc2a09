#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/broker.h"
#include "support/mqtt_packets.h"

namespace keyed_sticky::test {

// What one client does. After each step everybody's deliveries are awaited and acknowledged, so
// that a script always means the same.
struct Step {
    enum class Kind : std::uint8_t { kConnect, kSubscribe, kUnsubscribe, kPublish, kDrop };
    Kind kind = Kind::kConnect;
    std::string client = {};
    ConnectOptions options = {};          // kConnect; the client id is `client`
    std::vector<RawFilter> filters = {};  // kSubscribe, kUnsubscribe
    RawPublish publish = {};              // kPublish
};
using Script = std::vector<Step>;

// For a failure message: one line for each step.
std::string to_string(const Script& script);

// A message as it arrived.
struct Copy {
    std::string topic = {};
    std::string payload = {};
    int qos = 0;
    bool retain = false;
    Properties properties = {};
    friend bool operator==(const Copy&, const Copy&) = default;
    // Whether the plugin sent it.
    [[nodiscard]] bool stamped() const {
        return properties.user_property("ks-sequence").has_value();
    }
};
std::string to_string(const Copy& copy);

struct Observation {
    // One for each step: the reasons of CONNACK, SUBACK, UNSUBACK, PUBACK, PUBREC and PUBCOMP, or
    // that the broker closed the connection.
    std::vector<std::string> answers = {};
    std::map<std::string, std::vector<Copy>> copies = {};  // by client, in the order of arrival
};

// Runs the script with clients of its own and disconnects them. A client that the broker cut off
// does no more steps.
Observation run_script(const Broker& broker, const Script& script);

}  // namespace keyed_sticky::test
