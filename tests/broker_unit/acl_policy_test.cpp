#include "broker/acl_policy.h"

#include <gtest/gtest.h>

#include <utility>

namespace keyed_sticky::test {
namespace {

AclPolicy decide(BrokerAcl declared, const std::optional<BrokerConf>& conf) {
    Options options;
    options.broker_acl = declared;
    return decide_acl_policy(options, conf, "cannot read it");
}

BrokerConf with_acl_file() {
    BrokerConf conf;
    conf.acl_file = true;
    return conf;
}

// Promise: `automatic` finds out, and assumes the worst where it cannot.
TEST(AclPolicy, AutomaticReadsTheConfiguration) {
    EXPECT_EQ(decide(BrokerAcl::automatic, BrokerConf{}).resolved, BrokerAcl::none);
    EXPECT_EQ(decide(BrokerAcl::automatic, with_acl_file()).resolved, BrokerAcl::present);
    EXPECT_EQ(decide(BrokerAcl::automatic, std::nullopt).resolved, BrokerAcl::present);

    BrokerConf dynsec;
    dynsec.plugins = {"/usr/lib/mosquitto_dynamic_security.so"};
    EXPECT_EQ(decide(BrokerAcl::automatic, dynsec).resolved, BrokerAcl::present);
    BrokerConf sqlite;
    sqlite.plugins = {"/x/mosquitto_keyed_sticky.so", "/x/mosquitto_persist_sqlite.so"};
    EXPECT_EQ(decide(BrokerAcl::automatic, sqlite).resolved, BrokerAcl::none);
}

// Promise: what is declared stands, except that it cannot contradict the configuration.
TEST(AclPolicy, DeclaredStandsUnlessWrong) {
    EXPECT_EQ(decide(BrokerAcl::present, BrokerConf{}).resolved, BrokerAcl::present);
    EXPECT_TRUE(decide(BrokerAcl::present, BrokerConf{}).refusals.empty());
    EXPECT_EQ(decide(BrokerAcl::none, std::nullopt).resolved, BrokerAcl::none);
    EXPECT_TRUE(decide(BrokerAcl::none, std::nullopt).refusals.empty());
    EXPECT_EQ(decide(BrokerAcl::none, with_acl_file()).refusals.size(), 1U);
}

// Promise: a plugin we do not know may be there for authentication alone: the operator's `none`
// stands, with a warning.
TEST(AclPolicy, UnknownPluginIsTheOperatorsWord) {
    BrokerConf conf;
    conf.plugins = {"/x/company_login.so", "/x/mosquitto_keyed_sticky.so"};
    EXPECT_EQ(decide(BrokerAcl::automatic, conf).resolved, BrokerAcl::present);
    EXPECT_EQ(decide(BrokerAcl::none, conf).resolved, BrokerAcl::none);
    EXPECT_TRUE(decide(BrokerAcl::none, conf).refusals.empty());
    EXPECT_EQ(decide(BrokerAcl::none, conf).warnings.size(), 2U);  // and it comes first
    conf.plugins.emplace_back("/x/mosquitto_dynamic_security.so");
    EXPECT_EQ(decide(BrokerAcl::none, conf).refusals.size(), 1U);
}

// Promise: a plugin that may decide before this one is asked is pointed out.
TEST(AclPolicy, PluginsBeforeThisOneAreNamed) {
    BrokerConf conf;
    conf.plugins = {"/x/mosquitto_persist_sqlite.so", "/x/mosquitto_keyed_sticky.so",
                    "/x/mosquitto_dynamic_security.so"};
    EXPECT_TRUE(decide(BrokerAcl::automatic, conf).warnings.empty());
    std::swap(conf.plugins[1], conf.plugins[2]);
    EXPECT_EQ(decide(BrokerAcl::automatic, conf).warnings.size(), 1U);
}

// Promise: where the plugin cannot work it says why (A10, A11).
TEST(AclPolicy, RefusesWhatCannotWork) {
    BrokerConf conf;
    conf.per_listener_settings = true;
    conf.shared_topics = {"$share/g/a"};
    EXPECT_EQ(decide(BrokerAcl::automatic, conf).refusals.size(), 2U);
    conf = {};
    conf.allow_duplicate_messages = false;
    EXPECT_TRUE(decide(BrokerAcl::automatic, conf).refusals.empty());
    EXPECT_EQ(decide(BrokerAcl::automatic, conf).warnings.size(), 1U);
}

}  // namespace
}  // namespace keyed_sticky::test
