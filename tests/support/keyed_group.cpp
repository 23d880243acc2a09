#include "support/keyed_group.h"

#include <algorithm>
#include <stdexcept>

namespace keyed_sticky::test {

BrokerConfig keyed(const std::vector<std::string>& rules, std::vector<PluginOption> more) {
    BrokerConfig config;
    for (const auto& rule : rules) config.plugin_options.push_back({"group", rule});
    const bool delay_given = std::any_of(more.begin(), more.end(), [](const PluginOption& option) {
        return option.name == "rebalance_delay";
    });
    if (!delay_given) config.plugin_options.push_back({"rebalance_delay", "1h"});
    config.plugin_options.insert(config.plugin_options.end(), more.begin(), more.end());
    return config;
}

BrokerConfig native(BrokerConfig config) {
    config.with_plugin = false;
    config.plugin_options.clear();
    return config;
}

ConnectOptions member(const std::string& client_id, Protocol protocol) {
    return {
        .client_id = client_id, .protocol = protocol, .properties = {.receive_maximum = 65'535}};
}

void await_member_count(const Broker& broker, Client& publisher, const std::string& share,
                        const std::string& filter, const std::string& topic, std::size_t count) {
    const std::string line = "member_online share=" + share + " filter=" + filter + " ";
    const bool all = eventually([&] {
        if (broker.log_count(line) >= count) return true;
        publisher.publish(topic, kWarmUp, 1);
        return broker.log_count(line) >= count;
    });
    if (!all) {
        throw std::runtime_error("only " + std::to_string(broker.log_count(line)) + " of " +
                                 std::to_string(count) + " members are known");
    }
}

void await_members(const Broker& broker, Client& publisher, const std::string& share,
                   const std::string& filter, const std::string& topic,
                   const std::vector<Client*>& members) {
    await_member_count(broker, publisher, share, filter, topic, members.size());
    forget_messages(members);
}

void forget_messages(const std::vector<Client*>& clients) {
    for (Client* client : clients) {
        client->barrier();
        client->take_messages();
    }
}

}  // namespace keyed_sticky::test
