#include "device_ledger.h"

#include <algorithm>
#include <stdexcept>

namespace keyed_sticky::bench {

DeviceLedger::DeviceLedger(std::size_t devices, std::size_t workers)
    : devices_(devices), per_worker_(workers, 0) {
    for (auto& device : devices_) device.workers.resize(workers);
}

std::uint32_t DeviceLedger::send(std::size_t device) {
    auto& entry = devices_.at(device);
    entry.seen.push_back(false);
    ++sent_;
    return ++entry.sent;
}

bool DeviceLedger::receive(std::size_t device, std::uint32_t sequence, std::size_t worker) {
    auto& entry = devices_.at(device);
    if (sequence == 0 || sequence > entry.sent) throw std::out_of_range("sequence never sent");
    ++per_worker_.at(worker);
    entry.workers[worker] = true;
    if (entry.seen[sequence - 1]) {
        ++duplicates_;
        return false;
    }
    entry.seen[sequence - 1] = true;
    ++received_;
    if (sequence < entry.newest) ++reordered_;
    entry.newest = std::max(entry.newest, sequence);
    return true;
}

Delivery DeviceLedger::summary() const {
    Delivery delivery;
    delivery.sent = sent_;
    delivery.received = received_;
    delivery.duplicates = duplicates_;
    delivery.reordered = reordered_;
    for (const auto& device : devices_) {
        const auto workers = static_cast<std::size_t>(
            std::count(device.workers.begin(), device.workers.end(), true));
        delivery.most_workers_per_device = std::max(delivery.most_workers_per_device, workers);
        if (workers > 1) ++delivery.devices_on_several_workers;
    }
    const auto [idlest, busiest] = std::minmax_element(per_worker_.begin(), per_worker_.end());
    if (idlest != per_worker_.end()) {
        delivery.idlest_worker = *idlest;
        delivery.busiest_worker = *busiest;
    }
    return delivery;
}

}  // namespace keyed_sticky::bench
