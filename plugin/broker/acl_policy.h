// Whether anything but this plugin decides access in this broker, and whether the broker's
// configuration lets the plugin work at all. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/broker_conf.h"
#include "core/options.h"

namespace keyed_sticky {

struct AclPolicy {
    BrokerAcl resolved = BrokerAcl::present;  ///< none or present, never automatic
    /// No plugin is loaded before this one that may decide access. False where that is not known.
    bool asked_first = false;
    std::string explanation;  ///< one line for the log
    std::vector<std::string> warnings;
    std::vector<std::string> refusals;  ///< not empty: the plugin must not be loaded
};

/// conf: nullopt where it could not be read, and why_unreadable says why. Without it the declared
/// value stands, and `automatic` becomes `present`: then nothing is allowed that was not allowed
/// before.
AclPolicy decide_acl_policy(const Options& options, const std::optional<BrokerConf>& conf,
                            const std::string& why_unreadable);

}  // namespace keyed_sticky
