// A4. Leases in a broker in which nothing happens: that of a member that is there never lapses,
// that of one that is not ends on time.

#include <gtest/gtest.h>

#include <chrono>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

using std::chrono::steady_clock;
constexpr Duration kLease{500};

BrokerConfig silent() {
    auto config = case_group({{"lease_timeout", "500ms"}});
    config.global_lines.emplace_back("sys_interval 0");
    return config;
}

// Time itself is what this case is about: there is no event to wait for.
void let_pass(Duration time) {
    const auto end = steady_clock::now() + time;
    ASSERT_TRUE(eventually([&] { return steady_clock::now() >= end; }, time + Duration{1'000}));
}

class CaseA4 : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(EachSilence, CaseA4, testing::Bool(), [](const auto& with_ping) {
    return with_ping.param ? "OnePing" : "NoPacketAtAll";
});

// Promise: after three leases without traffic k1 has the owner and the epoch it had, and no
// connection was taken for lost.
TEST_P(CaseA4, LeaseOfAPresentMemberNeverLapses) {
    Broker broker(silent());
    Client publisher(broker, {.client_id = "publisher"});
    RawClient c1(broker);
    RawClient c2(broker);
    for (auto* member : {&c1, &c2}) {
        const std::string id = member == &c1 ? "C1" : "C2";
        member->connect({.client_id = id, .keep_alive_s = 0});
        member->subscribe(kSubscription, {.qos = 1});
        await_members(broker, publisher, {id});
    }
    publish_records(publisher, "k1", 1, 1);
    const auto at_c1 = records_of(c1.barrier(), "k1");
    const auto at_c2 = records_of(c2.barrier(), "k1");
    ASSERT_EQ(at_c1.size() + at_c2.size(), 1U);
    RawClient& owner = at_c1.empty() ? c2 : c1;
    const auto first = at_c1.empty() ? at_c2.front() : at_c1.front();
    let_pass(kLease);
    if (GetParam()) c1.barrier();
    let_pass(2 * kLease);

    publish_records(publisher, "k1", 2, 1);
    const auto second = owner.wait_for(PacketType::kPublish);
    EXPECT_EQ(second.payload, "k1 2");
    EXPECT_EQ(epoch_of(second.properties), epoch_of(first.properties));
    EXPECT_EQ(broker.log_count("member_absent"), 0U);
    EXPECT_EQ(broker.log_count("member_gone"), 0U);
}

// Promise: the broker wakes up by itself when an absent member's lease ends, also where a packet
// came in between that cancels the wake-up that 2.1 was asked for: the held record is delivered
// within lease + 1 s.
TEST_P(CaseA4, LeaseOfAnAbsentMemberEndsOnTimeInAnIdleBroker) {
    Broker broker(silent());
    Client publisher(broker, {.client_id = "publisher"});
    RawClient pinger(broker);
    pinger.connect({.client_id = "pinger", .keep_alive_s = 0});
    RawClient c1(broker);
    c1.connect({.client_id = "C1", .keep_alive_s = 0});
    c1.subscribe(kSubscription, {.qos = 1});
    await_members(broker, publisher, {"C1"});
    publish_records(publisher, "k1", 1, 1);
    RawClient c2(broker);
    c2.connect({.client_id = "C2", .keep_alive_s = 0});
    c2.subscribe(kSubscription, {.qos = 1});
    await_members(broker, publisher, {"C2"});
    c1.reset();
    const auto lost = steady_clock::now();
    await_member_event(broker, "member_absent", "C1");
    publish_records(publisher, "k1", 2, 1);
    if (GetParam()) {
        let_pass(kLease / 2);
        pinger.send_pingreq();
    }

    const auto redelivered = c2.wait_for(PacketType::kPublish, std::nullopt, Duration{5'000});
    const auto took = std::chrono::ceil<Duration>(steady_clock::now() - lost);
    EXPECT_EQ(redelivered.payload, "k1 1");
    EXPECT_EQ(c2.wait_for(PacketType::kPublish).payload, "k1 2");
    EXPECT_GE(took, kLease - Duration{20});
    EXPECT_LE(took, kLease + Duration{1'000});
}

}  // namespace
}  // namespace keyed_sticky::test
