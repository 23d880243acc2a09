#include "broker/acl_policy.h"

#include <algorithm>

namespace keyed_sticky {

namespace {

/// What in the configuration decides access; nullopt: nothing.
std::optional<std::string> decider(const BrokerConf& conf) {
    if (conf.acl_file) {
        return "the broker has an acl_file";
    }
    const auto plugin = std::ranges::find_if_not(
        conf.plugins, [](const std::string& path) { return never_decides_access(path); });
    if (plugin != conf.plugins.end()) {
        return "the plugin " + *plugin + " may decide access";
    }
    return std::nullopt;
}

void check_environment(const BrokerConf& conf, AclPolicy& policy) {
    if (conf.per_listener_settings) {
        policy.refusals.emplace_back(
            "per_listener_settings true is not supported: a plugin then sees the clients of its "
            "own "
            "listener only, and a group's members may be on any");
    }
    for (const std::string& topic : conf.shared_topics) {
        policy.refusals.push_back("a bridge subscribes to " + topic +
                                  ": the broker hides a bridge's deliveries from plugins, so it "
                                  "cannot be a member; let the "
                                  "bridge use an ordinary topic");
    }
    if (!conf.allow_duplicate_messages) {
        policy.warnings.emplace_back(
            "allow_duplicate_messages false: does not hold for handled groups; a member that also "
            "has "
            "an ordinary subscription gets a copy for each");
    }
}

void resolve(const Options& options, const std::optional<BrokerConf>& conf,
             const std::string& why_unreadable, AclPolicy& policy) {
    const auto found = conf ? decider(*conf) : std::nullopt;
    switch (options.broker_acl) {
        case BrokerAcl::present:
            policy.resolved = BrokerAcl::present;
            policy.explanation = "broker_acl=present as configured";
            return;
        case BrokerAcl::none:
            policy.resolved = BrokerAcl::none;
            policy.explanation = "broker_acl=none as configured";
            if (found) {
                policy.refusals.push_back("broker_acl none contradicts the configuration: " +
                                          *found);
            }
            return;
        case BrokerAcl::automatic:
            break;
    }
    if (!conf) {
        policy.resolved = BrokerAcl::present;
        policy.explanation =
            "broker_acl=present because the configuration is not known: " + why_unreadable;
    } else if (found) {
        policy.resolved = BrokerAcl::present;
        policy.explanation = "broker_acl=present because " + *found;
    } else {
        policy.resolved = BrokerAcl::none;
        policy.explanation =
            "broker_acl=none because the configuration has no acl_file and no other "
            "plugin that decides access";
    }
}

}  // namespace

AclPolicy decide_acl_policy(const Options& options, const std::optional<BrokerConf>& conf,
                            const std::string& why_unreadable) {
    AclPolicy policy;
    if (conf) {
        check_environment(*conf, policy);
    }
    resolve(options, conf, why_unreadable, policy);
    return policy;
}

}  // namespace keyed_sticky
