#include "broker/unpicked.h"

#include <utility>

namespace keyed_sticky {

namespace {

std::optional<std::string> owned(std::optional<std::string_view> text) {
    return text ? std::optional<std::string>{*text} : std::nullopt;
}

std::optional<std::string_view> borrowed(const std::optional<std::string>& text) {
    return text ? std::optional<std::string_view>{*text} : std::nullopt;
}

}  // namespace

UnpickedMessage UnpickedMessage::copy_of(const PublishEvent& event, std::string_view payload,
                                         std::vector<ShareIndex> groups) {
    return {event.address,
            std::string{event.topic},
            std::string{payload},
            event.qos,
            event.properties == nullptr ? nullptr : event.properties->clone(),
            owned(event.publisher.client_id),
            owned(event.publisher.username),
            std::move(groups)};
}

Publisher UnpickedMessage::publisher() const {
    return {borrowed(client_id), borrowed(username)};
}

}  // namespace keyed_sticky
