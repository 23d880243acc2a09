// Loads a broker through raw MQTT connections and prints one JSON line with what it measured: see
// README.md here for the phases, and --help for the options. Exit code 0: measured (whether all
// arrived is in the JSON); 1: it could not be; 2: bad command line.
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "load.h"
#include "percentiles.h"

namespace {

using namespace keyed_sticky::bench;
using std::chrono::nanoseconds;

double seconds(nanoseconds duration) {
    return std::chrono::duration<double>(duration).count();
}
double microseconds(nanoseconds duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
}

/// One flat JSON object; the names are ours and need no escaping.
class JsonObject {
  public:
    template <class Value>
    JsonObject& add(const char* name, const Value& value) {
        out_ << (empty_ ? "{\"" : ", \"") << name << "\": " << value;
        empty_ = false;
        return *this;
    }
    std::string text() const { return empty_ ? "{}" : out_.str() + "}"; }

  private:
    std::ostringstream out_ = [] {
        std::ostringstream out;
        out << std::fixed << std::setprecision(3);
        return out;
    }();
    bool empty_ = true;
};

std::string to_json(const Delivery& delivery) {
    return JsonObject()
        .add("sent", delivery.sent)
        .add("received", delivery.received)
        .add("lost", delivery.lost())
        .add("duplicates", delivery.duplicates)
        .add("reordered", delivery.reordered)
        .add("most_workers_per_device", delivery.most_workers_per_device)
        .add("devices_on_several_workers", delivery.devices_on_several_workers)
        .add("busiest_worker", delivery.busiest_worker)
        .add("idlest_worker", delivery.idlest_worker)
        .text();
}

std::string to_json(const Percentiles& values) {
    return JsonObject()
        .add("p50", microseconds(values.p50))
        .add("p99", microseconds(values.p99))
        .add("p999", microseconds(values.p999))
        .add("max", microseconds(values.max))
        .text();
}

JsonObject common(const PhaseResult& result) {
    const auto received = static_cast<double>(result.delivery.received);
    const auto per_message = [&](nanoseconds cpu) {
        return received > 0 ? static_cast<double>(cpu.count()) / received : 0;
    };
    const auto wall = seconds(result.wall);
    const auto of_wall = [&](nanoseconds time) { return wall > 0 ? seconds(time) / wall : 0; };
    JsonObject json;
    json.add("seconds", wall)
        .add("per_second", wall > 0 ? received / wall : 0)
        .add("broker_cpu_ns_per_message", per_message(result.broker.ran))
        .add("broker_busy", of_wall(result.broker.ran))
        .add("broker_kept_waiting", of_wall(result.broker.waited))
        .add("generator_cpu_ns_per_message", per_message(result.generator.ran))
        .add("generator_kept_waiting", of_wall(result.generator.waited))
        .add("delivery", to_json(result.delivery));
    return json;
}

/// One broker's side of the comparison.
struct Subject {
    explicit Subject(const LoadOptions& options) : load(options) {}
    Load load;
    PhaseResult saturating;
    PhaseResult paced;
};

std::string to_json(const CommandLine& options, Subject& subject) {
    JsonObject json;
    json.add("qos", options.load.qos)
        .add("workers", options.load.workers)
        .add("publishers", options.load.publishers)
        .add("devices", options.load.devices)
        .add("payload", options.load.payload_size)
        .add("publisher_protocol", static_cast<int>(options.load.publisher_protocol))
        .add("worker_protocol", static_cast<int>(options.load.worker_protocol))
        .add("window", options.window)
        .add("slice", options.slice)
        .add("saturating", common(subject.saturating).text());
    if (options.paced_messages > 0) {
        auto phase = common(subject.paced);
        phase.add("rate", options.paced_rate)
            .add("window_full", subject.paced.window_full)
            .add("latency_us", to_json(percentiles(std::move(subject.paced.latencies))))
            .add("lateness_us", to_json(percentiles(std::move(subject.paced.lateness))));
        json.add("paced", phase.text());
    }
    return json.text();
}

using Subjects = std::vector<std::unique_ptr<Subject>>;

/// The phase on every subject, a slice each in turn; the order turns round from slice to slice, so
/// that whatever drifts more slowly than that falls on all alike. Ends early if a slice does not
/// finish.
void in_turn(const Subjects& subjects, Phase phase, std::uint64_t slice_size,
             PhaseResult Subject::*result) {
    for (const auto& subject : subjects) subject->load.begin();
    auto order = std::vector<Subject*>();
    for (const auto& subject : subjects) order.push_back(subject.get());
    bool finished = true;
    for (auto left = phase.messages; left > 0 && finished; left -= phase.messages) {
        phase.messages = std::min(left, slice_size);
        for (auto* subject : order) {
            finished = subject->load.run(phase, subject->*result) && finished;
        }
        std::reverse(order.begin(), order.end());
    }
}

void run(const CommandLine& options) {
    Subjects subjects;
    for (const auto& broker : options.brokers) {
        auto load = options.load;
        load.port = broker.port;
        load.broker_pid = broker.pid;
        subjects.push_back(std::make_unique<Subject>(load));
        subjects.back()->load.open();
    }

    Phase paced;
    paced.limit = options.limit;
    paced.interval =
        nanoseconds(std::chrono::seconds(1)) / static_cast<std::int64_t>(options.paced_rate);
    const auto paced_slice = std::max<std::uint64_t>(1, options.paced_rate / 2);  // half a second
    paced.messages = static_cast<std::uint64_t>(nanoseconds(options.warm_up) / *paced.interval);
    in_turn(subjects, paced, paced_slice, &Subject::paced);
    for (const auto& subject : subjects) subject->paced = {};

    Phase saturating;
    saturating.limit = options.limit;
    saturating.window = options.window;
    saturating.messages = options.messages;
    in_turn(subjects, saturating, options.slice, &Subject::saturating);

    paced.messages = options.paced_messages;
    paced.keep_latencies = true;
    in_turn(subjects, paced, paced_slice, &Subject::paced);

    for (const auto& subject : subjects) {
        subject->load.close();
        std::cout << to_json(options, *subject) << std::endl;
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const auto options = parse_command_line(argc, argv);
        if (!options) {
            std::cout << usage();
            return 0;
        }
        prctl(PR_SET_TIMERSLACK, 1UL);
        run(*options);
        return 0;
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "load_generator: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "load_generator: %s\n", error.what());
        return 1;
    }
}
