#include "support/stamp_of.h"

#include <map>
#include <stdexcept>

namespace keyed_sticky::test {
namespace {

bool is_ours(const UserProperty& property) {
    return property.first.starts_with("ks-");
}

}  // namespace

std::optional<StampOf> stamp_of(const Properties& properties) {
    std::map<std::string, std::string> ours;
    for (const auto& property : properties.user) {
        if (is_ours(property) && !ours.insert(property).second)
            throw std::runtime_error("twice in one stamp: " + property.first);
    }
    if (ours.empty()) return std::nullopt;
    const auto take = [&ours](const std::string& name) {
        const auto found = ours.find(name);
        if (found == ours.end()) throw std::runtime_error("a stamp without " + name);
        auto value = found->second;
        ours.erase(found);
        return value;
    };
    const auto number = [&take](const std::string& name) { return std::stoull(take(name)); };
    StampOf stamp;
    stamp.key = take("ks-key");
    stamp.epoch = number("ks-epoch");
    stamp.generation = number("ks-generation");
    stamp.sequence = number("ks-sequence");
    if (ours.contains("ks-redelivery")) stamp.redelivery = take("ks-redelivery") == "1";
    if (ours.contains("ks-handover")) stamp.handover = take("ks-handover");
    if (!ours.empty()) throw std::runtime_error("unknown in a stamp: " + ours.begin()->first);
    return stamp;
}

Properties without_stamp(Properties properties) {
    std::erase_if(properties.user, is_ours);
    return properties;
}

}  // namespace keyed_sticky::test
