#include "core/member_table.h"

#include <gtest/gtest.h>

namespace keyed_sticky::test {
namespace {

// Promise: a member is found by client id, numbers are reused only after erase(), and stay small.
TEST(MemberTable, FindsAndReusesNumbers) {
    MemberTable table;
    const MemberIndex a = table.insert("a");
    const MemberIndex b = table.insert("b");
    EXPECT_EQ(table.find("a"), a);
    EXPECT_EQ(table.find("x"), std::nullopt);
    table.erase(a);
    EXPECT_EQ(table.find("a"), std::nullopt);
    EXPECT_EQ(table[b].client_id, "b");
    EXPECT_EQ(table.insert("c"), a);
    EXPECT_EQ(table.capacity(), 2U);
    EXPECT_EQ(table.size(), 2U);
}

// Promise: only online members are eligible, in the order of client ids, whatever the order of
// insertion.
TEST(MemberTable, EligibleAreTheOnlineOnesInOrder) {
    MemberTable table;
    for (const char* client : {"c", "a", "d", "b"}) {
        table[table.insert(client)].state = Member::State::online;
    }
    table[*table.find("d")].state = Member::State::absent;
    table[*table.find("b")].state = Member::State::provisional;
    const auto eligible = table.eligible();
    ASSERT_EQ(eligible.size(), 2U);
    EXPECT_EQ(eligible[0].client_id, "a");
    EXPECT_EQ(eligible[1].client_id, "c");
    EXPECT_EQ(eligible[0].index, table.find("a"));
}

}  // namespace
}  // namespace keyed_sticky::test
