// Stock clients, many devices, publishers in parallel: the first thing that a user will try.

#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "support/deliveries.h"
#include "support/keyed_group.h"
#include "support/process.h"

namespace keyed_sticky::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWorkers = 3;
constexpr std::size_t kDevices = 200;
constexpr std::size_t kEach = 100;  // 20 000 records in all
constexpr std::size_t kParallel = 8;
constexpr Duration kLong{60'000};

const std::string kFilter = "devices/+/telemetry";
const std::string kEnd = "end-of-the-test";

// mosquitto_sub for each worker and mosquitto_pub for each device.
class StockClients {
  public:
    explicit StockClients(const Broker& broker) : broker_(broker) {
        std::ofstream lines(broker.directory() / "records");
        for (std::size_t i = 1; i <= kEach; ++i) lines << i << '\n';
    }

    void start_workers(int qos) {
        for (std::size_t i = 0; i < kWorkers; ++i) {
            workers_.emplace_back(
                command({"mosquitto_sub", "-i", name(i), "-q", std::to_string(qos), "-t",
                         "$share/ingest/" + kFilter, "-t", kEnd, "-F", "%t %p"}),
                Process::Files{.output = output(i)});
        }
        for (std::size_t i = 0; i < kWorkers; ++i) {
            if (!broker_.wait_for_log(name(i) + ' ' + std::to_string(qos) + ' ' + kEnd))
                throw std::runtime_error("a worker did not subscribe");
        }
    }

    // A device's records all travel over one connection, in order.
    void publish_all(int qos) const {
        std::deque<Process> running;
        for (std::size_t i = 0; i < kDevices; ++i) {
            if (running.size() == kParallel) finish_one(running);
            running.emplace_back(command({"mosquitto_pub", "-q", std::to_string(qos), "-l", "-t",
                                          "devices/d" + std::to_string(i) + "/telemetry"}),
                                 Process::Files{.input = broker_.directory() / "records"});
        }
        while (!running.empty()) finish_one(running);
    }

    // What the workers wrote once each has everything that there was for it: the last message to
    // each is one on a topic that all of them subscribe to.
    Deliveries collect(Client& publisher) {
        publisher.publish(kEnd, "0", 2);
        Deliveries deliveries;
        for (std::size_t i = 0; i < kWorkers; ++i) {
            if (!eventually([&] { return ended(i); }, kLong))
                throw std::runtime_error(name(i) + " did not get to the end");
            std::ifstream lines(output(i));
            std::string topic;
            std::string payload;
            while (lines >> topic >> payload) {
                if (topic != kEnd && payload != kWarmUp)
                    deliveries.add(name(i), topic, std::stoull(payload));
            }
        }
        return deliveries;
    }

  private:
    [[nodiscard]] std::vector<std::string> command(std::vector<std::string> words) const {
        words.insert(words.end(), {"-h", "127.0.0.1", "-p", std::to_string(broker_.port())});
        return words;
    }
    static std::string name(std::size_t worker) { return "worker-" + std::to_string(worker); }
    [[nodiscard]] fs::path output(std::size_t worker) const {
        return broker_.directory() / (name(worker) + ".records");
    }
    [[nodiscard]] bool ended(std::size_t worker) const {
        std::ifstream lines(output(worker));
        std::string line;
        while (std::getline(lines, line)) {
            if (line.starts_with(kEnd)) return true;
        }
        return false;
    }
    static void finish_one(std::deque<Process>& running) {
        EXPECT_EQ(running.front().wait(kLong), 0) << "mosquitto_pub";
        running.pop_front();
    }

    const Broker& broker_;
    std::vector<Process> workers_;
};

Deliveries run(BrokerConfig config, int qos) {
    // Nothing is dropped for want of room, with or without the plugin.
    config.global_lines = {"max_queued_messages 0"};
    config.listener_lines = {"log_type subscribe"};
    config.verbose = false;
    const bool with_plugin = config.with_plugin;
    Broker broker(config);
    Client publisher(broker, {.client_id = "publisher"});
    StockClients clients(broker);
    clients.start_workers(qos);
    if (with_plugin) {
        await_member_count(broker, publisher, "ingest", kFilter, "devices/warm-up/telemetry",
                           kWorkers);
    }
    clients.publish_all(qos);
    return clients.collect(publisher);
}

class Volume : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Qos, Volume, testing::Values(0, 1, 2),
                         [](const testing::TestParamInfo<int>& qos) {
                             return std::to_string(qos.param);
                         });

// 3 mosquitto_sub, 200 mosquitto_pub, 20 000 records: each device has one owner, and nothing is
// reordered, lost or doubled; the devices are spread evenly.
TEST_P(Volume, EveryDeviceHasOneOwnerAndItsOrder) {
    const auto deliveries = run(keyed({"ingest key=topic:2"}), GetParam());
    EXPECT_EQ(deliveries.topics(), kDevices);
    EXPECT_EQ(deliveries.shared_topics(), 0U);
    EXPECT_EQ(deliveries.reordered(), 0U);
    EXPECT_EQ(deliveries.lost(kDevices, kEach), 0U);
    EXPECT_EQ(deliveries.doubled(), 0U);
    const auto per_worker = deliveries.topics_per_receiver();
    EXPECT_EQ(per_worker.size(), kWorkers);
    for (const auto& [worker, devices] : per_worker) {
        EXPECT_NEAR(static_cast<double>(devices), double{kDevices} / kWorkers, 10.0) << worker;
    }
}

// The native control: the same load on the plain broker gives every device several workers. So the
// figures above are not due to the load.
TEST_P(Volume, NativelyDevicesAreShared) {
    const auto deliveries = run(native(), GetParam());
    EXPECT_EQ(deliveries.lost(kDevices, kEach), 0U);
    EXPECT_EQ(deliveries.doubled(), 0U);
    EXPECT_EQ(deliveries.topics_per_receiver().size(), kWorkers);
    EXPECT_GT(deliveries.shared_topics(), kDevices * 9 / 10);
}

}  // namespace
}  // namespace keyed_sticky::test
