#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/mqtt_client.h"

namespace keyed_sticky::test {

// Who got what of a set of records, each published as a topic and a payload that counts 1, 2, 3…
// per topic. Arrivals are reported one by one, in the order of arrival at each receiver.
class Deliveries {
  public:
    void add(const std::string& receiver, const std::string& topic, std::uint64_t number) {
        PerTopic& at = topics_[topic];
        at.receivers.insert(receiver);
        if (!at.numbers.insert(number).second) ++doubled_;
        auto& last = at.last[receiver];
        if (number < last) ++reordered_;
        last = std::max(last, number);
        ++arrived_;
    }
    void add(const std::string& receiver, const std::vector<Message>& messages) {
        for (const Message& message : messages)
            add(receiver, message.topic, std::stoull(message.payload));
    }

    [[nodiscard]] std::size_t arrived() const { return arrived_; }
    [[nodiscard]] std::size_t doubled() const { return doubled_; }
    // Arrivals with a number below one that the same receiver had before, per topic. Across
    // receivers order cannot be seen here: require one owner per topic.
    [[nodiscard]] std::size_t reordered() const { return reordered_; }
    // Of `topics` with the numbers 1 to `each`.
    [[nodiscard]] std::size_t lost(std::size_t topics, std::size_t each) const {
        return topics * each - (arrived_ - doubled_);
    }
    [[nodiscard]] std::size_t topics() const { return topics_.size(); }
    // Topics of which more than one receiver got something.
    [[nodiscard]] std::size_t shared_topics() const {
        return static_cast<std::size_t>(
            std::count_if(topics_.begin(), topics_.end(),
                          [](const auto& at) { return at.second.receivers.size() > 1; }));
    }
    // Receiver of each topic; precondition: shared_topics() is 0.
    [[nodiscard]] std::map<std::string, std::string> owners() const {
        std::map<std::string, std::string> result;
        for (const auto& [topic, at] : topics_) result[topic] = *at.receivers.begin();
        return result;
    }
    [[nodiscard]] std::map<std::string, std::size_t> topics_per_receiver() const {
        std::map<std::string, std::size_t> result;
        for (const auto& [topic, at] : topics_)
            for (const auto& receiver : at.receivers) ++result[receiver];
        return result;
    }

  private:
    struct PerTopic {
        std::set<std::string> receivers;
        std::set<std::uint64_t> numbers;
        std::map<std::string, std::uint64_t> last;
    };
    std::map<std::string, PerTopic> topics_;
    std::size_t arrived_ = 0;
    std::size_t doubled_ = 0;
    std::size_t reordered_ = 0;
};

}  // namespace keyed_sticky::test
