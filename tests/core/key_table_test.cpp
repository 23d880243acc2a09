#include "core/key_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "keyed_sticky/slot_hash.h"

namespace keyed_sticky::test {
namespace {

constexpr TimePoint start{seconds{100}};

TrackedKey& touch(KeyTable& table, const std::string& name, TimePoint now = start) {
    return table.touch(name, key_hash(name), now);
}

// Promise: a key keeps its entry, and the entry its address, whatever else comes.
TEST(KeyTable, KeepsOneEntryPerKey) {
    KeyTable table(100'000);
    table.raise_generation(1);
    TrackedKey& first = touch(table, "a");
    for (int i = 0; i < 50'000; ++i) {
        touch(table, std::to_string(i));
    }
    EXPECT_EQ(&touch(table, "a"), &first);
    EXPECT_EQ(first.name, "a");
    EXPECT_EQ(table.size(), 50'001U);
}

// Promise: names are exact bytes: empty ones, ones with NUL, and ones of equal hash are different
// keys.
TEST(KeyTable, NamesAreExactBytes) {
    KeyTable table(10);
    table.raise_generation(1);
    TrackedKey& empty = touch(table, "");
    TrackedKey& nul = touch(table, std::string(1, '\0'));
    TrackedKey& same_hash_a = table.touch("a", 7, start);
    TrackedKey& same_hash_b = table.touch("b", 7, start);
    EXPECT_EQ((std::set<TrackedKey*>{&empty, &nul, &same_hash_a, &same_hash_b}.size()), 4U);
}

// Promise: the table is bounded, the least recently used key goes, and a key with records in lanes
// never does.
TEST(KeyTable, ForgetsTheLeastRecentlyUsedIdleKey) {
    KeyTable table(3);
    table.raise_generation(1);
    TrackedKey& a = touch(table, "a");
    KeyTable::pin(a);
    const std::uint64_t generation_b = touch(table, "b").generation;
    touch(table, "c");
    touch(table, "d");  // a has a record, so b goes
    EXPECT_EQ(table.size(), 3U);
    EXPECT_EQ(&touch(table, "a"), &a);
    EXPECT_GT(touch(table, "b").generation, generation_b);
    EXPECT_GE(table.evicted(), 2U);
}

// Promise: forget_idle() forgets what was not used since, oldest first, no more than asked, and
// nothing that has records.
TEST(KeyTable, ForgetsIdleKeysInSteps) {
    KeyTable table(1000);
    table.raise_generation(1);
    for (int i = 0; i < 100; ++i) {
        TrackedKey& key = touch(table, std::to_string(i), start + seconds{i});
        if (i == 10) {
            KeyTable::pin(key);
        }
    }
    EXPECT_EQ(table.forget_idle(start, 1000), 0U);
    EXPECT_EQ(table.forget_idle(start + seconds{50}, 20), 19U);
    EXPECT_EQ(table.forget_idle(start + seconds{50}, 1000), 30U);
    EXPECT_EQ(table.size(), 51U);
    EXPECT_EQ(touch(table, "10").sequence, 0U);
    EXPECT_EQ(table.size(), 51U);
}

// Promise: keys met before the first term get their generation with it; later ones are above it;
// none comes twice.
TEST(KeyTable, GenerationsRiseAboveTheFloor) {
    KeyTable table(10);
    TrackedKey& early = touch(table, "early");
    EXPECT_EQ(early.generation, 0U);
    table.raise_generation(1000);
    TrackedKey& late = touch(table, "late");
    EXPECT_GT(early.generation, 1000U);
    EXPECT_GT(late.generation, early.generation);
    const std::uint64_t kept = early.generation;
    table.raise_generation(5000);
    EXPECT_EQ(early.generation, kept);
    EXPECT_GT(touch(table, "later").generation, 5000U);
}

// Promise: over random use no (name, generation) is ever handed out for two lives of a key.
TEST(KeyTable, NoGenerationIsUsedTwice) {
    KeyTable table(16);
    table.raise_generation(1);
    std::mt19937 random(4711);
    std::set<std::pair<std::string, std::uint64_t>> lives;
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = std::to_string(random() % 40);
        TrackedKey& key = touch(table, name, start + seconds{i});
        if (key.sequence == 0) {
            ASSERT_TRUE(lives.insert({name, key.generation}).second);
        }
        ++key.sequence;
        ASSERT_LE(table.size(), 16U);
        if (random() % 50 == 0) {
            table.forget_idle(start + seconds{i - 5}, 3);
        }
    }
}

}  // namespace
}  // namespace keyed_sticky::test
