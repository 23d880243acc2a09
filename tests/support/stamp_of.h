#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/mqtt_types.h"

namespace keyed_sticky::test {

// The plugin's user properties of a delivered message, read here by themselves: include/ is what
// the tests test.
struct StampOf {
    std::string key;
    std::uint64_t epoch = 0;
    std::uint64_t generation = 0;
    std::uint64_t sequence = 0;
    bool redelivery = false;
    std::optional<std::string> handover;
};

// Nothing where there is no "ks-" property. Throws where the stamp is incomplete, or has a property
// twice, or one that is not known.
std::optional<StampOf> stamp_of(const Properties& properties);

// The properties without the stamp.
Properties without_stamp(Properties properties);

}  // namespace keyed_sticky::test
