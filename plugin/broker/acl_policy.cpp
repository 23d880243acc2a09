#include "broker/acl_policy.h"

namespace keyed_sticky {

namespace {

struct Decider {
    std::string what;
    bool surely = false;  ///< false: a plugin we do not know, which may be there for something else
};

/// What in the configuration decides access; nullopt: nothing.
std::optional<Decider> decider(const BrokerConf& conf) {
    if (conf.acl_file) {
        return Decider{"the broker has an acl_file", true};
    }
    std::optional<Decider> found;
    for (const std::string& path : conf.plugins) {
        if (path.ends_with("mosquitto_dynamic_security.so")) {
            return Decider{"the plugin " + path + " decides access", true};
        }
        if (!found && !never_decides_access(path)) {
            found = Decider{"the plugin " + path + " may decide access", false};
        }
    }
    return found;
}

/// A broker stops asking at the first plugin that grants or denies.
void check_order(const BrokerConf& conf, AclPolicy& policy) {
    policy.asked_first = true;
    for (const std::string& path : conf.plugins) {
        if (path.ends_with("mosquitto_keyed_sticky.so")) {
            return;
        }
        if (!never_decides_access(path)) {
            policy.asked_first = false;
            policy.warnings.push_back(
                path +
                " is loaded before this plugin: where it decides READ access, the broker does not "
                "ask this plugin, and handled groups are distributed natively; put this plugin's "
                "line before it");
        }
    }
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
    check_order(conf, policy);
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
            if (found && found->surely) {
                policy.refusals.push_back("broker_acl none contradicts the configuration: " +
                                          found->what);
            } else if (found) {
                // A plugin may be there for authentication alone, which no other setting could
                // serve.
                policy.warnings.push_back("broker_acl none: make sure that this is so, as " +
                                          found->what);
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
        policy.explanation = "broker_acl=present because " + found->what;
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
