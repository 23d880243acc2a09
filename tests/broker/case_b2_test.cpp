// B2. With 10 000 keys on 4 members, a fifth takes no more than its fair share, one that leaves
// gives up what it had and nothing else moves, and the order of subscribing never matters.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "keyed_sticky/slot_hash.h"
#include "support/case_group.h"

namespace keyed_sticky::test {
namespace {

constexpr int kKeys = 10'000;
constexpr int kBatch = 500;
constexpr std::uint32_t kSlots = 4096;

std::uint32_t slot_of(int key) {
    return key_hash("k" + std::to_string(key)) % kSlots;
}

class CaseB2 : public testing::Test {
  protected:
    // The key is a property and a message without one is refused, so that what makes a member known
    // on 2.0, being picked, uses no slot.
    static BrokerConfig config() {
        auto config = case_group(
            {{"group", "g key=user-property:device missing=reject"}, {"rebalance_delay", "300ms"}});
        config.verbose = false;
        return config;
    }

    struct World {
        World() : broker(config()), publisher(broker, {.client_id = "publisher"}) {}
        Client& add(const std::string& id) {
            auto& member = members[id];
            member = std::make_unique<Client>(broker, ConnectOptions{.client_id = id});
            member->subscribe(kSubscription, 0);
            await_members(broker, publisher, {id});
            return *member;
        }
        Broker broker;
        Client publisher;
        std::map<std::string, std::unique_ptr<Client>> members;
    };

    // Publishes one record of each key, each of which must reach exactly one member, and returns
    // the owner of each key's slot. No two keys of a slot have different owners.
    static std::map<std::uint32_t, std::string> owners(World& world) {
        std::map<std::uint32_t, std::string> owner_of_slot;
        std::map<std::string, std::string> owner_of_key;
        for (auto& [id, member] : world.members) member->take_messages();
        for (int first = 0; first < kKeys; first += kBatch) {
            for (int i = first; i < first + kBatch; ++i) {
                PublishOptions options{.qos = 1};
                const std::string key = "k" + std::to_string(i);
                options.properties.user = {{"device", key}};
                world.publisher.publish_async(up("any"), key, options);
            }
            if (!world.publisher.wait_all_published()) throw std::runtime_error("not published");
            const bool arrived = eventually([&] {
                std::size_t count = 0;
                for (auto& [id, member] : world.members) count += member->message_count();
                return count >= static_cast<std::size_t>(kBatch);
            });
            if (!arrived) throw std::runtime_error("records did not arrive");
            for (auto& [id, member] : world.members) {
                for (const auto& message : member->take_messages()) {
                    EXPECT_TRUE(owner_of_key.emplace(message.payload, id).second)
                        << message.payload << " came twice";
                    const int key = std::stoi(message.payload.substr(1));
                    const auto [at, is_new] = owner_of_slot.emplace(slot_of(key), id);
                    EXPECT_TRUE(is_new || at->second == id)
                        << "slot " << slot_of(key) << " had two owners";
                }
            }
        }
        EXPECT_EQ(owner_of_key.size(), static_cast<std::size_t>(kKeys));
        return owner_of_slot;
    }

    static std::map<std::string, std::size_t> loads(
        const std::map<std::uint32_t, std::string>& owner_of_slot) {
        std::map<std::string, std::size_t> result;
        for (const auto& [slot, owner] : owner_of_slot) ++result[owner];
        return result;
    }

    static void expect_balance(const std::map<std::uint32_t, std::string>& owner_of_slot,
                               std::size_t members) {
        const auto load = loads(owner_of_slot);
        EXPECT_EQ(load.size(), members);
        for (const auto& [id, count] : load) {
            EXPECT_GE(count, owner_of_slot.size() / members) << id;
            EXPECT_LE(count, (owner_of_slot.size() + members - 1) / members) << id;
        }
    }
};

TEST_F(CaseB2, AJoinMovesAFairShareAndALeaveItsOwn) {
    World world;
    for (const auto* id : {"C1", "C2", "C3", "C4"}) world.add(id);
    const auto before = owners(world);
    expect_balance(before, 4);

    world.add("C5");
    ASSERT_TRUE(world.broker.wait_for_log("rebalance share=g"));
    const auto with_five = owners(world);
    expect_balance(with_five, 5);
    std::size_t moved = 0;
    for (const auto& [slot, owner] : with_five) {
        if (owner == before.at(slot)) continue;
        ++moved;
        EXPECT_EQ(owner, "C5") << "slot " << slot << " moved between old members";
    }
    EXPECT_LE(moved, (before.size() + 4) / 5);

    world.members.at("C2")->unsubscribe(kSubscription);
    const auto without_two = owners(world);
    expect_balance(without_two, 4);
    for (const auto& [slot, owner] : without_two) {
        if (with_five.at(slot) != "C2") {
            EXPECT_EQ(owner, with_five.at(slot)) << "slot " << slot;
        }
    }
}

TEST_F(CaseB2, TheOrderOfSubscribingDoesNotMatter) {
    const auto owners_after = [](const std::vector<std::string>& ids) {
        World world;
        for (const auto& id : ids) world.add(id);
        return owners(world);
    };
    const auto one = owners_after({"C1", "C2", "C3", "C4"});
    EXPECT_EQ(one, owners_after({"C4", "C2", "C1", "C3"}));
}

}  // namespace
}  // namespace keyed_sticky::test
