#include "core/glob.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace keyed_sticky {
namespace {

// The definition, tried every way.
bool naive(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*') {
        for (std::size_t n = 0; n <= text.size(); ++n) {
            if (naive(pattern.substr(1), text.substr(n))) return true;
        }
        return false;
    }
    if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
    return naive(pattern.substr(1), text.substr(1));
}

std::string random_text(std::mt19937& random, std::string_view alphabet, std::size_t longest) {
    std::string text(std::uniform_int_distribution<std::size_t>{0, longest}(random), ' ');
    for (char& c : text)
        c = alphabet[std::uniform_int_distribution<std::size_t>{0, alphabet.size() - 1}(random)];
    return text;
}

// '*' is any run, '?' one byte, the rest is literal, and all of the text must match.
TEST(Glob, MatchesTheWholeText) {
    EXPECT_TRUE(glob_matches("", ""));
    EXPECT_FALSE(glob_matches("", "a"));
    EXPECT_TRUE(glob_matches("*", ""));
    EXPECT_TRUE(glob_matches("worker-*", "worker-"));
    EXPECT_TRUE(glob_matches("worker-*", "worker-17"));
    EXPECT_FALSE(glob_matches("worker-*", "my-worker-17"));
    EXPECT_TRUE(glob_matches("?b*d", "abccd"));
    EXPECT_FALSE(glob_matches("?", ""));
    EXPECT_FALSE(glob_matches("a?", "a"));
    EXPECT_TRUE(glob_matches("*a*b", "xaxbxab"));
    EXPECT_FALSE(glob_matches("[a]", "a"));
}

// Bytes are compared exactly: no case folding, and '?' is one byte of a UTF-8 character.
TEST(Glob, ComparesBytes) {
    EXPECT_FALSE(glob_matches("A", "a"));
    EXPECT_FALSE(glob_matches("?", "\xc3\xa9"));
    EXPECT_TRUE(glob_matches("??", "\xc3\xa9"));
}

// Every answer is that of the definition.
TEST(Glob, AgreesWithTheDefinition) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    for (int i = 0; i < 20'000; ++i) {
        const std::string pattern = random_text(random, "ab*?", 6);
        const std::string text = random_text(random, "ab", 8);
        ASSERT_EQ(glob_matches(pattern, text), naive(pattern, text)) << pattern << " over " << text;
    }
}

// A pattern of many stars over a long text that fails at its very end takes |pattern| * |text|
// steps, not a power of them: this test would not end otherwise.
TEST(Glob, DoesNotBlowUp) {
    std::string pattern;
    for (int i = 0; i < 100; ++i) pattern += "*a";
    EXPECT_FALSE(glob_matches(pattern + "b", std::string(65535, 'a')));
    EXPECT_TRUE(glob_matches(pattern, std::string(65535, 'a')));
}

}  // namespace
}  // namespace keyed_sticky
