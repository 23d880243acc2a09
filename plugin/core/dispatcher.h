// The core's face to the broker layer: membership and messages in, deliveries out (through an
// EffectSink).
//
// One Dispatcher per broker process; main thread only; no call blocks, reads a clock or throws for
// bad input.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/coordinator.h"
#include "core/counters.h"
#include "core/effect.h"
#include "core/ids.h"
#include "core/lane.h"
#include "core/message.h"
#include "core/options.h"
#include "core/time.h"

namespace keyed_sticky {

class Group;

/// Index of an open group. Valid until the Dispatcher dies; never reused for another name.
enum class GroupId : std::uint32_t {};

/// What a member's subscription says of how to deliver to it.
struct MemberProfile {
    bool mqtt5 = false;                         ///< gets the stamp
    Qos granted_qos = Qos::at_most_once;        ///< upper bound of every delivery
    std::uint32_t subscription_identifier = 0;  ///< 0: none, or not known (2.0)
    /// The broker has not shown yet that it accepted the subscription (2.0: the access check comes
    /// before other plugins may refuse). A provisional member owns no slot until confirm_member().
    bool provisional = false;
};

/// How a client's connection ended.
enum class Departure : std::uint8_t {
    connection_lost,  ///< it may come back within its lease: its slots hold
    clean_leave,      ///< it said good-bye and its session is over: its slots move at once
};

enum class DispatchOutcome : std::uint8_t {
    sent,     ///< handed to the owner's connection
    held,     ///< waits in its slot's lane, within the bounds
    dropped,  ///< counted and logged with its reason
};

class Dispatcher {
  public:
    /// coordinator and sink must outlive the dispatcher.
    Dispatcher(const Options& options, Coordinator& coordinator, EffectSink& sink);
    ~Dispatcher();
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    /// The group of that name, created at the first call. rule: the first configured rule that
    /// matches its share name; must outlive the dispatcher.
    GroupId open_group(const GroupName& name, const GroupRule& rule);
    const GroupName& name(GroupId group) const;

    /// A client subscribed. Also when it already is a member: the profile is replaced, an absent
    /// member is back.
    void join(GroupId group, std::string_view client_id, const MemberProfile& profile,
              TimePoint now);

    /// The broker was seen to pick this member: a provisional one is now confirmed. Others: no
    /// effect.
    void confirm_member(GroupId group, std::string_view client_id, TimePoint now);

    /// The client left one group by UNSUBSCRIBE. Not a member: no effect.
    void leave(GroupId group, std::string_view client_id, TimePoint now);

    /// The client was found not to be subscribed at all (refused by another plugin, or its session
    /// is gone). Its slots move at once; nothing was promised to it. Not a member: no effect.
    void evict(GroupId group, std::string_view client_id, std::string_view reason, TimePoint now);

    /// The client's connection ended, in all its groups. Not a member anywhere, or absent already:
    /// no effect.
    void client_departed(std::string_view client_id, Departure departure, TimePoint now);

    /// An absent client is connected again *and* still subscribed in its groups (a resumed session:
    /// the broker sends what it had queued by itself, nothing is repeated). A client with a fresh
    /// session comes back by join() instead: then what was unsettled went down with the old session
    /// and is sent again.
    void client_resumed(std::string_view client_id, TimePoint now);

    bool is_member(GroupId group, std::string_view client_id) const;
    /// Members of any state, absent ones included.
    std::size_t member_count(GroupId group) const;

    /// One accepted message for one group: the only way in. Deliveries, if any, happen within the
    /// call.
    DispatchOutcome dispatch(GroupId group, const MessageView& message, const Publisher& publisher,
                             TimePoint now);

    /// Does what is due: expired leases, drains, rebalances, idle keys; takes the coordinator's
    /// answers.
    void tick(TimePoint now);
    /// When tick() has something to do next, if ever.
    std::optional<TimePoint> next_deadline() const { return deadline_; }

    const Counters& counters() const { return counters_; }

  private:
    Group& group(GroupId id) const;
    Group& group(const GroupName& name) const;
    void settle_change(TimePoint now);
    void update_deadline();
    void take_answers(TimePoint now);
    void take(const answer::Claimed& answer, TimePoint now);
    void take(const answer::HeldByOther& answer, TimePoint now);
    void take(const answer::FingerprintMismatch& answer, TimePoint now);
    void take(const answer::Recorded& answer, TimePoint now);
    void take(const answer::Fenced& answer, TimePoint now);

    const Options& options_;
    Coordinator& coordinator_;
    EffectSink& sink_;
    Counters counters_;
    HeldBudget budget_;
    std::map<GroupName, GroupId> by_name_;
    std::vector<std::unique_ptr<Group>> groups_;  ///< by GroupId
    std::optional<TimePoint> deadline_;
};

}  // namespace keyed_sticky
