// Publishers and workers on one broker, driven by one thread and one epoll instance: no thread and
// no allocation per message beyond the buffers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "connection.h"
#include "device_ledger.h"
#include "process_cpu.h"

namespace keyed_sticky::bench {

struct LoadOptions {
    std::uint16_t port = 1883;
    int broker_pid = 0;
    std::string share = "ingest";
    std::string filter = "devices/+/telemetry";
    Protocol publisher_protocol = Protocol::v5;
    Protocol worker_protocol = Protocol::v5;
    int qos = 0;
    std::size_t publishers = 8;
    std::size_t workers = 4;
    std::size_t devices = 256;
    std::size_t payload_size = 100;  ///< bytes, at least smallest_payload
    bool spin = false;  ///< poll without sleeping: sharper latencies, at the price of a whole core
};

/// Messages one worker may have acknowledged without a sign that the broker has read it. Mosquitto
/// reads one packet of each ready connection a turn, so the acknowledgements of few workers fall
/// behind many publishers; once max_queued_messages (1000) are unacknowledged it drops silently.
/// This and the window together stay well below.
constexpr std::uint64_t most_unconfirmed = 128;

/// Bytes the payload's own header needs.
constexpr std::size_t smallest_payload = 24;

struct Phase {
    std::uint64_t messages = 0;  ///< of the slice
    std::uint64_t window = 256;  ///< most messages sent and not yet received
    std::optional<std::chrono::nanoseconds>
        interval;  ///< between two messages; none: as fast as the window allows
    std::chrono::milliseconds limit{60'000};  ///< the phase ends then, whatever is outstanding
    bool keep_latencies = false;
};

struct PhaseResult {
    Delivery delivery;
    std::chrono::nanoseconds wall{0};  ///< first message sent to last one received
    CpuTimes broker;                   ///< until it has read the last acknowledgement
    CpuTimes generator;                ///< this process
    std::uint64_t window_full = 0;  ///< turns of a paced phase in which a due message had to wait
    /// Written to the socket to read from the socket; unsorted.
    std::vector<std::chrono::nanoseconds> latencies;
    /// Sent after it was due, paced phases only; unsorted.
    std::vector<std::chrono::nanoseconds> lateness;
};

/// Single thread. Throws what Connection throws.
class Load {
  public:
    explicit Load(LoadOptions options);
    ~Load();
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    /// Connects and subscribes everybody, workers first.
    void open();
    /// Starts a new account: what was sent before is no longer counted. Precondition: opened.
    void begin();
    /// One slice of a phase, which may have many: adds its times and samples to `total`, whose
    /// delivery becomes that of all slices since begin(). False if messages were still outstanding
    /// at its limit. Precondition: begun.
    bool run(const Phase& slice, PhaseResult& total);
    /// Sends DISCONNECT to everybody.
    void close();

  private:
    using Clock = std::chrono::steady_clock;

    struct Client;

    bool may_publish(const Phase& phase) const;
    void publish_due(const Phase& phase, PhaseResult& result);
    bool publish_next();
    void wait_for_events(const Phase& phase);
    void read(Client& client);
    void handle(Client& client, const Packet& packet);
    void handle_publish(Client& client, const Packet& packet);
    void handle_ack(Client& client, const Packet& packet);
    void flush_dirty();
    void barrier(Clock::time_point deadline);
    void acknowledge(Client& client);
    void ping(Client& client);
    void handle_ping_response(Client& client);
    void mark_dirty(Client& client);

    LoadOptions options_;
    int epoll_ = -1;
    std::vector<std::unique_ptr<Client>> clients_;  ///< workers, then publishers
    std::vector<Client*> dirty_;                    ///< with bytes to send
    std::vector<std::string> topics_;               ///< by device
    std::string payload_;
    std::minstd_rand random_{1};  ///< the same order of devices in every run

    // Of the running phase.
    std::uint32_t phase_number_ = 0;
    std::unique_ptr<DeviceLedger> ledger_;
    PhaseResult* result_ = nullptr;
    bool keep_latencies_ = false;
    std::uint64_t sent_ = 0;
    Clock::time_point started_;
    Clock::time_point last_received_;
    std::size_t pings_outstanding_ = 0;
    std::size_t workers_behind_ = 0;  ///< with more than most_unconfirmed
};

}  // namespace keyed_sticky::bench
