// B1. Of four persistent members three go away: what comes later goes to the fourth, nothing into
// the sessions left behind, and nothing natively beside.

#include <gtest/gtest.h>

#include <memory>

#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

constexpr int kKeys = 40;

struct Four {
    explicit Four(const BrokerConfig& config) : broker(config) {
        for (const auto* id : {"C1", "C2", "C3", "C4"}) {
            members.push_back(std::make_unique<Client>(broker, persistent(id)));
            EXPECT_EQ(members.back()->subscribe(kSubscription, 1), 1);
        }
    }
    void publish_round(int round) {
        for (int i = 0; i < kKeys; ++i)
            publish_records(publisher, "k" + std::to_string(i), round, 1);
    }
    [[nodiscard]] std::size_t received() const {
        std::size_t count = 0;
        for (const auto& member : members) count += member->message_count();
        return count;
    }
    void acknowledge_and_forget() {
        for (auto& member : members) {
            if (member->connected()) member->barrier();
            member->take_messages();
        }
    }

    Broker broker;
    Client publisher{broker, {.client_id = "publisher"}};
    std::vector<std::unique_ptr<Client>> members;
};

// Promise: with the leases over, and with them running: every record reaches the fourth, in order,
// exactly once as a new one; those that come back find nothing.
TEST(CaseB1, AllThatComesLaterReachesTheOneThatIsLeft) {
    Four group(case_group());
    await_members(group.broker, group.publisher, {"C1", "C2", "C3", "C4"});
    group.acknowledge_and_forget();
    group.publish_round(1);
    ASSERT_TRUE(eventually([&] { return group.received() >= kKeys; }));
    for (const auto& member : group.members) {
        EXPECT_EQ(member->message_count(), kKeys / 4U) << member->options().client_id;
    }
    group.acknowledge_and_forget();
    for (std::size_t i = 0; i < 3; ++i) group.members[i]->drop();
    for (const auto* id : {"C1", "C2", "C3"}) await_member_event(group.broker, "member_absent", id);
    group.publish_round(2);  // most of it is held
    for (const auto* id : {"C1", "C2", "C3"}) await_member_event(group.broker, "member_gone", id);
    group.publish_round(3);

    Client& fourth = *group.members[3];
    for (int i = 0; i < kKeys; ++i) {
        const std::string key = "k" + std::to_string(i);
        const bool complete = fourth.wait_until([&](const std::vector<Message>& messages) {
            const auto all = records_of(messages, key);
            return !all.empty() && all.back().payload == key + " 3";
        });
        ASSERT_TRUE(complete) << key;
    }
    fourth.barrier();
    for (int i = 0; i < kKeys; ++i) {
        const std::string key = "k" + std::to_string(i);
        std::vector<std::string> fresh;
        for (const auto& message : records_of(fourth.messages(), key)) {
            if (is_redelivery(message.properties)) {
                EXPECT_EQ(message.payload, key + " 1");
                EXPECT_TRUE(fresh.empty()) << key << ": a redelivery after a new record";
            } else {
                fresh.push_back(message.payload);
            }
        }
        EXPECT_EQ(fresh, numbered(key, 2, 2));
    }
    for (std::size_t i = 0; i < 3; ++i) {
        group.members[i]->reconnect();
        EXPECT_TRUE(group.members[i]->session_present());
        EXPECT_EQ(group.members[i]->count_after_barrier(), 0U);
    }
    EXPECT_EQ(counter(group.broker, "unexplained") + counter(group.broker, "strangers"), 0U);
}

// The control: natively, the sessions left behind get their share of what comes later.
TEST(CaseB1, NativeControlQueuesForTheAbsent) {
    Four group(native_control());
    for (std::size_t i = 0; i < 3; ++i) group.members[i]->drop();
    group.publish_round(1);
    std::size_t queued = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        group.members[i]->reconnect();
        queued += group.members[i]->count_after_barrier();
    }
    EXPECT_GT(queued, 0U);
}

}  // namespace
}  // namespace keyed_sticky::test
