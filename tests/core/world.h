// A dispatcher in a world of its own: injected time, a memory coordinator and a sink that writes
// down every delivery.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/dispatcher.h"
#include "core/memory_coordinator.h"

namespace keyed_sticky::test {

/// A delivery as the sink saw it, copied.
struct Seen {
    std::string client_id;
    std::string topic;
    std::string payload;
    Qos qos = Qos::at_most_once;
    bool stamped = false;
    std::string key;
    Epoch epoch;
    std::uint64_t generation = 0;
    std::uint64_t sequence = 0;
    bool redelivery = false;
    std::optional<HandoverCause> handover;
    Epoch previous_epoch;
};

class RecordingSink final : public EffectSink {
  public:
    bool deliver(const Delivery& delivery) override {
        if (refuse) {
            return false;
        }
        Seen seen;
        seen.client_id = delivery.client_id;
        seen.topic = delivery.message.topic;
        seen.payload = delivery.message.payload;
        seen.qos = delivery.message.qos;
        if (delivery.stamp != nullptr) {
            seen.stamped = true;
            seen.key = delivery.stamp->key;
            seen.epoch = delivery.stamp->epoch;
            seen.generation = delivery.stamp->generation;
            seen.sequence = delivery.stamp->sequence;
            seen.redelivery = delivery.stamp->redelivery;
            seen.handover = delivery.stamp->handover;
            seen.previous_epoch = delivery.stamp->previous_epoch;
        }
        deliveries.push_back(seen);
        return true;
    }
    void log(LogLevel, std::string_view line) override { lines.emplace_back(line); }

    std::vector<Seen> deliveries;
    std::vector<std::string> lines;
    bool refuse = false;
};

class World {
  public:
    World() : World(Options{}) {}
    explicit World(Options options) : options_(std::move(options)) {
        if (options_.groups.empty()) {
            GroupRule rule;
            rule.share_pattern = "*";
            rule.key.topic_level = 2;
            options_.groups.push_back(rule);
        }
        dispatcher_ = std::make_unique<Dispatcher>(options_, coordinator_, sink);
        group = dispatcher_->open_group({"g", "dev/+/up"}, options_.groups.front());
    }

    void join(std::string_view client_id, Qos granted = Qos::at_least_once,
              bool provisional = false) {
        dispatcher_->join(group, client_id, {true, granted, 0, provisional}, now);
    }
    /// Publishes to dev/<key>/up.
    DispatchOutcome publish(std::string_view key, std::string_view payload,
                            Qos qos = Qos::at_least_once) {
        const std::string topic = "dev/" + std::string(key) + "/up";
        return dispatcher_->dispatch(group, {topic, payload, qos, nullptr}, {}, now);
    }
    /// Lets time pass, with a tick at each deadline on the way, as the broker would.
    void advance(Duration by) {
        const TimePoint until = now + by;
        while (dispatcher_->next_deadline() && *dispatcher_->next_deadline() <= until) {
            now = std::max(now, *dispatcher_->next_deadline());
            dispatcher_->tick(now);
        }
        now = until;
        dispatcher_->tick(now);
    }
    /// "client:payload" of every delivery since the last call, "client:payload*" for a redelivery.
    std::vector<std::string> take() {
        std::vector<std::string> result;
        for (; taken_ < sink.deliveries.size(); ++taken_) {
            const Seen& seen = sink.deliveries[taken_];
            result.push_back(seen.client_id + ":" + seen.payload + (seen.redelivery ? "*" : ""));
        }
        return result;
    }

    Dispatcher& dispatcher() { return *dispatcher_; }
    const Counters& counters() const { return dispatcher_->counters(); }

    RecordingSink sink;
    TimePoint now{seconds{1000}};
    GroupId group{};

  private:
    Options options_;
    MemoryStore store_;
    MemoryCoordinator coordinator_{store_, {.instance = "test", .first_term = 1000}};
    std::unique_ptr<Dispatcher> dispatcher_;
    std::size_t taken_ = 0;
};

}  // namespace keyed_sticky::test
