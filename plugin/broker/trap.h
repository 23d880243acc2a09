// Decides for each READ access check what the broker is doing: the dispatch of a message to a
// group's picked member (a trap), or one of the many other things that ask the same question.
//
// The broker serves one message by one pass over its subscriptions: the ordinary ones first, then
// one pick from each share group, always in the same order. Nothing in a check says which of them
// it is for. So every event is reported here, in the order in which it comes, and each check is
// read in the light of what was before it:
//
// - A pass follows a message event of QoS 0 or 1 at once, with the same addresses; a QoS 2 message
// is dispatched later, and
//   found again in the stash. Such a pass is certain. Wills and messages of other plugins are
//   passes that nothing announces.
// - On resume the broker asks for every message the session has stored, right after the old
// connection's disconnect event.
// - After a SUBSCRIBE it asks for every retained message that matches. 2.0 does so for share
// subscriptions too, against MQTT
//   5 section 4.8.2; members of handled groups get none.
//
// Pure; main thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/qos2_stash.h"
#include "broker/subscriptions.h"
#include "core/message.h"

namespace keyed_sticky {

/// A message event. Everything borrowed stays valid until the next event.
struct PublishEvent {
    MessageAddress address;
    std::string_view topic;
    Qos qos = Qos::at_most_once;
    Publisher publisher;
    const MessageProperties* properties = nullptr;
};

/// A READ access check.
struct ReadCheck {
    Connection connection = nullptr;
    std::string_view client_id;
    MessageAddress address;
    std::string_view topic;
    bool retain = false;
    const MessageProperties* properties = nullptr;  ///< null on 2.0: not shown there
};

struct Verdict {
    enum class Kind : std::uint8_t {
        not_concerned,  ///< no handled group could be meant: not ours
        resume,         ///< a stored message of a resumed session: not ours, and evidence of the
                        ///< resumption
        retained,       ///< a retained message for a new subscription: not ours
        withheld,       ///< the same for one of a handled group: deny
        ordinary,       ///< the copy of an ordinary subscription: not ours
        unhandled,      ///< the pick of a group that is not handled: not ours
        trapped,        ///< the pick of a handled group: dispatch it once, and deny
        unexplained,    ///< no subscription that is known explains it: not ours, to be counted
        stranger,  ///< the same for a client without any known subscription, on a handled topic
    };
    Kind kind = Kind::not_concerned;
    Session* session = nullptr;  ///< set from `ordinary` on, except for strangers
    bool dying = false;          ///< the session is over already: no evidence of anything
    std::optional<ShareIndex> share = std::nullopt;  ///< with trapped and unhandled
};

class Trap {
  public:
    struct Settings {
        std::size_t max_stashed = 100'000;
        std::size_t max_stashed_bytes = std::size_t{64} * 1024 * 1024;
        bool shares_get_retained =
            false;  ///< the broker sends retained messages to share subscriptions (2.0)
    };
    /// subscriptions must outlive the trap.
    Trap(Subscriptions& subscriptions, const Settings& settings)
        : subscriptions_(subscriptions),
          stash_(settings.max_stashed, settings.max_stashed_bytes),
          shares_get_retained_(settings.shares_get_retained) {}

    /// Remembers a QoS 2 message if a handled group will want it. Handled groups that match are
    /// matching_groups() then.
    void message(const PublishEvent& event);
    void write_check(const MessageAddress& address, std::string_view topic,
                     const Publisher& publisher);
    /// filter: as the client wrote it. handled: of a share subscription, whether its group is.
    void subscribing(std::string_view client_id, std::string_view filter, bool handled);
    void disconnected(Connection connection, std::string_view client_id, bool session_over);
    /// Any other event: whatever the broker was doing, it is done.
    void other_event();

    Verdict read_check(const ReadCheck& check);

    // About the pass of the last message event or check, until the next event.
    const Publisher& publisher() const { return pass_.publisher; }
    /// Valid until the next event or check.
    const MessageProperties* properties() const { return pass_.properties; }
    /// Groups that match its topic, in the broker's order, unhandled ones included.
    const std::vector<ShareIndex>& matching_groups() const { return pass_.matches; }
    bool any_handled() const { return pass_.any_handled; }

    const Qos2Stash& stash() const { return stash_; }

  private:
    enum class Origin : std::uint8_t { none, message, stashed, will, unknown };

    struct Pass {
        Origin origin = Origin::none;
        MessageAddress address;
        std::string topic;
        Publisher publisher;
        const MessageProperties* properties = nullptr;
        std::vector<ShareIndex> matches;
        bool any_handled = false;
        std::size_t next_share = 0;  ///< in matches: the broker has served those before
        std::vector<std::pair<const Session*, std::uint32_t>> ordinary_seen;
        bool certain() const { return origin == Origin::message || origin == Origin::stashed; }
    };

    /// What came last, as far as it explains the checks after it.
    struct Last {
        enum class Event : std::uint8_t { other, write, subscribe, disconnect };
        Event event = Event::other;
        std::string client_id;       ///< subscribe, disconnect; write: the publisher
        bool has_client_id = false;  ///< write
        std::string username;        ///< write
        bool has_username = false;   ///< write
        std::string text;  ///< subscribe: the filter, without its share name; write: the topic
        SubscriptionTree tree = SubscriptionTree::ordinary;  ///< subscribe
        bool handled = false;                                ///< subscribe: to a handled group
        Connection connection = nullptr;       ///< disconnect: the connection that ended
        const void* retained_topic = nullptr;  ///< subscribe: topic of the last retained message
    };

    void end_pass();
    void begin_pass(Origin origin, const MessageAddress& address, std::string_view topic);
    bool in_pass(const ReadCheck& check) const;
    std::optional<Verdict> outside_a_pass(const ReadCheck& check);
    void begin_pass_for(const ReadCheck& check);
    bool explains_resume(const ReadCheck& check) const;
    bool explains_retained(const ReadCheck& check) const;
    Verdict decide(const ReadCheck& check);
    bool take_ordinary(const Session& session, std::string_view topic);
    std::optional<ShareIndex> take_share(Session& session);

    Subscriptions& subscriptions_;
    Qos2Stash stash_;
    bool shares_get_retained_;
    Pass pass_;
    Last last_;
};

}  // namespace keyed_sticky
