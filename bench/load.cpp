#include "load.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <system_error>
#include <utility>

namespace keyed_sticky::bench {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr auto longest_wait = std::chrono::milliseconds(20);  // then the phase's limit is looked at
constexpr std::uint64_t acknowledgements_per_ping = 32;
constexpr std::size_t messages_per_turn = 64;  // sent before what has arrived is read

/// The front of every payload. Host byte order: both ends are this process.
struct PayloadHeader {
    std::int64_t published_ns;  ///< CLOCK_MONOTONIC
    std::uint32_t phase;
    std::uint32_t device;
    std::uint32_t sequence;
    std::uint32_t reserved;
};
static_assert(sizeof(PayloadHeader) == smallest_payload);

std::int64_t monotonic_ns(steady_clock::time_point now) {
    return std::chrono::duration_cast<nanoseconds>(now.time_since_epoch()).count();
}

timespec to_timespec(nanoseconds duration) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
    return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

}  // namespace

struct Load::Client {
    Client(std::string client_id, Protocol protocol, std::optional<std::size_t> worker_index)
        : connection(std::move(client_id), protocol), worker(worker_index) {}

    Connection connection;
    std::optional<std::size_t> worker;  ///< none: a publisher
    bool dirty = false;
    bool blocked = false;  ///< the socket was full: EPOLLOUT is awaited
    std::deque<std::uint64_t>
        pings;  ///< unanswered: how many acknowledgements were sent before each

    // Workers only. The broker reads in order, so the answer to a PINGREQ confirms every
    // acknowledgement sent before it.
    std::uint64_t acknowledged = 0;
    std::uint64_t confirmed = 0;

    // Publishers only.
    std::vector<std::size_t> devices;
    std::uint16_t packet_id = 0;
    std::size_t unacknowledged = 0;
};

Load::Load(LoadOptions options)
    : options_(std::move(options)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    payload_.resize(std::max(options_.payload_size, smallest_payload), 'x');
    for (std::size_t device = 0; device < options_.devices; ++device) {
        topics_.push_back("devices/device-" + std::to_string(device) + "/telemetry");
    }
    for (std::size_t worker = 0; worker < options_.workers; ++worker) {
        clients_.push_back(std::make_unique<Client>("worker-" + std::to_string(worker),
                                                    options_.worker_protocol, worker));
    }
    for (std::size_t publisher = 0; publisher < options_.publishers; ++publisher) {
        auto client = std::make_unique<Client>("publisher-" + std::to_string(publisher),
                                               options_.publisher_protocol, std::nullopt);
        for (auto device = publisher; device < options_.devices; device += options_.publishers) {
            client->devices.push_back(device);
        }
        clients_.push_back(std::move(client));
    }
}

Load::~Load() {
    ::close(epoll_);
}

void Load::open() {
    const auto subscription = "$share/" + options_.share + "/" + options_.filter;
    for (auto& client : clients_) {
        auto& connection = client->connection;
        connection.connect(options_.port);
        if (client->worker) connection.subscribe(subscription, options_.qos);
        connection.start();
        epoll_event event{.events = EPOLLIN, .data = {.ptr = client.get()}};
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd(), &event) != 0) {
            throw std::system_error(errno, std::generic_category(), "epoll_ctl");
        }
    }
}

void Load::begin() {
    ++phase_number_;
    ledger_ = std::make_unique<DeviceLedger>(options_.devices, options_.workers);
}

bool Load::run(const Phase& slice, PhaseResult& total) {
    sent_ = 0;
    keep_latencies_ = slice.keep_latencies;
    result_ = &total;
    barrier(Clock::now() + slice.limit);
    const auto broker_before = process_cpu(options_.broker_pid);
    const auto generator_before = process_cpu(getpid());
    started_ = last_received_ = Clock::now();
    const auto deadline = started_ + slice.limit;
    while ((sent_ < slice.messages || ledger_->outstanding() > 0) && Clock::now() < deadline) {
        publish_due(slice, total);
        flush_dirty();
        wait_for_events(slice);
    }
    total.wall += last_received_ - started_;
    barrier(Clock::now() + slice.limit);
    total.broker += process_cpu(options_.broker_pid) - broker_before;
    total.generator += process_cpu(getpid()) - generator_before;
    total.delivery = ledger_->summary();
    result_ = nullptr;
    return sent_ == slice.messages && ledger_->outstanding() == 0;
}

void Load::close() {
    for (auto& client : clients_) {
        append_empty(client->connection.out(), PacketType::disconnect);
        client->connection.flush();
    }
}

bool Load::may_publish(const Phase& phase) const {
    return ledger_->outstanding() < phase.window && workers_behind_ == 0;
}

void Load::publish_due(const Phase& phase, PhaseResult& result) {
    for (std::size_t count = 0; count < messages_per_turn && sent_ < phase.messages; ++count) {
        if (!phase.interval) {
            if (!may_publish(phase) || !publish_next()) return;
            continue;
        }
        const auto due = started_ + *phase.interval * static_cast<std::int64_t>(sent_);
        const auto now = Clock::now();
        if (now < due) return;
        if (!may_publish(phase) || !publish_next()) {
            ++result.window_full;
            return;
        }
        result.lateness.push_back(now - due);
    }
}

/// Any publisher that may send, with any of its devices: in a fixed order the broker's turns would
/// fall into step with the devices', and even round robin look sticky. False if no publisher may
/// send.
bool Load::publish_next() {
    const auto first = random_();
    for (std::size_t tried = 0; tried < options_.publishers; ++tried) {
        auto& client = *clients_[options_.workers + (first + tried) % options_.publishers];
        if (client.blocked || client.devices.empty()) continue;
        if (options_.qos > 0) {
            if (client.unacknowledged >= client.connection.receive_maximum()) continue;
            ++client.unacknowledged;
            if (++client.packet_id == 0) client.packet_id = 1;
        }
        const auto device = client.devices[random_() % client.devices.size()];
        const PayloadHeader header{monotonic_ns(Clock::now()), phase_number_,
                                   static_cast<std::uint32_t>(device), ledger_->send(device), 0};
        std::memcpy(payload_.data(), &header, sizeof header);
        append_publish(client.connection.out(), client.connection.protocol(), topics_[device],
                       options_.qos, client.packet_id, payload_);
        mark_dirty(client);
        ++sent_;
        return true;
    }
    return false;
}

void Load::wait_for_events(const Phase& phase) {
    nanoseconds wait = longest_wait;
    if (options_.spin && phase.interval) {
        wait = nanoseconds(0);
    } else if (sent_ < phase.messages && may_publish(phase)) {
        const auto due = phase.interval
                             ? started_ + *phase.interval * static_cast<std::int64_t>(sent_)
                             : Clock::now();
        wait = std::clamp(nanoseconds(due - Clock::now()), nanoseconds(0), wait);
    }
    std::array<epoll_event, 64> events{};
    const auto timeout = to_timespec(wait);
    const int count =
        epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
    if (count < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), "epoll_pwait2");
    }
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        auto& client = *static_cast<Client*>(event.data.ptr);
        if ((event.events & EPOLLOUT) != 0) mark_dirty(client);
        if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read(client);
    }
}

void Load::read(Client& client) {
    auto input = client.connection.receive();
    while (const auto packet = take_packet(input)) handle(client, *packet);
    client.connection.keep(input.size());
}

void Load::handle(Client& client, const Packet& packet) {
    switch (packet.type) {
        case PacketType::publish:
            handle_publish(client, packet);
            return;
        case PacketType::puback:
        case PacketType::pubrec:
        case PacketType::pubrel:
        case PacketType::pubcomp:
            handle_ack(client, packet);
            return;
        case PacketType::pingresp:
            handle_ping_response(client);
            return;
        case PacketType::disconnect:
            throw ProtocolError(client.connection.client_id() + ": disconnected by the broker");
        default:
            throw ProtocolError(client.connection.client_id() + ": unexpected packet");
    }
}

void Load::handle_publish(Client& client, const Packet& packet) {
    const auto publish = decode_publish(packet, client.connection.protocol());
    if (!client.worker || publish.payload.size() < smallest_payload) {
        throw ProtocolError(client.connection.client_id() + ": message that was never sent");
    }
    PayloadHeader header{};
    std::memcpy(&header, publish.payload.data(), sizeof header);
    if (header.phase == phase_number_) {
        const auto now = Clock::now();
        if (ledger_->receive(header.device, header.sequence, *client.worker)) {
            last_received_ = now;
            if (keep_latencies_) {
                result_->latencies.emplace_back(monotonic_ns(now) - header.published_ns);
            }
        }
    }
    if (publish.qos > 0) {
        append_ack(client.connection.out(),
                   publish.qos == 1 ? PacketType::puback : PacketType::pubrec, publish.packet_id);
        mark_dirty(client);
        if (publish.qos == 1) acknowledge(client);
    }
}

void Load::handle_ack(Client& client, const Packet& packet) {
    const auto ack = decode_ack(packet);
    if (ack.reason >= 0x80) {
        throw ProtocolError(client.connection.client_id() + ": message refused, reason " +
                            std::to_string(ack.reason));
    }
    switch (packet.type) {
        case PacketType::pubrec:
            append_ack(client.connection.out(), PacketType::pubrel, ack.packet_id);
            mark_dirty(client);
            return;
        case PacketType::pubrel:
            append_ack(client.connection.out(), PacketType::pubcomp, ack.packet_id);
            mark_dirty(client);
            acknowledge(client);
            return;
        default:  // PUBACK or PUBCOMP end a message
            if (client.unacknowledged > 0) --client.unacknowledged;
    }
}

/// Counts a PUBACK or PUBCOMP just appended for a worker's message.
void Load::acknowledge(Client& client) {
    if (++client.acknowledged - client.confirmed == most_unconfirmed) ++workers_behind_;
    if (client.acknowledged % acknowledgements_per_ping == 0) ping(client);
}

void Load::ping(Client& client) {
    append_empty(client.connection.out(), PacketType::pingreq);
    client.pings.push_back(client.acknowledged);
    ++pings_outstanding_;
    mark_dirty(client);
}

void Load::handle_ping_response(Client& client) {
    if (client.pings.empty()) {
        throw ProtocolError(client.connection.client_id() + ": PINGRESP unasked for");
    }
    const bool was_behind = client.acknowledged - client.confirmed >= most_unconfirmed;
    client.confirmed = client.pings.front();
    client.pings.pop_front();
    --pings_outstanding_;
    if (was_behind && client.acknowledged - client.confirmed < most_unconfirmed) --workers_behind_;
}

void Load::mark_dirty(Client& client) {
    if (client.dirty) return;
    client.dirty = true;
    dirty_.push_back(&client);
}

void Load::flush_dirty() {
    for (auto* client : dirty_) {
        client->dirty = false;
        const bool blocked = !client->connection.flush();
        if (blocked == client->blocked) continue;
        client->blocked = blocked;
        epoll_event event{.events = blocked ? EPOLLIN | EPOLLOUT : EPOLLIN,
                          .data = {.ptr = client}};
        epoll_ctl(epoll_, EPOLL_CTL_MOD, client->connection.fd(), &event);
    }
    dirty_.clear();
}

/// A PINGREQ of every client and its answer: all the broker was sent before has been handled. Gives
/// up at `deadline`.
void Load::barrier(Clock::time_point deadline) {
    for (int round = 0; round < 2;
         ++round) {  // the first one's answers may bring messages to acknowledge
        for (auto& client : clients_) ping(*client);
        while (pings_outstanding_ > 0 && Clock::now() < deadline) {
            flush_dirty();
            wait_for_events(Phase{});
        }
    }
}

}  // namespace keyed_sticky::bench
