#include "broker/broker_conf.h"

#include <gtest/gtest.h>

namespace keyed_sticky::test {
namespace {

BrokerConf parse(std::string_view text) {
    BrokerConf conf;
    parse_broker_conf(text, conf, [](std::string_view) {});
    return conf;
}

// Promise: an empty file says nothing that hinders.
TEST(BrokerConf, EmptyIsHarmless) {
    const BrokerConf conf = parse("");
    EXPECT_FALSE(conf.per_listener_settings);
    EXPECT_FALSE(conf.acl_file);
    EXPECT_TRUE(conf.allow_duplicate_messages);
    EXPECT_TRUE(conf.plugins.empty());
    EXPECT_TRUE(conf.shared_topics.empty());
}

// Promise: read as the broker reads it, with blanks, carriage returns and comments.
TEST(BrokerConf, ReadsWhatMatters) {
    const BrokerConf conf = parse(
        "# acl_file /commented/out\r\n"
        "\tper_listener_settings   true  \r\n"
        "acl_file /etc/mosquitto/acl with blank\n"
        "allow_duplicate_messages false\n"
        "plugin /lib/one.so\n"
        "auth_plugin /lib/two.so\n"
        "global_plugin /lib/three.so\n"
        "plugin_load name /lib/four.so\n"
        "plugin_opt_acl_file x");
    EXPECT_TRUE(conf.per_listener_settings);
    EXPECT_TRUE(conf.acl_file);
    EXPECT_FALSE(conf.allow_duplicate_messages);
    EXPECT_EQ(conf.plugins, (std::vector<std::string>{"/lib/one.so", "/lib/two.so", "/lib/three.so",
                                                      "/lib/four.so"}));
}

// Promise: false is false, and a commented line is nothing.
TEST(BrokerConf, FalseAndCommented) {
    const BrokerConf conf = parse("per_listener_settings false\n#acl_file x\n  # plugin y\n");
    EXPECT_FALSE(conf.per_listener_settings);
    EXPECT_FALSE(conf.acl_file);
    EXPECT_TRUE(conf.plugins.empty());
}

// Promise: a bridge's share subscription is found, also where its local prefix makes it one (A10).
TEST(BrokerConf, FindsBridgesThatShare) {
    const BrokerConf conf = parse(
        "connection b\n"
        "topic # both 1\n"
        "topic $share/g/dev/# out 1\n"
        "topic dev/# out 1 $share/g/ remote/\n"
        "topic x in 0 \"\" y\n");
    EXPECT_EQ(conf.shared_topics, (std::vector<std::string>{"$share/g/dev/#", "$share/g/dev/#"}));
}

TEST(BrokerConf, ReportsIncludes) {
    BrokerConf conf;
    std::vector<std::string> directories;
    parse_broker_conf("include_dir /etc/mosquitto/conf.d\n", conf,
                      [&](std::string_view directory) { directories.emplace_back(directory); });
    EXPECT_EQ(directories, std::vector<std::string>{"/etc/mosquitto/conf.d"});
}

// Promise: found wherever it stands among the arguments, as when started through the dynamic
// linker.
TEST(BrokerConf, FindsItsPath) {
    EXPECT_EQ(conf_path({"mosquitto", "-c", "a.conf", "-v"}), "a.conf");
    EXPECT_EQ(conf_path({"ld.so", "--library-path", "x", "mosquitto", "--config-file", "b"}), "b");
    EXPECT_EQ(conf_path({"mosquitto", "-v"}), std::nullopt);
    EXPECT_EQ(conf_path({"mosquitto", "-c"}), std::nullopt);
}

TEST(BrokerConf, KnowsWhichPluginsNeverDecide) {
    EXPECT_TRUE(never_decides_access("/usr/lib/mosquitto/mosquitto_persist_sqlite.so"));
    EXPECT_TRUE(never_decides_access("mosquitto_password_file.so"));
    EXPECT_FALSE(never_decides_access("/usr/lib/mosquitto_dynamic_security.so"));
    EXPECT_FALSE(never_decides_access("/opt/mosquitto_acl_file.so"));
    EXPECT_FALSE(never_decides_access("/opt/unknown.so"));
}

}  // namespace
}  // namespace keyed_sticky::test
