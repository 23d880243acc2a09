#include "device_ledger.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace keyed_sticky::bench {
namespace {

// In order, each once, one worker a device: nothing to report.
TEST(DeviceLedger, CleanDeliveryHasNoFindings) {
    DeviceLedger ledger(2, 2);
    for (int i = 0; i < 10; ++i) {
        for (std::size_t device = 0; device < 2; ++device) {
            EXPECT_TRUE(ledger.receive(device, ledger.send(device), device));
        }
    }
    const auto delivery = ledger.summary();
    EXPECT_EQ(delivery.sent, 20U);
    EXPECT_EQ(delivery.received, 20U);
    EXPECT_EQ(delivery.lost(), 0U);
    EXPECT_EQ(delivery.duplicates, 0U);
    EXPECT_EQ(delivery.reordered, 0U);
    EXPECT_EQ(delivery.most_workers_per_device, 1U);
    EXPECT_EQ(delivery.devices_on_several_workers, 0U);
}

// A newer message before an older one of the same device is one reordering; of another device it is
// none.
TEST(DeviceLedger, ReorderingIsCountedPerDevice) {
    DeviceLedger ledger(2, 1);
    ledger.send(0);
    ledger.send(0);
    ledger.send(1);
    ledger.receive(0, 2, 0);
    ledger.receive(1, 1, 0);
    ledger.receive(0, 1, 0);
    EXPECT_EQ(ledger.summary().reordered, 1U);
}

// A second arrival is a duplicate, frees no window and is no reordering.
TEST(DeviceLedger, DuplicateIsCountedOnce) {
    DeviceLedger ledger(1, 2);
    ledger.send(0);
    ledger.send(0);
    EXPECT_TRUE(ledger.receive(0, 1, 0));
    EXPECT_FALSE(ledger.receive(0, 1, 1));
    EXPECT_EQ(ledger.outstanding(), 1U);
    const auto delivery = ledger.summary();
    EXPECT_EQ(delivery.duplicates, 1U);
    EXPECT_EQ(delivery.reordered, 0U);
    EXPECT_EQ(delivery.lost(), 1U);
    EXPECT_EQ(delivery.most_workers_per_device, 2U);
    EXPECT_EQ(delivery.devices_on_several_workers, 1U);
}

// What was never sent is refused and changes nothing.
TEST(DeviceLedger, UnknownMessageIsRefused) {
    DeviceLedger ledger(1, 1);
    ledger.send(0);
    EXPECT_THROW(ledger.receive(0, 2, 0), std::out_of_range);
    EXPECT_THROW(ledger.receive(0, 0, 0), std::out_of_range);
    EXPECT_THROW(ledger.receive(1, 1, 0), std::out_of_range);
    EXPECT_THROW(ledger.receive(0, 1, 1), std::out_of_range);
    EXPECT_EQ(ledger.summary().received, 0U);
    EXPECT_EQ(ledger.outstanding(), 1U);
}

}  // namespace
}  // namespace keyed_sticky::bench
