// The members of one group: client sessions, with what is known of their connection and what they
// may still lack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/assignment.h"
#include "core/dispatcher.h"
#include "core/ids.h"
#include "core/time.h"

namespace keyed_sticky {

/// A record that a member was sent and may still lack.
struct SentMark {
    Slot slot{};
    Epoch epoch;  ///< under which it was sent: the mark means nothing once the slot has moved on
};

struct Member {
    enum class State : std::uint8_t {
        provisional,  ///< subscribed, but the broker has not shown yet that it accepted that: owns
                      ///< nothing
        online,
        absent,  ///< connection lost; keeps its slots until lease_until
    };
    std::string client_id;
    MemberProfile profile;
    State state = State::provisional;
    TimePoint lease_until;  ///< meaningful while absent
    bool fresh_session =
        false;               ///< while absent: it is back with a new session, yet to be confirmed
    std::uint32_t load = 0;  ///< slots owned or about to be
    /// Newest last. More than `unacked_window` of them: the oldest counts as received (settlement
    /// `recent`).
    std::deque<SentMark> window;

    bool eligible() const { return state == State::online; }
};

/// Members by number and by client id. A number is valid until erase(), and may then name another
/// member.
class MemberTable {
  public:
    /// Precondition: no member has that client id.
    MemberIndex insert(std::string_view client_id);
    void erase(MemberIndex index);

    Member& operator[](MemberIndex index) { return *members_[index]; }
    const Member& operator[](MemberIndex index) const { return *members_[index]; }
    std::optional<MemberIndex> find(std::string_view client_id) const;

    std::size_t size() const { return by_client_id_.size(); }
    /// Every number is below this.
    std::size_t capacity() const { return members_.size(); }
    /// Those who may own slots, in the order of their client ids. The views are valid until the
    /// next insert or erase.
    std::vector<EligibleMember> eligible() const;
    /// By client id, in its order.
    const std::map<std::string, MemberIndex, std::less<>>& by_client_id() const {
        return by_client_id_;
    }

  private:
    std::vector<std::optional<Member>> members_;
    std::vector<MemberIndex> free_;
    std::map<std::string, MemberIndex, std::less<>> by_client_id_;
};

}  // namespace keyed_sticky
