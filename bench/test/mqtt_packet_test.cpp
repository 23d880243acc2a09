#include "mqtt_packet.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace keyed_sticky::bench {
namespace {

// What is encoded is decoded again, for each protocol and QoS, and with lengths of one to three
// bytes.
TEST(MqttPacket, PublishSurvivesTheRoundTrip) {
    for (const auto protocol : {Protocol::v311, Protocol::v5}) {
        for (int qos = 0; qos <= 2; ++qos) {
            for (const std::size_t size : {0U, 1U, 100U, 127U, 128U, 16'384U}) {
                const std::string payload(size, 'p');
                std::string bytes;
                append_publish(bytes, protocol, "devices/7/telemetry", qos, 0xABCD, payload);
                std::string_view input = bytes;
                const auto packet = take_packet(input);
                ASSERT_TRUE(packet);
                EXPECT_TRUE(input.empty());
                EXPECT_EQ(packet->type, PacketType::publish);
                const auto publish = decode_publish(*packet, protocol);
                EXPECT_EQ(publish.qos, qos);
                EXPECT_EQ(publish.packet_id, qos == 0 ? 0 : 0xABCD);
                EXPECT_EQ(publish.payload, payload);
            }
        }
    }
}

// A packet that is not all there is left alone, wherever it was cut.
TEST(MqttPacket, PartOfAPacketIsNotTaken) {
    std::string bytes;
    append_publish(bytes, Protocol::v5, "t", 1, 1, std::string(300, 'p'));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        std::string_view input(bytes.data(), size);
        EXPECT_FALSE(take_packet(input)) << "of " << size << " bytes";
        EXPECT_EQ(input.size(), size);
    }
}

TEST(MqttPacket, SecondPacketStaysInTheInput) {
    std::string bytes;
    append_ack(bytes, PacketType::pubrel, 5);
    append_empty(bytes, PacketType::pingreq);
    std::string_view input = bytes;
    const auto first = take_packet(input);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->type, PacketType::pubrel);
    EXPECT_EQ(first->flags, 2);
    EXPECT_EQ(decode_ack(*first).packet_id, 5);
    ASSERT_TRUE(take_packet(input));
    EXPECT_TRUE(input.empty());
}

// Receive Maximum is found behind properties of other kinds.
TEST(MqttPacket, ConnackTellsReceiveMaximum) {
    using namespace std::string_view_literals;
    const auto body = "\x00\x00\x08\x24\x01\x22\x00\x0A\x21\x00\x14"sv;
    EXPECT_EQ(decode_connack({PacketType::connack, 0, body}, Protocol::v5).receive_maximum, 20);
    const auto cut = body.substr(0, body.size() - 1);
    EXPECT_THROW(decode_connack({PacketType::connack, 0, cut}, Protocol::v5), ProtocolError);
}

TEST(MqttPacket, ImpossibleLengthsAreRefused) {
    std::string_view endless = "\x30\xFF\xFF\xFF\xFF\x7F";
    EXPECT_THROW(take_packet(endless), ProtocolError);
    using namespace std::string_view_literals;
    EXPECT_THROW(decode_publish({PacketType::publish, 0, "\x00\x09short"sv}, Protocol::v5),
                 ProtocolError);
    EXPECT_THROW(decode_ack({PacketType::puback, 0, "\x00"sv}), ProtocolError);
}

}  // namespace
}  // namespace keyed_sticky::bench
