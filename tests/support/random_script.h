#pragma once

#include <cstdint>
#include <string>

#include "support/script.h"

namespace keyed_sticky::test {

// Share names that begin with this belong to handled groups in random scripts; all others do not.
inline constexpr const char* kHandledShare = "handled";

// Whether the filter is a share subscription to a handled group.
bool is_handled(const std::string& filter);

// A script of clients with overlapping ordinary, handled and unhandled subscriptions over one small
// tree of topics, publishing to it, and with a will. `protocols`: 4, 5, or 0 for some of each. The
// same arguments give the same script. All names begin with "s<seed>", so that scripts do not meet
// on one broker.
Script random_script(std::uint32_t seed, int protocols, bool with_no_local);

// The script without what is done for handled groups.
Script without_handled_groups(const Script& script);

}  // namespace keyed_sticky::test
