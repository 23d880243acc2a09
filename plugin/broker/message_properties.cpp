#include "broker/message_properties.h"

#include <new>
#include <utility>

namespace keyed_sticky {

namespace {

constexpr std::string_view reserved_prefix = "ks-";

bool is_reserved(const compat::Property& property) {
    return property.identifier == MQTT_PROP_USER_PROPERTY &&
           std::string_view{property.name}.starts_with(reserved_prefix);
}

/// Calls visit with every property of the list that is not ours, in order.
template <typename Visit>
void for_each_foreign(const mosquitto_property* list, Visit visit) {
    for (const auto* node = list; node != nullptr; node = mosquitto_property_next(node)) {
        if (auto property = compat::read_property(node); property && !is_reserved(*property)) {
            visit(std::move(*property));
        }
    }
}

std::size_t memory_of(const compat::Property& property) {
    return sizeof(property) + property.name.size() + property.text.size();
}

}  // namespace

void BrokerPropertyList::appended(int result, mosquitto_property* at) {
    if (result != MOSQ_ERR_SUCCESS) {
        throw std::bad_alloc{};
    }
    if (head_ == nullptr) {
        head_ = at;
        tail_ = at;
        return;
    }
    // 2.0 returns a pointer to const here, though the node is the broker's own.
    tail_ = const_cast<mosquitto_property*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        mosquitto_property_next(at));
}

void BrokerPropertyList::add(const compat::Property& property) {
    // The broker's functions walk to the end of the list they are given: given the last node, they
    // need one step.
    mosquitto_property* at = append_at();
    const int id = property.identifier;
    int result = MOSQ_ERR_INVAL;
    switch (id) {
        case MQTT_PROP_PAYLOAD_FORMAT_INDICATOR:
            result = mosquitto_property_add_byte(&at, id, property.number);
            break;
        case MQTT_PROP_CONTENT_TYPE:
        case MQTT_PROP_RESPONSE_TOPIC:
            result = mosquitto_property_add_string(&at, id, property.text.c_str());
            break;
        case MQTT_PROP_CORRELATION_DATA:
            result = mosquitto_property_add_binary(
                &at, id, property.text.data(), static_cast<std::uint16_t>(property.text.size()));
            break;
        case MQTT_PROP_USER_PROPERTY:
            result = mosquitto_property_add_string_pair(&at, id, property.name.c_str(),
                                                        property.text.c_str());
            break;
        default:
            return;
    }
    appended(result, at);
}

void BrokerPropertyList::add_user_property(const char* name, const char* value) {
    mosquitto_property* at = append_at();
    const int result =
        mosquitto_property_add_string_pair(&at, MQTT_PROP_USER_PROPERTY, name, value);
    appended(result, at);
}

void BrokerPropertyList::add_subscription_identifier(std::uint32_t identifier) {
    mosquitto_property* at = append_at();
    const int result =
        mosquitto_property_add_varint(&at, MQTT_PROP_SUBSCRIPTION_IDENTIFIER, identifier);
    appended(result, at);
}

mosquitto_property* BrokerPropertyList::release() {
    tail_ = nullptr;
    return std::exchange(head_, nullptr);
}

std::unique_ptr<MessageProperties> BorrowedProperties::clone() const {
    try {
        std::vector<compat::Property> copies;
        for_each_foreign(list_,
                         [&](compat::Property property) { copies.push_back(std::move(property)); });
        return std::make_unique<OwnedProperties>(std::move(copies));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

std::optional<std::string_view> BorrowedProperties::user_property(std::string_view name) const {
    for (const auto* node = list_; node != nullptr; node = mosquitto_property_next(node)) {
        if (mosquitto_property_identifier(node) != MQTT_PROP_USER_PROPERTY) {
            continue;
        }
        if (auto property = compat::read_property(node); property && property->name == name) {
            found_ = std::move(property);
            return found_->text;
        }
    }
    return std::nullopt;
}

bool BorrowedProperties::stamped() const {
    return user_property("ks-epoch").has_value();
}

std::size_t BorrowedProperties::bytes() const {
    std::size_t total = 0;
    for_each_foreign(list_,
                     [&](const compat::Property& property) { total += memory_of(property); });
    return total;
}

void BorrowedProperties::append_to(BrokerPropertyList& list) const {
    for_each_foreign(list_, [&](const compat::Property& property) { list.add(property); });
}

OwnedProperties::OwnedProperties(std::vector<compat::Property> properties)
    : properties_(std::move(properties)) {
    for (const auto& property : properties_) {
        bytes_ += memory_of(property);
    }
}

std::unique_ptr<MessageProperties> OwnedProperties::clone() const {
    try {
        return std::make_unique<OwnedProperties>(properties_);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

std::optional<std::string_view> OwnedProperties::user_property(std::string_view name) const {
    for (const auto& property : properties_) {
        if (property.identifier == MQTT_PROP_USER_PROPERTY && property.name == name) {
            return property.text;
        }
    }
    return std::nullopt;
}

void OwnedProperties::append_to(BrokerPropertyList& list) const {
    for (const auto& property : properties_) {
        list.add(property);
    }
}

}  // namespace keyed_sticky
