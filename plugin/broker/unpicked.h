// A message for groups of which nobody knows whether the broker has a member to pick: kept until it
// is clear that no trap comes, and then dispatched all the same. Without it, what is published
// while all members are away but may come back within their leases would be lost, since the broker
// then asks nobody. Pure.
//
// QoS 0 and 1 only: a QoS 2 message is dispatched at PUBREL, which nothing announces.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/trap.h"

namespace keyed_sticky {

struct UnpickedMessage {
    MessageAddress address;
    std::string topic;
    std::string payload;
    Qos qos = Qos::at_most_once;
    std::unique_ptr<MessageProperties> properties;
    std::optional<std::string> client_id;
    std::optional<std::string> username;
    std::vector<ShareIndex> groups;  ///< not yet served

    static UnpickedMessage copy_of(const PublishEvent& event, std::string_view payload,
                                   std::vector<ShareIndex> groups);
    MessageView view() const { return {topic, payload, qos, properties.get()}; }
    Publisher publisher() const;
};

}  // namespace keyed_sticky
