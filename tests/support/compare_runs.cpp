#include "support/compare_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "support/random_script.h"

namespace keyed_sticky::test {
namespace {

using Copies = std::vector<Copy>;
using Total = std::map<std::tuple<std::string, std::string, std::string>, int>;

class Comparison {
  public:
    Comparison(const Script& script, const Runs& runs, bool identifiers)
        : script_(script), runs_(runs), identifiers_(identifiers) {
        for (const Step& step : script_) {
            if (step.kind == Step::Kind::kConnect) protocol_[step.client] = step.options.protocol;
            if (step.kind != Step::Kind::kSubscribe) continue;
            for (const auto& [filter, options] : step.filters) {
                if (!is_handled(filter)) continue;
                members_.insert(step.client);
                if (options.identifier) group_of_[*options.identifier] = filter;
            }
        }
    }

    std::vector<std::string> differences() {
        compare_answers();
        for (const auto& [client, protocol] : protocol_) compare_client(client, protocol);
        compare_totals("copies", total(runs_.native), total(runs_.keyed));
        const bool all_mqtt5 = std::all_of(protocol_.begin(), protocol_.end(), [](const auto& p) {
            return p.second == Protocol::kMqtt5;
        });
        if (identifiers_ && all_mqtt5) {
            compare_totals("copies of a group", by_group(runs_.native), by_group(runs_.keyed));
        }
        return std::move(found_);
    }

  private:
    static const Copies& of(const Observation& observation, const std::string& client) {
        static const Copies kNone;
        const auto found = observation.copies.find(client);
        return found == observation.copies.end() ? kNone : found->second;
    }

    void compare_answers() {
        for (std::size_t i = 0; i < script_.size(); ++i) {
            if (runs_.native.answers[i] == runs_.keyed.answers[i]) continue;
            found_.push_back("step " + std::to_string(i) + ": natively " + runs_.native.answers[i] +
                             ", with the plugin " + runs_.keyed.answers[i]);
        }
    }

    // What a client got apart from handled groups, one by one and in order.
    void compare_client(const std::string& client, Protocol protocol) {
        Copies expected = of(runs_.control, client);
        Copies actual = of(runs_.keyed, client);
        if (members_.contains(client) && protocol == Protocol::kMqtt311) {
            // Copies of a group are not marked, so: all that it must get is among what it got.
            Copies rest = actual;
            for (const Copy& copy : expected) {
                const auto at = std::find(rest.begin(), rest.end(), copy);
                if (at == rest.end()) {
                    found_.push_back(client + " lacks " + to_string(copy));
                } else {
                    rest.erase(at);
                }
            }
            const auto live = [](const Copy& copy) { return !copy.retain; };
            std::erase_if(expected, live);
            std::erase_if(actual, live);
        } else if (members_.contains(client)) {
            std::erase_if(actual, [](const Copy& copy) { return copy.stamped(); });
        }
        compare_copies(client, expected, actual);
    }

    void compare_copies(const std::string& client, const Copies& expected, const Copies& actual) {
        if (expected == actual) return;
        const auto ends =
            std::mismatch(expected.begin(), expected.end(), actual.begin(), actual.end());
        const auto describe = [](const Copies& copies, Copies::const_iterator at) {
            return at == copies.end() ? std::string("nothing more") : to_string(*at);
        };
        found_.push_back(client + ": copy " + std::to_string(ends.first - expected.begin()) +
                         " is natively " + describe(expected, ends.first) + ", with the plugin " +
                         describe(actual, ends.second) + " (" + std::to_string(expected.size()) +
                         " and " + std::to_string(actual.size()) + " in all)");
    }

    // Of live messages: Mosquitto 2.0 sends retained ones to share subscriptions too, against the
    // standard, and the plugin withholds them from members.
    static Total total(const Observation& observation) {
        Total result;
        for (const auto& [client, copies] : observation.copies) {
            for (const Copy& copy : copies) {
                if (!copy.retain) ++result[{"", copy.topic, copy.payload}];
            }
        }
        return result;
    }

    Total by_group(const Observation& observation) const {
        Total result;
        for (const auto& [client, copies] : observation.copies) {
            for (const Copy& copy : copies) {
                for (const auto id : copy.properties.subscription_identifiers) {
                    const auto group = group_of_.find(id);
                    if (group != group_of_.end())
                        ++result[{group->second, copy.topic, copy.payload}];
                }
            }
        }
        return result;
    }

    void compare_totals(const std::string& what, const Total& expected, const Total& actual) {
        Total both = expected;
        both.insert(actual.begin(), actual.end());
        for (const auto& at : both) compare_total(what, at.first, expected, actual);
    }

    void compare_total(const std::string& what, const Total::key_type& message,
                       const Total& expected, const Total& actual) {
        const auto count = [&message](const Total& in) {
            const auto at = in.find(message);
            return at == in.end() ? 0 : at->second;
        };
        if (count(expected) == count(actual)) return;
        std::ostringstream line;
        line << what << ' ' << std::get<0>(message) << " of '" << std::get<2>(message) << "' on "
             << std::get<1>(message) << ": natively " << count(expected) << ", with the plugin "
             << count(actual);
        found_.push_back(line.str());
    }

    const Script& script_;
    const Runs& runs_;
    bool identifiers_;
    std::map<std::string, Protocol> protocol_;
    std::set<std::string> members_;
    std::map<std::uint32_t, std::string> group_of_;
    std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> differences(const Script& script, const Runs& runs, bool identifiers) {
    return Comparison(script, runs, identifiers).differences();
}

}  // namespace keyed_sticky::test
