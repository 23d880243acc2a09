#include "support/random_script.h"

#include <array>
#include <map>
#include <random>
#include <vector>

namespace keyed_sticky::test {
namespace {

class Generator {
  public:
    Generator(std::uint32_t seed, int protocols, bool with_no_local)
        : random_(seed),
          protocols_(protocols),
          with_no_local_(with_no_local),
          prefix_('s' + std::to_string(seed)) {}

    Script generate(std::size_t steps) {
        for (int i = 0; i < 4; ++i) connect(i);
        connect_device();
        while (script_.size() < steps) step();
        return std::move(script_);
    }

  private:
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(random_() % limit);
    }
    bool chance(std::uint32_t percent) { return below(100) < percent; }
    template <typename T, std::size_t N>
    const T& one_of(const std::array<T, N>& choices) {
        return choices[below(N)];
    }

    std::string name(int i) const { return prefix_ + "-c" + std::to_string(i); }
    std::string any_client() { return name(static_cast<int>(below(4))); }
    std::string device() const { return prefix_ + "-device"; }

    Protocol protocol() {
        if (protocols_ != 0) return static_cast<Protocol>(protocols_);
        return chance(50) ? Protocol::kMqtt5 : Protocol::kMqtt311;
    }

    void connect(int i) {
        protocol_[name(i)] = protocol();
        script_.push_back({.kind = Step::Kind::kConnect,
                           .client = name(i),
                           .options = {.protocol = protocol_[name(i)]}});
    }

    void connect_device() {
        const Will will{.topic = topic(),
                        .payload = "will" + std::to_string(script_.size()),
                        .qos = static_cast<int>(below(3)),
                        .retain = chance(30)};
        protocol_[device()] = protocol();
        script_.push_back({.kind = Step::Kind::kConnect,
                           .client = device(),
                           .options = {.protocol = protocol_[device()], .will = will}});
    }

    // `$` at the front of a topic or filter, which wildcards must not match.
    std::string topic() {
        static const std::array<std::string, 12> kTopics{
            "/dev/k0/up", "/dev/k1/up", "/dev/k2/up", "/dev/k1/down", "/dev//up",    "/dev",
            "/dev/k3/up", "/x/k1/up",   "",           "/dev/k0/up",   "/dev/k1/up/", "/dev/k1/up"};
        if (chance(8)) return (chance(50) ? "$top/" : "top/") + prefix_ + "/up";
        return (chance(8) ? "$" : "") + prefix_ + one_of(kTopics);
    }

    std::string ordinary_filter() {
        static const std::array<std::string, 8> kFilters{"/dev/#",     "/dev/+/up", "/+/k1/up",
                                                         "/dev/k1/up", "/#",        "/dev//up",
                                                         "/+/+/+",     "/dev/+/#"};
        if (chance(8)) return "+/" + prefix_ + "/#";
        return (chance(8) ? "$" : "") + prefix_ + one_of(kFilters);
    }

    std::string filter() {
        if (chance(45)) return ordinary_filter();
        static const std::array<std::string, 5> kShares{"handled1", "handled1", "handled2",
                                                        "native1", "native2"};
        // A group of this script only: members that are gone keep their leases for a while.
        return "$share/" + one_of(kShares) + '-' + prefix_ + '/' + ordinary_filter();
    }

    void step() {
        const auto dice = below(100);
        if (dice < 30) {
            subscribe();
        } else if (dice < 40 && !subscribed_.empty()) {
            unsubscribe();
        } else if (dice < 44) {
            script_.push_back({.kind = Step::Kind::kDrop, .client = device()});
            connect_device();
        } else {
            publish();
        }
    }

    void subscribe() {
        Step step{.kind = Step::Kind::kSubscribe, .client = any_client()};
        SubscribeOptions options{.qos = static_cast<int>(below(3))};
        const auto chosen = filter();
        if (protocol_[step.client] == Protocol::kMqtt5) {
            options.no_local = with_no_local_ && !chosen.starts_with("$share/") && chance(30);
            // A handled group's records never have the retain flag.
            options.retain_as_published = !is_handled(chosen) && chance(30);
            options.retain_handling = static_cast<int>(below(3));
            options.identifier = static_cast<std::uint32_t>(script_.size() + 1);
        }
        step.filters = {{chosen, options}};
        subscribed_.emplace_back(step.client, chosen);
        script_.push_back(step);
    }

    void unsubscribe() {
        const auto [client, chosen] =
            subscribed_[below(static_cast<std::uint32_t>(subscribed_.size()))];
        script_.push_back(
            {.kind = Step::Kind::kUnsubscribe,
             .client = client,
             .filters = {{chance(10) ? std::string("never/subscribed") : chosen, {}}}});
    }

    void publish() {
        Step step{.kind = Step::Kind::kPublish, .client = chance(20) ? device() : any_client()};
        step.publish = {.topic = topic(),
                        .payload = chance(5) ? "" : "m" + std::to_string(script_.size()),
                        .qos = static_cast<int>(below(3)),
                        .retain = chance(25)};
        if (protocol_[step.client] == Protocol::kMqtt5 && chance(50))
            step.publish.properties.user = {{"name", std::to_string(script_.size())}};
        script_.push_back(step);
    }

    std::mt19937 random_;
    int protocols_;
    bool with_no_local_;
    std::string prefix_;
    Script script_;
    std::map<std::string, Protocol> protocol_;
    std::vector<std::pair<std::string, std::string>> subscribed_;
};

}  // namespace

bool is_handled(const std::string& filter) {
    return filter.starts_with(std::string("$share/") + kHandledShare);
}

Script random_script(std::uint32_t seed, int protocols, bool with_no_local) {
    constexpr std::size_t kSteps = 60;
    return Generator(seed, protocols, with_no_local).generate(kSteps);
}

Script without_handled_groups(const Script& script) {
    Script result;
    for (Step step : script) {
        const bool had_filters = !step.filters.empty();
        std::erase_if(step.filters,
                      [](const RawFilter& filter) { return is_handled(filter.filter); });
        if (!had_filters || !step.filters.empty()) result.push_back(step);
    }
    return result;
}

}  // namespace keyed_sticky::test
