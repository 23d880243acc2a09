#include "core/topic_levels.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace keyed_sticky {
namespace {

std::vector<std::string> all(std::string_view text) {
    std::vector<std::string> parts;
    for (TopicLevels levels{text}; !levels.at_end(); levels.advance())
        parts.emplace_back(levels.level());
    return parts;
}

// There is one level more than there are slashes, and empty ones count.
TEST(TopicLevels, EmptyLevelsCount) {
    using Parts = std::vector<std::string>;
    EXPECT_EQ(all("a"), Parts{"a"});
    EXPECT_EQ(all("a/b"), (Parts{"a", "b"}));
    EXPECT_EQ(all("/a"), (Parts{"", "a"}));
    EXPECT_EQ(all("a/"), (Parts{"a", ""}));
    EXPECT_EQ(all("a//b"), (Parts{"a", "", "b"}));
    EXPECT_EQ(all("/"), (Parts{"", ""}));
    EXPECT_EQ(all(""), Parts{""});
}

}  // namespace
}  // namespace keyed_sticky
