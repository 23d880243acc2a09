// The plugin's options as the broker hands them over, read, checked and brought together with the
// broker's configuration.
#pragma once

#include <optional>

#include "broker/compat.h"
#include "core/options.h"

namespace keyed_sticky {

struct LoadedOptions {
    Options options;           ///< BrokerAcl is resolved, all relations hold
    bool asked_first = false;  ///< as in AclPolicy
};

/// Options that can be worked with. nullopt: everything that is wrong has been logged as errors,
/// and the plugin must refuse to load.
std::optional<LoadedOptions> read_options(const mosquitto_opt* options, int count);

}  // namespace keyed_sticky
