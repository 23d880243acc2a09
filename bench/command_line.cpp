#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace keyed_sticky::bench {
namespace {

struct Option {
    std::string_view name;
    std::uint64_t least;
    std::uint64_t most;
    std::uint64_t value;  ///< the default; none if below `least`
    std::string_view text;
    std::function<void(CommandLine&, std::uint64_t)> set;
};

std::vector<Option> option_table() {
    const CommandLine d;
    const auto count = [](std::chrono::milliseconds t) {
        return static_cast<std::uint64_t>(t.count());
    };
    const auto ms = [](std::uint64_t value) { return std::chrono::milliseconds(value); };
    return {
        {"--port", 1, 65535, 0, "of a broker on 127.0.0.1; repeated: the next broker",
         [](auto& c, auto v) {
             c.brokers.push_back({static_cast<std::uint16_t>(v), 0});
         }},
        {"--broker-pid", 1, 1U << 30U, 0,
         "process of the broker just named, whose CPU time is read",
         [](auto& c, auto v) {
             if (!c.brokers.empty()) c.brokers.back().pid = static_cast<int>(v);
         }},
        {"--qos", 0, 2, 0, "of publishers and subscriptions",
         [](auto& c, auto v) { c.load.qos = static_cast<int>(v); }},
        {"--workers", 1, 4096, d.load.workers, "connections that share the subscription",
         [](auto& c, auto v) { c.load.workers = v; }},
        {"--publishers", 1, 4096, d.load.publishers, "connections that publish",
         [](auto& c, auto v) { c.load.publishers = v; }},
        {"--devices", 1, 10'000'000, d.load.devices, "topics, spread over the publishers",
         [](auto& c, auto v) { c.load.devices = v; }},
        {"--payload", smallest_payload, 1U << 20U, d.load.payload_size, "bytes",
         [](auto& c, auto v) { c.load.payload_size = v; }},
        {"--publisher-protocol", 4, 5, 5, "4 is MQTT 3.1.1",
         [](auto& c, auto v) { c.load.publisher_protocol = static_cast<Protocol>(v); }},
        {"--worker-protocol", 4, 5, 5, "4 is MQTT 3.1.1",
         [](auto& c, auto v) { c.load.worker_protocol = static_cast<Protocol>(v); }},
        {"--messages", 1, 1'000'000'000, d.messages, "of the saturating phase",
         [](auto& c, auto v) { c.messages = v; }},
        {"--window", 1, 65535, d.window, "messages outstanding in the saturating phase",
         [](auto& c, auto v) { c.window = v; }},
        {"--slice", 1, 1'000'000'000, d.slice, "of these on one broker before the next one's turn",
         [](auto& c, auto v) { c.slice = v; }},
        {"--paced-messages", 0, 1'000'000'000, d.paced_messages,
         "of the paced phase, 0: no such phase", [](auto& c, auto v) { c.paced_messages = v; }},
        {"--paced-rate", 1, 1'000'000, d.paced_rate, "messages a second in the paced phase",
         [](auto& c, auto v) { c.paced_rate = v; }},
        {"--warm-up-ms", 0, 600'000, count(d.warm_up),
         "paced and unmeasured, before the first phase",
         [ms](auto& c, auto v) { c.warm_up = ms(v); }},
        {"--limit-ms", 1, 86'400'000, count(d.limit), "after which a phase ends unfinished",
         [ms](auto& c, auto v) { c.limit = ms(v); }},
        {"--spin", 0, 1, 0, "1: poll without sleeping in the paced phase",
         [](auto& c, auto v) { c.load.spin = v == 1; }},
    };
}

std::uint64_t parse(const Option& option, std::string_view text) {
    std::uint64_t value = 0;
    const auto* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end || value < option.least || value > option.most) {
        throw std::invalid_argument(
            std::string(option.name) + ": a whole number from " + std::to_string(option.least) +
            " to " + std::to_string(option.most) + ", not '" + std::string(text) + "'");
    }
    return value;
}

}  // namespace

std::string usage() {
    std::ostringstream out;
    out << "usage: load_generator (--port PORT --broker-pid PID)... [OPTION VALUE]...\n"
           "Publishes to devices/ID/telemetry, receives on $share/ingest/devices/+/telemetry and "
           "prints a JSON line.\n";
    for (const auto& option : option_table()) {
        out << "  " << option.name << "  " << option.text << "; " << option.least << " to "
            << option.most;
        if (option.value >= option.least) out << ", default " << option.value;
        out << '\n';
    }
    return out.str();
}

std::optional<CommandLine> parse_command_line(int argc, char** argv) {
    const auto table = option_table();
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    if (std::find(words.begin(), words.end(), "--help") != words.end()) return std::nullopt;
    CommandLine parsed;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const auto option = std::find_if(table.begin(), table.end(),
                                         [&](const auto& entry) { return entry.name == words[i]; });
        if (option == table.end())
            throw std::invalid_argument("unknown option " + std::string(words[i]));
        if (i + 1 == words.size())
            throw std::invalid_argument(std::string(words[i]) + ": no value");
        option->set(parsed, parse(*option, words[i + 1]));
    }
    if (parsed.brokers.empty()) throw std::invalid_argument("--port must be given");
    for (const auto& broker : parsed.brokers) {
        if (broker.pid == 0) throw std::invalid_argument("--broker-pid must follow each --port");
    }
    return parsed;
}

}  // namespace keyed_sticky::bench
