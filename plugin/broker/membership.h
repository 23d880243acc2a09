// Turns what the broker shows of clients into members of the dispatcher, and keeps the view of its
// subscriptions true.
//
// 2.1 announces an accepted subscription. 2.0 shows its access check only, and others may refuse
// after us; but the number of the client's subscriptions grows with an accepted one, which the next
// sight of the client shows, and so does the broker picking it. A connection is seen first in
// whatever it does first; whether its session is a resumed one shows in the number of subscriptions
// it has then. Pure; main thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/broker_log.h"
#include "broker/subscriptions.h"
#include "core/dispatcher.h"
#include "core/effect.h"
#include "core/options.h"

namespace keyed_sticky {

/// A client as the broker shows it in some event.
struct ClientFacts {
    Connection connection = nullptr;
    std::string_view client_id;
    std::optional<std::string_view> username;
    int subscription_count = 0;
    bool clean = false;
    bool mqtt5 = false;
};

struct SubscribeRequest {
    std::string_view filter;  ///< as the client wrote it
    Qos granted_qos = Qos::at_most_once;
    bool no_local = false;
    std::uint32_t identifier = 0;
    bool accepted = false;  ///< nobody can refuse it any more
};

enum class ConnectionEnd : std::uint8_t {
    unknown,       ///< 2.0: lost or said good-bye, and the session may be over or not
    session_over,  ///< without the client's good-bye
    said_goodbye,  ///< and the session is over
    session_lives,
    taken_over,
};

struct MembershipCounters {
    std::uint64_t members_refused = 0;  ///< subscriptions denied by the `members` option
    std::uint64_t evicted = 0;          ///< members the broker turned out not to have
    std::uint64_t resumed = 0;          ///< sessions found to be resumed
};

class Membership {
  public:
    /// sees_all_subscriptions: no other plugin is asked before this one, which would then not be
    /// asked at all about what that one grants. Otherwise the counts prove nothing. All must
    /// outlive this object.
    Membership(const Options& options, bool sees_all_subscriptions, Subscriptions& subscriptions,
               Dispatcher& dispatcher, EffectSink& sink)
        : options_(options),
          sees_all_subscriptions_(sees_all_subscriptions),
          subscriptions_(subscriptions),
          dispatcher_(dispatcher),
          sink_(sink) {}

    /// Whether it is a share subscription to a group that is handled.
    bool handles(std::string_view filter) const;
    /// Whether the client may join what it asks for. False: deny, and do not call subscribe().
    bool may_subscribe(const ClientFacts& client, std::string_view filter, TimePoint now);
    void subscribe(const ClientFacts& client, const SubscribeRequest& request, TimePoint now);
    void unsubscribe(const ClientFacts& client, std::string_view filter, TimePoint now);
    /// The connection did something. subscribed: something only a subscribed client is asked about.
    void sighted(const ClientFacts& client, bool subscribed, TimePoint now);
    /// The broker picked the client from that group. Call sighted() before, but not for a session
    /// that is over already.
    void picked(Session& session, ShareIndex group, TimePoint now);
    /// True: the session is over, and the client's unfinished messages with it.
    bool disconnected(const ClientFacts& client, ConnectionEnd end, TimePoint now);
    /// Once in every turn of the broker's loop.
    void turn();

    /// Whether the broker surely picks a member of the group for a message, and asks about it.
    bool surely_asked_about(ShareIndex group);

    const MembershipCounters& counters() const { return counters_; }

  private:
    ShareIndex open_share(const GroupName& name);
    void resumed(Session& session, TimePoint now);
    void started_fresh(Session& session, TimePoint now);
    void verify_pending(Session& session, int count, TimePoint now);
    void accept(Session& session, ShareMembership& membership, TimePoint now);
    void evict(Session& session, ShareIndex group, std::string_view reason, TimePoint now);
    void evict_never_picked(ShareIndex group, TimePoint now);
    void depart(Session& session, ConnectionEnd end, TimePoint now);
    bool looks_taken_over(const Session& session, const ClientFacts& client) const;

    const Options& options_;
    bool sees_all_subscriptions_;
    Subscriptions& subscriptions_;
    Dispatcher& dispatcher_;
    EffectSink& sink_;
    MembershipCounters counters_;
    LogLimiter refusals_{10, seconds{10}};
};

}  // namespace keyed_sticky
