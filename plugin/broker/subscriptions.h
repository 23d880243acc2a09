// What this plugin knows of the broker's own view: which session has which subscriptions.
//
// It is apart from the dispatcher's members: a client whose lease has ended may still have a
// session, and the broker then still picks it. Pure; main thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/dispatcher.h"
#include "core/ids.h"
#include "core/topic_filter.h"
#include "core/topic_index.h"

namespace keyed_sticky {

/// The broker's `struct mosquitto` of one connection. Never dereferenced; an address may be used
/// again later, so it is compared with a session's current one only.
using Connection = const void*;

/// Index of a share group in Subscriptions. Never reused.
enum class ShareIndex : std::uint32_t {};

struct Session;

struct ShareGroup {
    GroupName name;
    std::optional<GroupId> handled;       ///< nullopt: the broker distributes it natively
    std::vector<Session*> sessions = {};  ///< believed to be in the broker's list
    std::uint32_t dying = 0;              ///< of retired sessions, see Subscriptions::retire()
    std::uint64_t picks = 0;              ///< how often the broker was seen to pick a member

    std::size_t members() const { return sessions.size() + dying; }
};

struct ShareMembership {
    ShareIndex group{};
    MemberProfile profile;
    bool accepted = false;         ///< the broker has shown that it is in its list
    std::uint64_t picks_then = 0;  ///< the group's picks when this one was last picked, or joined
};

struct OrdinaryFilter {
    std::string filter;
    bool no_local = false;  ///< 2.0 does not tell
};

/// A subscription that was asked for, whose acceptance shows in the count of the client's
/// subscriptions (2.0).
struct PendingSubscription {
    std::string filter;               ///< as the client wrote it
    std::optional<ShareIndex> share;  ///< nullopt: an ordinary one
    int count_before = 0;
    bool can_tell = false;  ///< false: a free place may have been used, or it was there already
};

struct Session {
    std::string client_id;
    Connection connection = nullptr;  ///< null: not seen yet
    bool connected = false;
    bool clean = false;  ///< its clean flag when last seen
    std::optional<PendingSubscription> pending;
    std::vector<OrdinaryFilter> ordinary;
    std::vector<ShareMembership> shares;

    ShareMembership* membership(ShareIndex group);
    bool idle() const { return ordinary.empty() && shares.empty(); }
};

class Subscriptions {
  public:
    /// The session of that id; null: none is known. Valid until it is forgotten.
    Session* find(std::string_view client_id);
    Session& find_or_add(std::string_view client_id);

    /// The group of that name, created at the first call; handled is what was given then.
    ShareIndex open_share(const GroupName& name);
    ShareGroup& share(ShareIndex index) { return shares_[static_cast<std::size_t>(index)]; }
    const ShareGroup& share(ShareIndex index) const {
        return shares_[static_cast<std::size_t>(index)];
    }
    std::size_t share_count() const { return shares_.size(); }

    /// Adds or replaces.
    void subscribe(Session& session, std::string_view filter, bool no_local);
    ShareMembership& join(Session& session, ShareIndex group, const MemberProfile& profile);
    /// Not subscribed: no effect.
    void unsubscribe(Session& session, std::string_view filter);
    void leave(Session& session, ShareIndex group);

    /// The session is over, but until the broker has cleared up it may still pick that connection:
    /// its subscriptions stay to be found by find_dying(). The session itself starts empty.
    void retire(Session& session);
    /// The retired session of that connection; null: none.
    Session* find_dying(Connection connection);
    /// The session's connection ended, whatever becomes of the session.
    void gone(Session& session) {
        session.connected = false;
        last_gone_ = turn_;
    }
    /// Whether a connection may have ended that the broker has not cleared up yet. The broker may
    /// still pick it, and then asks nobody: it has forgotten the client's id already.
    bool clearing_up() const { return last_gone_ && turn_ - *last_gone_ < 2; }
    /// To be called in every turn of the broker's loop: forgets what was retired before the turn
    /// before.
    void turn();
    /// Removes a session that has no subscriptions.
    void forget_if_idle(std::string_view client_id);

    /// Share groups with members whose filter matches, in the order in which the broker walks them.
    /// Replaces matches.
    void match(std::string_view topic, std::vector<ShareIndex>& matches) const;
    /// Handled groups that had members and have none now, whose filter matches. Replaces matches.
    void match_deserted(std::string_view topic, std::vector<ShareIndex>& matches) const;
    bool any_deserted() const { return !deserted_index_.empty(); }
    /// Stops finding deserted groups for which done(GroupId) is true: nobody is expected back.
    template <typename Done>
    void drop_deserted(Done done) {
        std::erase_if(deserted_, [&](ShareIndex index) {
            return done(*share(index).handled) && undesert(index);
        });
    }
    /// How many ordinary subscriptions of the session get a copy of a message of that publisher.
    static std::uint32_t ordinary_copies(const Session& session, std::string_view topic,
                                         std::optional<std::string_view> publisher);

    std::size_t session_count() const { return sessions_.size(); }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    struct Dying {
        std::unique_ptr<Session> session;
        std::uint64_t turn = 0;
    };

    void closed_if_empty(ShareIndex group);
    bool undesert(ShareIndex group);

    std::unordered_map<std::string, std::unique_ptr<Session>, Hash, std::equal_to<>> sessions_;
    std::vector<Dying> dying_;
    std::vector<ShareGroup> shares_;
    std::unordered_map<std::string, ShareIndex, Hash, std::equal_to<>> share_of_name_;
    TopicIndex index_{SubscriptionTree::shared};
    TopicIndex deserted_index_{SubscriptionTree::shared};
    std::vector<ShareIndex> deserted_;
    std::uint64_t turn_ = 0;
    std::optional<std::uint64_t> last_gone_;
};

}  // namespace keyed_sticky
