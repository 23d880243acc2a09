#include "broker/qos2_stash.h"

#include <utility>

namespace keyed_sticky {

namespace {

std::size_t memory_of(const StashedPublish& publish) {
    return sizeof(publish) + publish.topic.size() +
           (publish.client_id ? publish.client_id->size() : 0) +
           (publish.username ? publish.username->size() : 0) +
           (publish.properties ? publish.properties->bytes() : 0);
}

}  // namespace

void Qos2Stash::remove(Entries::iterator entry) {
    bytes_ -= memory_of(*entry);
    by_topic_.erase(entry->address.topic);
    entries_.erase(entry);
}

void Qos2Stash::put(StashedPublish publish) {
    erase(publish.address.topic);
    bytes_ += memory_of(publish);
    const auto entry = entries_.insert(entries_.end(), std::move(publish));
    by_topic_.emplace(entry->address.topic, entry);
    while (entries_.size() > 1 && (entries_.size() > max_entries_ || bytes_ > max_bytes_)) {
        remove(entries_.begin());
        ++evicted_;
    }
}

const StashedPublish* Qos2Stash::find(const MessageAddress& address, std::string_view topic) const {
    const auto found = by_topic_.find(address.topic);
    if (found == by_topic_.end()) {
        return nullptr;
    }
    const StashedPublish& publish = *found->second;
    return publish.address == address && publish.topic == topic ? &publish : nullptr;
}

void Qos2Stash::erase(const void* topic_address) {
    if (const auto found = by_topic_.find(topic_address); found != by_topic_.end()) {
        remove(found->second);
    }
}

void Qos2Stash::erase_client(std::string_view client_id) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const auto next = std::next(entry);
        if (entry->client_id == client_id) {
            remove(entry);
        }
        entry = next;
    }
}

}  // namespace keyed_sticky
