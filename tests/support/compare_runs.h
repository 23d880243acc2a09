#pragma once

#include <string>
#include <vector>

#include "support/script.h"

namespace keyed_sticky::test {

// What one script did in three runs. Which member of a handled group gets a message may differ
// between the brokers; everything else may not.
struct Runs {
    Observation native;   // the broker without the plugin
    Observation control;  // the same without the handled groups: what all else gives each client
    Observation keyed;    // the broker with the plugin
};

// Every difference that the script's clients could see and that is not that choice; empty where
// there is none. `identifiers`: deliveries of the plugin carry the subscription identifier (2.1).
std::vector<std::string> differences(const Script& script, const Runs& runs, bool identifiers);

}  // namespace keyed_sticky::test
