#include "core/ordering_key.h"

#include <cstdint>

#include "core/topic_levels.h"

namespace keyed_sticky {
namespace {

std::optional<std::string_view> topic_level(std::string_view topic, std::uint32_t wanted) {
    TopicLevels levels{topic};
    for (std::uint32_t number = 1; !levels.at_end(); ++number, levels.advance()) {
        if (number == wanted) return levels.level();
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string_view> ordering_key(const KeyRule& rule, const MessageView& message,
                                             const Publisher& publisher) {
    switch (rule.source) {
        case KeyRule::Source::topic_level:
            return topic_level(message.topic, rule.topic_level);
        case KeyRule::Source::client_id:
            return publisher.client_id;
        case KeyRule::Source::username:
            return publisher.username;
        case KeyRule::Source::user_property:
            if (message.properties == nullptr) return std::nullopt;
            return message.properties->user_property(rule.property_name);
    }
    return std::nullopt;
}

std::optional<std::string_view> ordering_key_or_topic(const KeyRule& rule,
                                                      const MessageView& message,
                                                      const Publisher& publisher) {
    const auto key = ordering_key(rule, message, publisher);
    if (!key && rule.missing == KeyRule::Missing::whole_topic) return message.topic;
    return key;
}

std::string normalised(const KeyRule& rule) {
    std::string text = "key=";
    switch (rule.source) {
        case KeyRule::Source::topic_level:
            text += "topic:" + std::to_string(rule.topic_level);
            break;
        case KeyRule::Source::client_id:
            text += "client-id";
            break;
        case KeyRule::Source::username:
            text += "username";
            break;
        case KeyRule::Source::user_property:
            text += "user-property:" + rule.property_name;
            break;
    }
    switch (rule.missing) {
        case KeyRule::Missing::whole_topic:
            return text + " missing=whole-topic";
        case KeyRule::Missing::round_robin:
            return text + " missing=round-robin";
        case KeyRule::Missing::reject:
            return text + " missing=reject";
    }
    return text;
}

}  // namespace keyed_sticky
