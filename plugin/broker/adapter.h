// The plugin at work: takes the broker's events, lets the trap judge them, keeps the members and
// dispatches.
#pragma once

#include <cstdint>
#include <optional>

#include "broker/broker_log.h"
#include "broker/compat.h"
#include "broker/effect_runner.h"
#include "broker/event_table.h"
#include "broker/main_thread.h"
#include "broker/membership.h"
#include "broker/message_properties.h"
#include "broker/option_reader.h"
#include "broker/subscriptions.h"
#include "broker/trap.h"
#include "broker/unpicked.h"
#include "core/coordinator.h"
#include "core/dispatcher.h"
#include "core/options.h"

namespace keyed_sticky {

/// Main thread only.
class Adapter final : public EventHandler {
  public:
    /// coordinator must outlive the adapter.
    Adapter(LoadedOptions loaded, Coordinator& coordinator);

    int access_check(const mosquitto_evt_acl_check& check) override;
    void message(const mosquitto_evt_message& message) override;
    void disconnected(const mosquitto_evt_disconnect& event) override;
    void tick(mosquitto_evt_tick& event) override;
    void reload() override;
    void connected(mosquitto* client) override;
    void went_offline(mosquitto* client) override;
    void subscribed(const compat::Subscription& subscription) override;
    void unsubscribed(const compat::Subscription& subscription) override;
    int undecided() const noexcept override { return not_ours_; }
    void failed(const char* what) noexcept override;

    /// One line with every counter.
    void log_counters();

  private:
    struct Counters {
        std::uint64_t traps = 0;
        std::uint64_t unpicked = 0;  ///< dispatched though the broker picked nobody
        std::uint64_t qos2_at_risk =
            0;  ///< QoS 2 messages for groups whose members were all away, see unpicked.h
        std::uint64_t passed_by = 0;    ///< messages of handled groups the broker did not ask about
        std::uint64_t unexplained = 0;  ///< checks of members that no known subscription explains
        std::uint64_t strangers = 0;    ///< checks of unknown clients on topics of handled groups
        std::uint64_t retained_withheld =
            0;                       ///< retained messages a member does not get on subscribing
        std::uint64_t failures = 0;  ///< exceptions in callbacks
    };

    int subscribe_check(const mosquitto_evt_acl_check& check);
    int unsubscribe_check(const mosquitto_evt_acl_check& check);
    int write_check(const mosquitto_evt_acl_check& check);
    int read_check(const mosquitto_evt_acl_check& check);
    int trapped(const Verdict& verdict, const mosquitto_evt_acl_check& check,
                const MessageProperties* properties, TimePoint now);
    void note_suspicious(const Verdict& verdict, const ReadCheck& check, TimePoint now);
    void end_of_connection(mosquitto* client, ConnectionEnd end);
    void keep_unpicked(const PublishEvent& event, std::string_view payload);
    /// Counts the last message if the broker surely had somebody to ask about it, and did not.
    void note_passed_by(TimePoint now);
    /// Dispatches what is still kept. Before every event, and every check of another message.
    void release_unpicked(TimePoint now);
    void do_what_is_due(TimePoint now);

    MainThread thread_;
    Options options_;
    bool asked_first_;
    int not_ours_;
    EffectRunner runner_;
    Dispatcher dispatcher_;
    Subscriptions subscriptions_;
    Membership membership_;
    Trap trap_;
    std::optional<BorrowedProperties> event_properties_;  ///< of the last message event
    std::optional<UnpickedMessage> unpicked_;
    bool trap_expected_ = false;          ///< since the last message event
    std::uint32_t passed_by_in_row_ = 0;  ///< messages since the last trap
    Counters counters_;
    LogLimiter limiter_{5, seconds{10}};
};

}  // namespace keyed_sticky
