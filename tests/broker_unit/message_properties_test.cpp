#include "broker/message_properties.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace keyed_sticky::test {
namespace {

compat::Property user(std::string name, std::string text) {
    return {MQTT_PROP_USER_PROPERTY, 0, std::move(name), std::move(text)};
}

std::vector<std::string> names_of(const BrokerPropertyList& list) {
    std::vector<std::string> names;
    for (const auto* node = list.get(); node != nullptr; node = mosquitto_property_next(node)) {
        const auto property = compat::read_property(node);
        names.push_back(property && !property->name.empty()
                            ? property->name
                            : std::to_string(mosquitto_property_identifier(node)));
    }
    return names;
}

/// One of each kind a PUBLISH can have, and two of ours.
void fill(BrokerPropertyList& list) {
    list.add({MQTT_PROP_PAYLOAD_FORMAT_INDICATOR, 1, "", ""});
    list.add({MQTT_PROP_CONTENT_TYPE, 0, "", "text/plain"});
    list.add({MQTT_PROP_RESPONSE_TOPIC, 0, "", "a/b"});
    list.add({MQTT_PROP_CORRELATION_DATA, 0, "", std::string{"\0\1", 2}});
    list.add(user("a", "1"));
    list.add(user("ks-epoch", "9"));
    list.add(user("a", "2"));
    list.add(user("ks-", "x"));
    list.add(user("ks", ""));
}

// Promise: the order and every value survive, borrowed and copied; what begins with "ks-" does not.
TEST(MessageProperties, CopiesAreCompleteAndStripped) {
    BrokerPropertyList source;
    fill(source);
    const BorrowedProperties borrowed{source.get()};
    const auto copy = borrowed.clone();
    const auto copy_of_copy = copy->clone();
    const std::vector<std::string> expected{"1", "3", "8", "9", "a", "a", "ks"};

    const std::vector<const MessageProperties*> all{&borrowed, copy.get(), copy_of_copy.get()};
    for (const MessageProperties* properties : all) {
        BrokerPropertyList list;
        static_cast<const BrokerProperties*>(properties)->append_to(list);
        EXPECT_EQ(names_of(list), expected);
        EXPECT_EQ(properties->user_property("a"), "1");
        EXPECT_EQ(properties->user_property("A"), std::nullopt);
        EXPECT_GT(properties->bytes(), 0U);
        const auto* correlation = list.get();
        for (int i = 0; i < 3; ++i) {
            correlation = mosquitto_property_next(correlation);
        }
        EXPECT_EQ(compat::read_property(correlation)->text, (std::string{"\0\1", 2}));
    }
}

TEST(MessageProperties, NoPropertiesIsAnEmptyList) {
    const BorrowedProperties none{nullptr};
    EXPECT_EQ(none.user_property("a"), std::nullopt);
    EXPECT_EQ(none.bytes(), 0U);
    BrokerPropertyList list;
    static_cast<const BrokerProperties*>(none.clone().get())->append_to(list);
    EXPECT_EQ(list.get(), nullptr);
}

// Promise: the work grows with the number of properties, not with its square.
TEST(MessageProperties, ManyPropertiesTakeLinearTime) {
    const auto time_for = [](int count) {
        const auto begin = std::chrono::steady_clock::now();
        BrokerPropertyList list;
        for (int i = 0; i < count; ++i) {
            list.add(user("n", "v"));
        }
        BrokerPropertyList again;
        BorrowedProperties{list.get()}.append_to(again);
        return std::chrono::steady_clock::now() - begin;
    };
    time_for(1000);
    const auto few = time_for(1000);
    EXPECT_LT(time_for(50'000), few * 1000);  // linear: 50 times; quadratic: 2500 times
}

// Promise: a list given away is not freed by its maker.
TEST(MessageProperties, ReleaseGivesTheListAway) {
    BrokerPropertyList list;
    list.add(user("a", "1"));
    mosquitto_property* released = list.release();
    EXPECT_EQ(list.get(), nullptr);
    ASSERT_NE(released, nullptr);
    mosquitto_property_free_all(&released);
}

}  // namespace
}  // namespace keyed_sticky::test
