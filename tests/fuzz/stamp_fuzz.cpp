// Any user properties are a stamp that would be written again as it was, or a named error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "keyed_sticky/stamp.h"
#include "promise.h"

using namespace keyed_sticky;
using fuzz::promise;

namespace {

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

std::size_t count(const Pairs& pairs, std::string_view name) {
    return static_cast<std::size_t>(std::count_if(
        pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; }));
}

void check_ok(const Pairs& pairs, const Stamp& stamp) {
    promise(stamp.epoch >= 1 && stamp.epoch <= largest_stamp_number, "the epoch is in range");
    promise(stamp.sequence >= 1 && stamp.sequence <= largest_stamp_number, "so is the sequence");
    promise(stamp.generation <= largest_stamp_number, "so is the generation");
    // One spelling: what is written is what was read, property by property.
    std::size_t properties = 0;
    write_stamp(stamp, [&](std::string_view name, std::string_view value) {
        ++properties;
        promise(count(pairs, name) == 1, "each property was there once");
        promise(std::find(pairs.begin(), pairs.end(), std::pair{name, value}) != pairs.end(),
                "with the same text");
        if (name != stamp_property::key) promise(*value.end() == '\0', "it ends with a zero");
    });
    promise(properties == 4U + (stamp.redelivery ? 1U : 0U) + (stamp.handover ? 1U : 0U),
            "each property is written");
    promise(stamp.redelivery == (count(pairs, stamp_property::redelivery) == 1), "redelivery kept");
    promise(stamp.handover.has_value() == (count(pairs, stamp_property::handover) == 1),
            "handover kept");
}

}  // namespace

// Each line is NAME=VALUE.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input{data, size};
    Pairs pairs;
    while (!input.at_end()) {
        const std::string_view line = input.line();
        const std::size_t equals = std::min(line.find('='), line.size());
        pairs.emplace_back(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
    }
    const StampResult result = parse_stamp(pairs);
    switch (result.status) {
        case StampStatus::ok:
            promise(result.property.empty(), "nothing is wrong with it");
            check_ok(pairs, result.stamp);
            break;
        case StampStatus::absent:
            promise(count(pairs, stamp_property::key) == 0, "there is no key");
            break;
        case StampStatus::missing:
            promise(count(pairs, result.property) == 0, "the missing one is not there");
            break;
        case StampStatus::garbled:
            promise(count(pairs, result.property) >= 1, "the garbled one is there");
            break;
        case StampStatus::duplicate:
            promise(count(pairs, result.property) >= 2, "the duplicate is there twice");
            break;
    }
    return 0;
}
