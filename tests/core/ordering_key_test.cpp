#include "core/ordering_key.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/option_rules.h"

namespace keyed_sticky {
namespace {

class Properties : public MessageProperties {
  public:
    explicit Properties(std::vector<std::pair<std::string, std::string>> pairs)
        : pairs_(std::move(pairs)) {}

    std::unique_ptr<MessageProperties> clone() const override {
        return std::make_unique<Properties>(pairs_);
    }
    std::optional<std::string_view> user_property(std::string_view name) const override {
        for (const auto& [key, value] : pairs_) {
            if (key == name) return value;
        }
        return std::nullopt;
    }
    std::size_t bytes() const override { return 0; }

  private:
    std::vector<std::pair<std::string, std::string>> pairs_;
};

KeyRule rule(const std::string& settings) {
    const auto parsed = parse_group_rule("g " + settings);
    if (const auto* const bad = std::get_if<BadValue>(&parsed)) ADD_FAILURE() << bad->why;
    return std::get<GroupRule>(parsed).key;
}

std::optional<std::string_view> key_of_topic(const std::string& settings, std::string_view topic) {
    MessageView message;
    message.topic = topic;
    return ordering_key(rule(settings), message, {});
}

// Topic levels count from 1, and an empty level that is there is the empty key.
TEST(OrderingKey, TopicLevel) {
    EXPECT_EQ(key_of_topic("key=topic:1", "dev/k1/up"), "dev");
    EXPECT_EQ(key_of_topic("key=topic:2", "dev/k1/up"), "k1");
    EXPECT_EQ(key_of_topic("key=topic:3", "dev/k1/up"), "up");
    EXPECT_EQ(key_of_topic("key=topic:4", "dev/k1/up"), std::nullopt);
    EXPECT_EQ(key_of_topic("key=topic:1", "/k1"), "");
    EXPECT_EQ(key_of_topic("key=topic:2", "dev/"), "");
    EXPECT_EQ(key_of_topic("key=topic:200", std::string(199, '/')), "");
    EXPECT_EQ(key_of_topic("key=topic:200", std::string(198, '/')), std::nullopt);
}

// The key is the very bytes of the topic, not a copy and not a normal form.
TEST(OrderingKey, ExactBytes) {
    const std::string topic = "dev/ K\xc3\xa9 /up";
    const auto key = key_of_topic("key=topic:2", topic);
    ASSERT_EQ(key, " K\xc3\xa9 ");
    EXPECT_EQ(key->data(), topic.data() + 4);
}

// The publisher's names are keys where the broker knows them; wills and other plugins' messages
// have none.
TEST(OrderingKey, Publisher) {
    const MessageView message{.topic = "t", .payload = {}};
    Publisher publisher;
    EXPECT_EQ(ordering_key(rule("key=client-id"), message, publisher), std::nullopt);
    EXPECT_EQ(ordering_key(rule("key=username"), message, publisher), std::nullopt);
    publisher.client_id = "c";
    publisher.username = "";
    EXPECT_EQ(ordering_key(rule("key=client-id"), message, publisher), "c");
    EXPECT_EQ(ordering_key(rule("key=username"), message, publisher), "");
}

// The first property of exactly that name is the key, also if it is empty.
TEST(OrderingKey, UserProperty) {
    const Properties properties{{{"Device", "no"}, {"device", ""}, {"device", "second"}}};
    MessageView message;
    message.topic = "t";
    EXPECT_EQ(ordering_key(rule("key=user-property:device"), message, {}), std::nullopt);
    message.properties = &properties;
    EXPECT_EQ(ordering_key(rule("key=user-property:device"), message, {}), "");
    EXPECT_EQ(ordering_key(rule("key=user-property:Device"), message, {}), "no");
    EXPECT_EQ(ordering_key(rule("key=user-property:other"), message, {}), std::nullopt);
}

// Only whole-topic stands in for a missing key; a key that is there, even an empty one, is kept.
TEST(OrderingKey, MissingKey) {
    const MessageView message{.topic = "a/b", .payload = {}};
    EXPECT_EQ(ordering_key_or_topic(rule("key=topic:3 missing=whole-topic"), message, {}), "a/b");
    EXPECT_EQ(ordering_key_or_topic(rule("key=topic:3 missing=round-robin"), message, {}),
              std::nullopt);
    EXPECT_EQ(ordering_key_or_topic(rule("key=topic:3 missing=reject"), message, {}), std::nullopt);
    EXPECT_EQ(ordering_key_or_topic(rule("key=topic:2"), message, {}), "b");
    const MessageView empty_level{.topic = "a/", .payload = {}};
    EXPECT_EQ(ordering_key_or_topic(rule("key=topic:2"), empty_level, {}), "");
}

// The normal form is complete, tells different rules apart, and is read back as itself.
TEST(OrderingKey, NormalForm) {
    EXPECT_EQ(normalised(rule("")), "key=topic:1 missing=whole-topic");
    EXPECT_EQ(normalised(rule("missing=reject key=topic:2")), "key=topic:2 missing=reject");
    EXPECT_EQ(normalised(rule("key=client-id")), "key=client-id missing=whole-topic");
    EXPECT_EQ(normalised(rule("key=username missing=round-robin")),
              "key=username missing=round-robin");
    EXPECT_EQ(normalised(rule("key=user-property:id")), "key=user-property:id missing=whole-topic");
    for (const std::string settings :
         {"key=topic:7", "key=username missing=reject", "key=user-property:a:b=c"}) {
        EXPECT_EQ(normalised(rule(normalised(rule(settings)))), normalised(rule(settings)));
    }
    KeyRule unused = rule("key=username");
    unused.topic_level = 9;
    unused.property_name = "x";
    EXPECT_EQ(normalised(unused), normalised(rule("key=username")));
}

}  // namespace
}  // namespace keyed_sticky
