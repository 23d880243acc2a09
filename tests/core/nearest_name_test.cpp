#include "core/nearest_name.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace keyed_sticky {
namespace {

constexpr std::array<std::string_view, 3> known{"lease_timeout", "drain_timeout", "stamp"};

// A slip of the keyboard finds the name that was meant.
TEST(NearestName, FindsTheOneMeant) {
    EXPECT_EQ(nearest_name("lease-timeout", known), "lease_timeout");
    EXPECT_EQ(nearest_name("leasetimeout", known), "lease_timeout");
    EXPECT_EQ(nearest_name("drain_timout", known), "drain_timeout");
    EXPECT_EQ(nearest_name("stmap", known), "stamp");
    EXPECT_EQ(nearest_name("stamp", known), "stamp");
}

// Something unlike every name gets no hint, however long it is.
TEST(NearestName, HasNoHintForSomethingElse) {
    EXPECT_EQ(nearest_name("xyz", known), "");
    EXPECT_EQ(nearest_name("", known), "");
    EXPECT_EQ(nearest_name(std::string(100'000, 's'), known), "");
    EXPECT_EQ(nearest_name("stamp", {}), "");
    EXPECT_EQ(did_you_mean("xyz", known), "");
    EXPECT_EQ(did_you_mean("stam", known), " (did you mean stamp?)");
}

}  // namespace
}  // namespace keyed_sticky
