#include "broker/effect_runner.h"

#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "broker/broker_log.h"
#include "broker/compat.h"
#include "broker/message_properties.h"
#include "keyed_sticky/stamp.h"

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
    std::memcpy(copy.get(), payload.data(), payload.size());
    copy.get()[payload.size()] = '\0';
    return copy;
}

StampHandover::Cause stamp_cause(HandoverCause cause) {
    switch (cause) {
        case HandoverCause::first_use:
            return StampHandover::Cause::first_use;
        case HandoverCause::unsubscribed:
            return StampHandover::Cause::unsubscribed;
        case HandoverCause::disconnected:
            return StampHandover::Cause::disconnected;
        case HandoverCause::lease_expired:
            return StampHandover::Cause::lease_expired;
        case HandoverCause::rebalanced:
            return StampHandover::Cause::rebalanced;
    }
    return StampHandover::Cause::first_use;
}

/// key: of the stamp, ended by a zero.
void add_stamp(BrokerPropertyList& list, const DeliveryStamp& delivered, const std::string& key) {
    Stamp stamp{key,
                delivered.epoch.value(),
                delivered.generation,
                delivered.sequence,
                delivered.redelivery,
                std::nullopt};
    if (delivered.handover) {
        stamp.handover =
            StampHandover{stamp_cause(*delivered.handover), delivered.previous_epoch.value()};
    }
    // Every text ends with a zero.
    write_stamp(stamp, [&](std::string_view name, std::string_view value) {
        list.add_user_property(name.data(), value.data());
    });
}

}  // namespace

bool EffectRunner::deliver(const Delivery& delivery) {
    thread_.require_here();
    try {
        BrokerMemory payload = copy_payload(delivery.message.payload);
        BrokerPropertyList properties;
        if (delivery.message.properties != nullptr) {
            static_cast<const BrokerProperties*>(delivery.message.properties)
                ->append_to(properties);
        }
        if (delivery.stamp != nullptr) {
            key_.assign(delivery.stamp->key);
            add_stamp(properties, *delivery.stamp, key_);
        }
        if (delivery.subscription_identifier != 0) {
            properties.add_subscription_identifier(delivery.subscription_identifier);
        }
        client_id_.assign(delivery.client_id);
        topic_.assign(delivery.message.topic);
        const int result = mosquitto_broker_publish(
            client_id_.c_str(), topic_.c_str(), static_cast<int>(delivery.message.payload.size()),
            payload.get(), static_cast<int>(delivery.message.qos), false, properties.get());
        if (result == MOSQ_ERR_SUCCESS) {
            // Both are the broker's now.
            static_cast<void>(payload.release());
            static_cast<void>(properties.release());
            return true;
        }
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the caller counts it, like a
                                       // refusal
    }
    return false;
}

void EffectRunner::log(LogLevel level, std::string_view line) {
    broker_log(level, line);
}

}  // namespace keyed_sticky
