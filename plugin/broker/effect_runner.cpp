#include "broker/effect_runner.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "broker/broker_log.h"
#include "broker/compat.h"
#include "broker/message_properties.h"
#include "broker/stamp_names.h"

namespace keyed_sticky {

namespace {

struct BrokerFree {
    void operator()(char* memory) const { mosquitto_free(memory); }
};
/// Memory of the broker's own allocator, which is what it frees payloads with.
using BrokerMemory = std::unique_ptr<char, BrokerFree>;

BrokerMemory copy_payload(std::string_view payload) {
    if (payload.empty()) {
        return nullptr;
    }
    // One byte more, as the broker itself does: some of its plugins read payloads as C strings.
    BrokerMemory copy{static_cast<char*>(mosquitto_malloc(payload.size() + 1))};
    if (!copy) {
        throw std::bad_alloc{};
    }
    std::ranges::copy(payload, copy.get());
    copy.get()[payload.size()] = '\0';
    return copy;
}

void add_stamp(BrokerPropertyList& list, const DeliveryStamp& stamp) {
    list.add_user_property(stamp::key, std::string{stamp.key}.c_str());
    list.add_user_property(stamp::epoch, std::to_string(stamp.epoch.value()).c_str());
    list.add_user_property(stamp::generation, std::to_string(stamp.generation).c_str());
    list.add_user_property(stamp::sequence, std::to_string(stamp.sequence).c_str());
    if (stamp.redelivery) {
        list.add_user_property(stamp::redelivery, "1");
    }
    if (stamp.handover) {
        const std::string text = std::string{to_string(*stamp.handover)} + " " +
                                 std::to_string(stamp.previous_epoch.value());
        list.add_user_property(stamp::handover, text.c_str());
    }
}

void fill(BrokerPropertyList& list, const Delivery& delivery) {
    if (delivery.message.properties != nullptr) {
        static_cast<const BrokerProperties*>(delivery.message.properties)->append_to(list);
    }
    if (delivery.stamp != nullptr) {
        add_stamp(list, *delivery.stamp);
    }
    if (delivery.subscription_identifier != 0) {
        list.add_subscription_identifier(delivery.subscription_identifier);
    }
}

}  // namespace

bool EffectRunner::deliver(const Delivery& delivery) {
    thread_.require_here();
    try {
        BrokerMemory payload = copy_payload(delivery.message.payload);
        BrokerPropertyList properties;
        fill(properties, delivery);
        const int result = mosquitto_broker_publish(
            std::string{delivery.client_id}.c_str(), std::string{delivery.message.topic}.c_str(),
            static_cast<int>(delivery.message.payload.size()), payload.get(),
            static_cast<int>(delivery.message.qos), false, properties.get());
        if (result == MOSQ_ERR_SUCCESS) {
            // Both are the broker's now.
            static_cast<void>(payload.release());
            static_cast<void>(properties.release());
            return true;
        }
    } catch (
        const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): counted below, like a refusal
    }
    ++refused_;
    return false;
}

void EffectRunner::log(LogLevel level, std::string_view line) {
    broker_log(level, line);
}

}  // namespace keyed_sticky
