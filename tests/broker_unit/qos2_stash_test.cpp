#include "broker/qos2_stash.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace keyed_sticky::test {
namespace {

class Qos2StashTest : public ::testing::Test {
  protected:
    /// A publish at an address of its own.
    StashedPublish publish(const std::string& topic, const std::string& client = "c") {
        const std::string& stored = topics_.emplace_back(topic);
        return {{stored.data(), stored.data() + 1, 1}, stored, client, std::nullopt, nullptr};
    }

  private:
    std::deque<std::string> topics_;
};

// Promise: found by its own address only, and only while that holds the same message.
TEST_F(Qos2StashTest, FoundByAddressTopicAndPayload) {
    Qos2Stash stash{10, 100'000};
    const auto entry = publish("a topic");
    const MessageAddress address = entry.address;
    stash.put(publish("a topic"));
    stash.put({entry.address, entry.topic, "gateway", std::nullopt, nullptr});

    ASSERT_NE(stash.find(address, "a topic"), nullptr);
    EXPECT_EQ(stash.find(address, "a topic")->client_id, "gateway");
    EXPECT_EQ(stash.find(address, "another"), nullptr);
    EXPECT_EQ(stash.find({address.topic, address.payload, 2}, "a topic"), nullptr);
}

// Promise: one entry for one address, the latest.
TEST_F(Qos2StashTest, ReusedAddressIsReplaced) {
    Qos2Stash stash{10, 100'000};
    const auto entry = publish("a topic");
    stash.put({entry.address, entry.topic, "old", std::nullopt, nullptr});
    stash.put({entry.address, entry.topic, "new", std::nullopt, nullptr});
    EXPECT_EQ(stash.size(), 1U);
    EXPECT_EQ(stash.find(entry.address, "a topic")->client_id, "new");
}

// Promise: bounded in number and in bytes; the oldest go, and are counted; the newest always stays.
TEST_F(Qos2StashTest, BoundsHold) {
    Qos2Stash stash{3, 100'000};
    for (int i = 0; i < 5; ++i) {
        stash.put(publish("a topic"));
    }
    EXPECT_EQ(stash.size(), 3U);
    EXPECT_EQ(stash.evicted(), 2U);

    Qos2Stash small{100, 1};
    small.put(publish("one"));
    small.put(publish("two"));
    EXPECT_EQ(small.size(), 1U);
    EXPECT_EQ(small.evicted(), 1U);
}

// Promise: nothing is left in the books when everything is erased.
TEST_F(Qos2StashTest, ErasingEmptiesIt) {
    Qos2Stash stash{10, 100'000};
    const auto entry = publish("one");
    const void* topic = entry.address.topic;
    stash.put({entry.address, entry.topic, "c", std::nullopt, nullptr});
    stash.put(publish("two", "d"));
    stash.put(publish("three", "d"));
    stash.erase(topic);
    stash.erase(topic);
    stash.erase_client("d");
    EXPECT_EQ(stash.size(), 0U);
    EXPECT_EQ(stash.bytes(), 0U);
}

}  // namespace
}  // namespace keyed_sticky::test
