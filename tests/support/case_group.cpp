#include "support/case_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace keyed_sticky::test {
namespace {

std::uint64_t stamped_number(const Properties& properties, const std::string& name) {
    const auto value = properties.user_property(name);
    if (!value) throw std::runtime_error("a record without " + name);
    return std::stoull(*value);
}

template <typename Received>
std::vector<Received> with_topic(const std::vector<Received>& all, const std::string& topic) {
    std::vector<Received> result;
    std::copy_if(all.begin(), all.end(), std::back_inserter(result),
                 [&](const Received& one) { return one.topic == topic; });
    return result;
}

}  // namespace

BrokerConfig case_group(const std::vector<PluginOption>& options) {
    BrokerConfig config;
    // Without it, the end of a burst waits for the client's delayed TCP acknowledgement.
    config.global_lines = {"set_tcp_nodelay true"};
    config.plugin_options = {{"group", "g key=topic:2"},
                             {"lease_timeout", "1s"},
                             {"rebalance_delay", "1h"},
                             {"drain_timeout", "200ms"}};
    for (const auto& option : options) {
        const auto same = std::find_if(
            config.plugin_options.begin(), config.plugin_options.end(),
            [&](const PluginOption& standard) { return standard.name == option.name; });
        if (same == config.plugin_options.end()) {
            config.plugin_options.push_back(option);
        } else {
            same->value = option.value;
        }
    }
    return config;
}

BrokerConfig native_control(BrokerConfig config) {
    config.with_plugin = false;
    return config;
}

ConnectOptions persistent(const std::string& client_id, Protocol protocol) {
    ConnectOptions options{.client_id = client_id, .protocol = protocol, .clean = false};
    options.properties.session_expiry = 3600;
    return options;
}

std::size_t member_event_count(const Broker& broker, const std::string& event,
                               const std::string& client_id) {
    const std::string log = broker.log();
    const std::string name = event + " ";
    const std::string client = " client=" + client_id;
    std::size_t count = 0;
    for (auto at = log.find(name); at != std::string::npos; at = log.find(name, at + 1)) {
        const std::string line = log.substr(at, log.find('\n', at) - at) + ' ';
        if (line.find(client + ' ') != std::string::npos) ++count;
    }
    return count;
}

void await_member_event(const Broker& broker, const std::string& event,
                        const std::string& client_id, std::size_t times, Duration deadline) {
    const bool seen =
        eventually([&] { return member_event_count(broker, event, client_id) >= times; }, deadline);
    if (!seen) throw std::runtime_error("no " + event + " of " + client_id + " in the log");
}

void await_members(const Broker& broker, Client& publisher,
                   const std::vector<std::string>& client_ids, std::size_t times) {
    for (const auto& client_id : client_ids) {
        const bool online = eventually([&] {
            if (member_event_count(broker, "member_online", client_id) >= times) return true;
            publisher.publish(up(kWarmUp), "", 0);
            return false;
        });
        if (!online) throw std::runtime_error(client_id + " did not become a member");
    }
}

void publish_records(Client& publisher, const std::string& key, int first, int count, int qos) {
    for (const auto& payload : numbered(key, first, count)) {
        const int reason = publisher.publish(up(key), payload, qos).reason;
        EXPECT_LT(reason, 0x80) << payload << " was refused";
    }
}

std::vector<std::string> numbered(const std::string& key, int first, int count) {
    std::vector<std::string> result;
    for (int i = first; i < first + count; ++i) result.push_back(key + ' ' + std::to_string(i));
    return result;
}

std::vector<Message> records_of(const std::vector<Message>& messages, const std::string& key) {
    return with_topic(messages, up(key));
}

std::vector<Packet> records_of(const std::vector<Packet>& packets, const std::string& key) {
    return with_topic(packets, up(key));
}

std::vector<Message> expect_records(const Client& client, const std::string& key, std::size_t count,
                                    Duration deadline) {
    const bool arrived = client.wait_until(
        [&](const std::vector<Message>& messages) {
            return records_of(messages, key).size() >= count;
        },
        deadline);
    auto records = records_of(client.messages(), key);
    if (!arrived) {
        throw std::runtime_error(std::to_string(count) + " records of " + key + ", only " +
                                 std::to_string(records.size()));
    }
    return records;
}

std::uint64_t epoch_of(const Properties& properties) {
    return stamped_number(properties, "ks-epoch");
}

std::uint64_t sequence_of(const Properties& properties) {
    return stamped_number(properties, "ks-sequence");
}

std::size_t owner_among(Client& publisher, const std::vector<Client*>& members,
                        const std::string& key) {
    static int asked = 0;
    const std::string question = "owner? " + std::to_string(++asked);
    const auto has_it = [&](const Client* member) {
        const auto all = payloads(records_of(member->messages(), key));
        return std::count(all.begin(), all.end(), question);
    };
    publisher.publish(up(key), question, 1);
    const bool arrived =
        eventually([&] { return std::any_of(members.begin(), members.end(), has_it); });
    if (!arrived) throw std::runtime_error("nobody got a record of " + key);
    for (Client* member : members) {
        if (member->connected()) member->barrier();
    }
    std::size_t owner = members.size();
    std::ptrdiff_t copies = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const auto here = has_it(members[i]);
        copies += here;
        if (here > 0) owner = i;
    }
    EXPECT_EQ(copies, 1) << "copies of one record of " << key;
    return owner;
}

std::uint64_t counter(Broker& broker, const std::string& name) {
    const std::size_t offset = broker.log().size();
    broker.sighup();
    if (!broker.wait_for_log_after(offset, "counters dispatched=")) {
        throw std::runtime_error("no counters in the log");
    }
    const std::string log = broker.log();
    const auto line_start = log.find("counters dispatched=", offset);
    const std::string line = log.substr(line_start, log.find('\n', line_start) - line_start);
    const auto at = line.find(' ' + name + '=');
    if (at == std::string::npos) throw std::runtime_error("no counter " + name + " in: " + line);
    return std::stoull(line.substr(at + name.size() + 2));
}

}  // namespace keyed_sticky::test
