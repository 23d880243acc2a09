// The trap against a model of the broker that knows the truth of every check: random clients,
// overlapping filters, groups handled and not, all ways in which a message comes, interleaved.
// Seeds are printed with a failure.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "broker_script.h"

namespace keyed_sticky::test {
namespace {

using Kind = Verdict::Kind;

constexpr std::array filters{"dev/#", "dev/+/up", "dev/k1/up", "+/k1/+", "#", "other/+"};
constexpr std::array topics{"dev/k1/up", "dev/k2/up", "dev/k1", "other/x", "$SYS/x"};
constexpr std::array clients{"a", "b", "c", "d"};

struct ModelGroup {
    std::string share;
    std::string filter;
    bool handled = false;
    std::deque<std::string> turn;  ///< whose turn it is, as the broker rotates them
    int created = 0;
};

class Model {
  public:
    explicit Model(unsigned seed) : random_(seed) {}

    void run(int steps) {
        for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
            switch (pick(8)) {
                case 0:
                    toggle_share();
                    break;
                case 1:
                    toggle_ordinary();
                    break;
                case 2:
                    script_.trap.other_event();
                    break;
                case 3:
                    unannounced(false);
                    break;
                case 4:
                    unannounced(true);
                    break;
                case 5:
                    release();
                    break;
                default:
                    publish();
                    break;
            }
        }
    }

  private:
    std::size_t pick(std::size_t bound) {
        return std::uniform_int_distribution<std::size_t>{0, bound - 1}(random_);
    }
    template <typename Array>
    std::string one_of(const Array& choices) {
        return choices[pick(choices.size())];
    }

    void toggle_share() {
        const std::string client = one_of(clients);
        const std::string filter = one_of(filters);
        const std::string share = one_of(std::array{"g1", "g2", "native"});
        const std::string name = "$share/" + share + "/" + filter;
        auto group = std::ranges::find_if(groups_, [&](const ModelGroup& known) {
            return known.share == share && known.filter == filter;
        });
        if (group == groups_.end()) {
            groups_.push_back({share, filter, share != "native", {}, ++created_});
            group = std::prev(groups_.end());
        }
        if (std::erase(group->turn, client) > 0) {
            script_.trap.other_event();
            script_.subscriptions.leave(script_.client(client),
                                        script_.subscriptions.open_share({share, filter}));
            if (group->turn.empty()) {
                groups_.erase(group);
            }
        } else {
            script_.subscribe(client, name, group->handled);
            group->turn.push_back(client);
        }
    }

    void toggle_ordinary() {
        const std::pair subscription{one_of(clients), one_of(filters)};
        if (std::erase(ordinary_, subscription) > 0) {
            script_.trap.other_event();
            script_.subscriptions.unsubscribe(script_.client(subscription.first),
                                              subscription.second);
        } else {
            script_.subscribe(subscription.first, subscription.second);
            ordinary_.push_back(subscription);
        }
    }

    StoredMessage& store() {
        StoredMessage* message = nullptr;
        if (pick(2) == 0 && !free_.empty()) {  // the broker's allocator hands memory out again
            message = free_.back();
            free_.pop_back();
        } else {
            message = stored_.emplace_back(std::make_unique<StoredMessage>()).get();
        }
        message->topic = one_of(topics);
        return *message;
    }

    void publish() {
        StoredMessage& message = store();
        const auto qos = static_cast<Qos>(pick(3));
        script_.message_event(message, qos);
        if (qos == Qos::exactly_once) {
            unreleased_.push_back(&message);
        } else {
            serve(message);
        }
    }

    void release() {
        if (!unreleased_.empty()) {
            const auto chosen =
                unreleased_.begin() + static_cast<std::ptrdiff_t>(pick(unreleased_.size()));
            StoredMessage& message = **chosen;
            unreleased_.erase(chosen);
            serve(message);
        }
    }

    void unannounced(bool will) {
        StoredMessage& message = store();
        if (will) {
            script_.trap.write_check({}, message.topic, {"leaver", std::nullopt});
        } else {
            script_.trap.other_event();
        }
        serve(message);
    }

    /// One pass, every check with its truth.
    void serve(StoredMessage& message) {
        const bool concerned = std::ranges::any_of(groups_, [&](const ModelGroup& group) {
            return group.handled && matches(SubscriptionTree::shared, group.filter, message);
        });
        for (const auto& [client, filter] : ordinary_) {
            if (matches(SubscriptionTree::ordinary, filter, message)) {
                const Kind got = script_.kind(client, message);
                EXPECT_EQ(got, concerned ? Kind::ordinary : Kind::not_concerned) << message.topic;
            }
        }
        std::vector<ModelGroup*> reached;
        for (ModelGroup& group : groups_) {
            if (matches(SubscriptionTree::shared, group.filter, message)) {
                reached.push_back(&group);
            }
        }
        std::ranges::sort(reached, [](const ModelGroup* left, const ModelGroup* right) {
            return left->filter == right->filter ? left->created < right->created
                                                 : walk_before(left->filter, right->filter);
        });
        for (ModelGroup* group : reached) {
            const std::string client = group->turn.front();
            const Verdict verdict = script_.check(client, message);
            group->turn.pop_front();
            group->turn.push_back(client);
            if (concerned) {
                EXPECT_EQ(verdict.kind, group->handled ? Kind::trapped : Kind::unhandled);
                EXPECT_EQ(script_.group_of(verdict), group->share + "/" + group->filter);
            } else {
                EXPECT_EQ(verdict.kind, Kind::not_concerned);
            }
        }
        free_.push_back(&message);
    }

    static bool matches(SubscriptionTree tree, const std::string& filter,
                        const StoredMessage& message) {
        return filter_matches(tree, filter, message.topic);
    }

    std::mt19937 random_;
    BrokerScript script_;
    std::vector<ModelGroup> groups_;
    std::vector<std::pair<std::string, std::string>> ordinary_;
    std::vector<std::unique_ptr<StoredMessage>> stored_;
    std::vector<StoredMessage*> unreleased_;
    std::vector<StoredMessage*> free_;
    int created_ = 0;
};

// Promise: as long as the subscriptions are known, every check is judged as what it is.
TEST(TrapModel, EveryCheckIsJudgedTruly) {
    for (unsigned seed = 1; seed <= 300 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Model{seed}.run(400);
    }
}

}  // namespace
}  // namespace keyed_sticky::test
