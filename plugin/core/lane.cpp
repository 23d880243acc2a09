#include "core/lane.h"

namespace keyed_sticky {

std::size_t Record::bytes() const {
    return sizeof(Record) + text.size() + (properties ? properties->bytes() : 0);
}

std::unique_ptr<Record> make_record(const MessageView& message) {
    auto record = std::make_unique<Record>();
    if (message.properties != nullptr) {
        record->properties = message.properties->clone();
        if (!record->properties) {
            return nullptr;
        }
    }
    record->text.reserve(message.topic.size() + message.payload.size());
    record->text.append(message.topic).append(message.payload);
    record->topic_size = message.topic.size();
    record->qos = message.qos;
    return record;
}

bool HeldBudget::take(Use& use, std::size_t bytes, std::size_t max_messages,
                      std::size_t max_bytes) {
    // The total is checked too: held records may use what kept ones leave free, never more.
    const bool fits = use.messages < max_messages && use.bytes + bytes <= max_bytes &&
                      messages() < max_messages_ && this->bytes() + bytes <= max_bytes_;
    if (fits) {
        ++use.messages;
        use.bytes += bytes;
    }
    return fits;
}

void HeldBudget::give_back(Use& use, std::size_t bytes) {
    --use.messages;
    use.bytes -= bytes;
}

}  // namespace keyed_sticky
