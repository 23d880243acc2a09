#include "keyed_sticky/slot_hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keyed_sticky {
namespace {

struct Vector {
    std::string key;
    std::uint32_t hash;
};

std::string counting_bytes(int count) {
    std::string text;
    for (int byte = 0; byte < count; ++byte) text.push_back(static_cast<char>(byte));
    return text;
}

// Computed with an implementation of xxHash's specification that shares nothing with the library,
// in Python. The lengths lie on both sides of each step of the algorithm: none, single bytes, one
// word, one stripe of 16 bytes, several.
const std::vector<Vector>& frozen() {
    static const std::vector<Vector> vectors{
        {"", 0x02cc5d05},
        {"a", 0x550d7456},
        {"k1", 0x06c1973e},
        {"abc", 0x32d153ff},
        {"abcd", 0xa3643705},
        {"dev/k1/up", 0xe62bd38a},
        {"abcdefghijklmno", 0xb918a375},
        {"abcdefghijklmnop", 0x9d2d8b62},
        {"abcdefghijklmnopq", 0xb3b873e1},
        {counting_bytes(100), 0x7f89ba44},
        {"ger\xc3\xa4t/\xc3\xa9", 0x7c0c6cc4},
        {std::string("\x00\xff\x80", 3), 0x7bbaa080},
    };
    return vectors;
}

// These values never change: slots recorded in Redis and checkpoints of workers depend on them.
TEST(SlotHash, FrozenVectors) {
    for (const Vector& vector : frozen()) {
        SCOPED_TRACE(vector.key);
        EXPECT_EQ(key_hash(vector.key), vector.hash);
        for (const std::uint32_t slots : {1U, 2U, 1000U, 4096U, 65536U}) {
            EXPECT_EQ(slot_of(vector.key, slots), vector.hash % slots);
        }
    }
}

// The examples in the header's comment are true.
TEST(SlotHash, ExamplesOfTheHeader) {
    EXPECT_EQ(slot_of("", 4096), 3333U);
    EXPECT_EQ(slot_of("k1", 4096), 1854U);
    EXPECT_EQ(slot_of("dev/k1/up", 4096), 906U);
}

// A key is its bytes, wherever they lie: alignment and what follows them do not matter.
TEST(SlotHash, OnlyTheBytesCount) {
    const std::string text = "xdev/k1/upx";
    EXPECT_EQ(slot_of(std::string_view{text}.substr(1, 9), 4096), 906U);
    EXPECT_EQ(slot_of(std::string_view{}, 4096), 3333U);
}

}  // namespace
}  // namespace keyed_sticky
