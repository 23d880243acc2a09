#include "core/lane.h"

#include <gtest/gtest.h>

namespace keyed_sticky::test {
namespace {

// Promise: a record is a copy of its own, and counts everything held for it.
TEST(Record, CopiesTheMessage) {
    std::string topic = "dev/k/up";
    std::string payload(1000, 'x');
    const auto record = make_record({topic, payload, Qos::at_least_once, nullptr});
    ASSERT_TRUE(record);
    topic[0] = '!';
    payload[0] = '!';
    EXPECT_EQ(record->view().topic, "dev/k/up");
    EXPECT_EQ(record->view().payload, std::string(1000, 'x'));
    EXPECT_EQ(record->view().qos, Qos::at_least_once);
    EXPECT_GE(record->bytes(), 1000U + 8U);
}

struct UncopiableProperties final : MessageProperties {
    std::unique_ptr<MessageProperties> clone() const override { return nullptr; }
    std::optional<std::string_view> user_property(std::string_view) const override { return {}; }
    std::size_t bytes() const override { return 0; }
};

// Promise: properties that cannot be copied are an answer, not a record without them.
TEST(Record, SaysWhenPropertiesCannotBeCopied) {
    const UncopiableProperties properties;
    EXPECT_EQ(make_record({"t", "p", Qos::at_most_once, &properties}), nullptr);
}

// Promise: neither bound is ever exceeded, and a refused record takes nothing.
TEST(HeldBudget, BoundsMessagesAndBytes) {
    HeldBudget budget(4, 100);
    EXPECT_TRUE(budget.take_held(60));
    EXPECT_FALSE(budget.take_held(41));
    EXPECT_TRUE(budget.take_held(40));
    EXPECT_EQ(budget.messages(), 2U);
    EXPECT_EQ(budget.bytes(), 100U);
    budget.give_back_held(60);
    EXPECT_TRUE(budget.take_held(1));
    EXPECT_TRUE(budget.take_held(1));
    EXPECT_TRUE(budget.take_held(1));
    EXPECT_FALSE(budget.take_held(1));
}

// Promise: kept records leave half of the budget to held ones; held ones may use all of it.
TEST(HeldBudget, KeptRecordsTakeAtMostHalf) {
    HeldBudget budget(4, 100);
    EXPECT_TRUE(budget.take_kept(25));
    EXPECT_TRUE(budget.take_kept(25));
    EXPECT_FALSE(budget.take_kept(1));
    EXPECT_TRUE(budget.take_held(50));
    EXPECT_FALSE(budget.take_held(1));
    budget.give_back_kept(25);
    EXPECT_TRUE(budget.take_held(25));
    EXPECT_FALSE(budget.take_kept(1));
    EXPECT_EQ(budget.messages(), 3U);
}

}  // namespace
}  // namespace keyed_sticky::test
