// What was sent and what arrived, per device: the proof that a figure was not bought with lost or
// reordered messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace keyed_sticky::bench {

struct Delivery {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;    ///< each message once
    std::uint64_t duplicates = 0;  ///< arrived before
    std::uint64_t reordered = 0;   ///< first arrivals behind a newer message of the same device
    std::size_t most_workers_per_device = 0;
    std::size_t devices_on_several_workers = 0;
    std::uint64_t busiest_worker = 0;  ///< messages, duplicates included
    std::uint64_t idlest_worker = 0;

    std::uint64_t lost() const { return sent - received; }
};

/// Counts one phase. Arrivals are ordered as this process reads them: exact for one worker's
/// connection, and between two connections only as good as the order in which they are polled.
class DeviceLedger {
  public:
    DeviceLedger(std::size_t devices, std::size_t workers);

    /// Sequence of the device's next message, contiguous from 1.
    std::uint32_t send(std::size_t device);
    /// False for a duplicate. Throws std::out_of_range for a device, worker or sequence that was
    /// never sent.
    bool receive(std::size_t device, std::uint32_t sequence, std::size_t worker);

    std::uint64_t outstanding() const { return sent_ - received_; }
    Delivery summary() const;

  private:
    struct Device {
        std::uint32_t sent = 0;
        std::uint32_t newest = 0;
        std::vector<bool> seen;     ///< by sequence - 1
        std::vector<bool> workers;  ///< that got something of this device
    };
    std::vector<Device> devices_;
    std::vector<std::uint64_t> per_worker_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t duplicates_ = 0;
    std::uint64_t reordered_ = 0;
};

}  // namespace keyed_sticky::bench
