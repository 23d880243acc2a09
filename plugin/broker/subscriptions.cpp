#include "broker/subscriptions.h"

#include <algorithm>
#include <utility>

namespace keyed_sticky {

namespace {

/// A share name has no '/', so the first one ends it.
std::string key_of(const GroupName& name) {
    return name.share + '/' + name.filter;
}

}  // namespace

ShareMembership* Session::membership(ShareIndex group) {
    const auto found = std::ranges::find(shares, group, &ShareMembership::group);
    return found == shares.end() ? nullptr : &*found;
}

Session* Subscriptions::find(std::string_view client_id) {
    const auto found = sessions_.find(client_id);
    return found == sessions_.end() ? nullptr : found->second.get();
}

Session& Subscriptions::find_or_add(std::string_view client_id) {
    if (Session* known = find(client_id)) {
        return *known;
    }
    auto session = std::make_unique<Session>();
    session->client_id = client_id;
    return *sessions_.emplace(std::string{client_id}, std::move(session)).first->second;
}

ShareIndex Subscriptions::open_share(const GroupName& name) {
    std::string key = key_of(name);
    if (const auto found = share_of_name_.find(key); found != share_of_name_.end()) {
        return found->second;
    }
    const auto index = static_cast<ShareIndex>(shares_.size());
    shares_.push_back(ShareGroup{.name = name, .handled = std::nullopt});
    share_of_name_.emplace(std::move(key), index);
    return index;
}

void Subscriptions::subscribe(Session& session, std::string_view filter, bool no_local) {
    const auto known = std::ranges::find(session.ordinary, filter, &OrdinaryFilter::filter);
    if (known != session.ordinary.end()) {
        known->no_local = no_local;
    } else {
        session.ordinary.push_back({std::string{filter}, no_local});
    }
}

ShareMembership& Subscriptions::join(Session& session, ShareIndex group,
                                     const MemberProfile& profile) {
    if (ShareMembership* known = session.membership(group)) {
        known->profile = profile;
        return *known;
    }
    ShareGroup& joined = share(group);
    if (joined.members() == 0) {
        // The broker drops an empty group and makes it anew behind the others of its filter, as the
        // index does.
        index_.insert(joined.name.filter, static_cast<std::uint32_t>(group));
        if (undesert(group)) {
            std::erase(deserted_, group);
        }
    }
    joined.sessions.push_back(&session);
    session.shares.push_back({group, profile, false, joined.picks});
    return session.shares.back();
}

void Subscriptions::closed_if_empty(ShareIndex group) {
    const ShareGroup& left = share(group);
    if (left.members() > 0) {
        return;
    }
    index_.erase(left.name.filter, static_cast<std::uint32_t>(group));
    if (left.handled &&
        deserted_index_.insert(left.name.filter, static_cast<std::uint32_t>(group))) {
        deserted_.push_back(group);
    }
}

bool Subscriptions::undesert(ShareIndex group) {
    return deserted_index_.erase(share(group).name.filter, static_cast<std::uint32_t>(group));
}

void Subscriptions::unsubscribe(Session& session, std::string_view filter) {
    std::erase_if(session.ordinary,
                  [&](const OrdinaryFilter& known) { return known.filter == filter; });
}

void Subscriptions::leave(Session& session, ShareIndex group) {
    if (std::erase_if(session.shares,
                      [&](const ShareMembership& known) { return known.group == group; }) > 0) {
        std::erase(share(group).sessions, &session);
        closed_if_empty(group);
    }
}

void Subscriptions::retire(Session& session) {
    session.pending.reset();
    if (!session.shares.empty()) {
        auto dying = std::make_unique<Session>();
        dying->client_id = session.client_id;
        dying->connection = session.connection;
        dying->ordinary = std::move(session.ordinary);
        dying->shares = std::move(session.shares);
        for (const ShareMembership& membership : dying->shares) {
            ShareGroup& group = share(membership.group);
            std::erase(group.sessions, &session);
            ++group.dying;
        }
        dying_.push_back({std::move(dying), turn_});
    }
    session.ordinary.clear();
    session.shares.clear();
}

Session* Subscriptions::find_dying(Connection connection) {
    const auto found = std::ranges::find_if(
        dying_, [&](const Dying& dying) { return dying.session->connection == connection; });
    return found == dying_.end() ? nullptr : found->session.get();
}

void Subscriptions::turn() {
    ++turn_;
    std::erase_if(dying_, [&](const Dying& dying) {
        if (turn_ - dying.turn < 2) {
            return false;
        }
        for (const ShareMembership& membership : dying.session->shares) {
            --share(membership.group).dying;
            closed_if_empty(membership.group);
        }
        return true;
    });
}

void Subscriptions::forget_if_idle(std::string_view client_id) {
    const auto found = sessions_.find(client_id);
    if (found != sessions_.end() && found->second->idle()) {
        sessions_.erase(found);
    }
}

void Subscriptions::match(std::string_view topic, std::vector<ShareIndex>& matches) const {
    matches.clear();
    index_.match(topic, [&](std::uint32_t value) { matches.push_back(ShareIndex{value}); });
}

void Subscriptions::match_deserted(std::string_view topic, std::vector<ShareIndex>& matches) const {
    matches.clear();
    deserted_index_.match(topic,
                          [&](std::uint32_t value) { matches.push_back(ShareIndex{value}); });
}

std::uint32_t Subscriptions::ordinary_copies(const Session& session, std::string_view topic,
                                             std::optional<std::string_view> publisher) {
    const bool own = publisher == session.client_id;
    return static_cast<std::uint32_t>(
        std::ranges::count_if(session.ordinary, [&](const OrdinaryFilter& known) {
            return !(own && known.no_local) &&
                   filter_matches(SubscriptionTree::ordinary, known.filter, topic);
        }));
}

}  // namespace keyed_sticky
