// A broker that exists on paper: tests tell it what happens, and it reports to the trap what
// Mosquitto would, with addresses that behave like Mosquitto's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "broker/subscriptions.h"
#include "broker/trap.h"
#include "core/dispatcher.h"
#include "core/topic_filter.h"

namespace keyed_sticky::test {

/// A stored message: its addresses are those of its members.
struct StoredMessage {
    std::string topic;
    std::string payload = "x";
    bool retain = false;

    MessageAddress address() const { return {topic.data(), payload.data(), payload.size()}; }
};

class BrokerScript {
  public:
    explicit BrokerScript(bool shares_get_retained = false)
        : trap(subscriptions, {.shares_get_retained = shares_get_retained}) {}

    static Connection connection(std::string_view client, int generation = 1) {
        // Distinct, stable addresses.
        static std::map<std::pair<std::string, int>, std::unique_ptr<int>> made;
        auto& slot = made[{std::string{client}, generation}];
        if (!slot) {
            slot = std::make_unique<int>(generation);
        }
        return slot.get();
    }

    Session& client(std::string_view id) {
        Session& session = subscriptions.find_or_add(id);
        session.connection = connection(id);
        session.connected = true;
        return session;
    }

    /// As after an accepted SUBSCRIBE. handled: of a share subscription.
    void subscribe(std::string_view id, std::string_view filter, bool handled = true) {
        Session& session = client(id);
        const auto name = parse_share_subscription(filter);
        trap.subscribing(id, filter, name && handled);
        if (!name) {
            subscriptions.subscribe(session, filter, false);
            return;
        }
        const ShareIndex group = subscriptions.open_share(*name);
        if (handled) {
            subscriptions.share(group).handled = GroupId{static_cast<std::uint32_t>(group)};
        }
        subscriptions.join(session, group, MemberProfile{});
    }

    void message_event(const StoredMessage& message, Qos qos, std::string_view publisher = "dev") {
        trap.write_check(message.address(), message.topic, {publisher, std::nullopt});
        trap.message({message.address(), message.topic, qos, {publisher, std::nullopt}});
    }

    Verdict check(std::string_view id, const StoredMessage& message, int generation = 1) {
        return trap.read_check({.connection = connection(id, generation),
                                .client_id = id,
                                .address = message.address(),
                                .topic = message.topic,
                                .retain = message.retain});
    }
    Verdict::Kind kind(std::string_view id, const StoredMessage& message, int generation = 1) {
        return check(id, message, generation).kind;
    }
    /// Share and filter of the group a check was for.
    std::string group_of(const Verdict& verdict) {
        if (!verdict.share) {
            return "";
        }
        const GroupName& name = subscriptions.share(*verdict.share).name;
        return name.share + "/" + name.filter;
    }

    Subscriptions subscriptions;
    Trap trap;
};

}  // namespace keyed_sticky::test
