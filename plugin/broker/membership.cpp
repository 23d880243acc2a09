#include "broker/membership.h"

#include <algorithm>
#include <vector>

#include "core/option_rules.h"
#include "core/topic_filter.h"

namespace keyed_sticky {

ShareIndex Membership::open_share(const GroupName& name) {
    const ShareIndex index = subscriptions_.open_share(name);
    ShareGroup& share = subscriptions_.share(index);
    if (!share.handled) {
        if (const GroupRule* rule = find_group_rule(options_.groups, name.share)) {
            share.handled = dispatcher_.open_group(name, *rule);
        }
    }
    return index;
}

bool Membership::handles(std::string_view filter) const {
    const auto name = parse_share_subscription(filter);
    return name && find_group_rule(options_.groups, name->share) != nullptr;
}

bool Membership::may_subscribe(const ClientFacts& client, std::string_view filter, TimePoint now) {
    const auto name = parse_share_subscription(filter);
    if (!name || find_group_rule(options_.groups, name->share) == nullptr ||
        may_join(options_.members, client.client_id, client.username)) {
        return true;
    }
    ++counters_.members_refused;
    if (refusals_.allow("member_refused", now).write) {
        sink_.log(LogLevel::notice, "member_refused client=" + std::string{client.client_id} +
                                        " share=" + name->share + " filter=" + name->filter +
                                        " reason=no_members_option_matches");
    }
    return false;
}

void Membership::subscribe(const ClientFacts& client, const SubscribeRequest& request,
                           TimePoint now) {
    sighted(client, false, now);
    Session& session = subscriptions_.find_or_add(client.client_id);
    session.connection = client.connection;
    session.connected = true;
    session.clean = client.clean;

    PendingSubscription pending{std::string{request.filter}, std::nullopt,
                                client.subscription_count};
    const std::size_t known = session.ordinary.size() + session.shares.size();
    if (const auto name = parse_share_subscription(request.filter)) {
        const ShareIndex group = open_share(*name);
        const MemberProfile profile{client.mqtt5, request.granted_qos, request.identifier,
                                    !request.accepted};
        ShareMembership& membership = subscriptions_.join(session, group, profile);
        membership.accepted = membership.accepted || request.accepted;
        membership.profile.provisional = !membership.accepted;
        if (const auto handled = subscriptions_.share(group).handled) {
            dispatcher_.join(*handled, session.client_id, membership.profile, now);
        }
        pending.share = group;
    } else {
        subscriptions_.subscribe(session, request.filter, request.no_local);
    }
    if (!request.accepted && sees_all_subscriptions_) {
        // The count is that of the broker's places for subscriptions, which it fills before it adds
        // one.
        const bool added = session.ordinary.size() + session.shares.size() > known;
        pending.can_tell = added && static_cast<std::size_t>(client.subscription_count) == known;
        session.pending = std::move(pending);
    }
}

void Membership::verify_pending(Session& session, int count, TimePoint now) {
    if (!session.pending) {
        return;
    }
    const PendingSubscription pending = *std::move(session.pending);
    session.pending.reset();
    if (count > pending.count_before) {
        if (pending.share) {
            if (ShareMembership* membership = session.membership(*pending.share)) {
                accept(session, *membership, now);
            }
        }
    } else if (count == pending.count_before && pending.can_tell) {
        if (pending.share) {
            evict(session, *pending.share, "subscription refused", now);
        } else {
            subscriptions_.unsubscribe(session, pending.filter);
        }
    }
}

void Membership::unsubscribe(const ClientFacts& client, std::string_view filter, TimePoint now) {
    sighted(client, false, now);
    Session* session = subscriptions_.find(client.client_id);
    if (session == nullptr) {
        return;
    }
    if (const auto name = parse_share_subscription(filter)) {
        const ShareIndex group = subscriptions_.open_share(*name);
        subscriptions_.leave(*session, group);
        if (const auto handled = subscriptions_.share(group).handled) {
            dispatcher_.leave(*handled, client.client_id, now);
        }
    } else {
        subscriptions_.unsubscribe(*session, filter);
    }
}

void Membership::sighted(const ClientFacts& client, bool subscribed, TimePoint now) {
    Session* session = subscriptions_.find(client.client_id);
    if (session == nullptr) {
        return;
    }
    if (session->connection == client.connection) {
        verify_pending(*session, client.subscription_count, now);
        return;
    }
    const bool lives_on = subscribed || client.subscription_count > 0;
    if (!lives_on) {
        started_fresh(*session, now);
    }
    session->connection = client.connection;
    session->connected = true;
    session->clean = client.clean;
    if (lives_on) {
        resumed(*session, now);
    }
}

void Membership::resumed(Session& session, TimePoint now) {
    ++counters_.resumed;
    session.pending.reset();
    dispatcher_.client_resumed(session.client_id, now);
    for (const ShareMembership& membership : session.shares) {
        const auto handled = subscriptions_.share(membership.group).handled;
        // Its lease has ended meanwhile, but its session has not.
        if (handled && !dispatcher_.is_member(*handled, session.client_id)) {
            dispatcher_.join(*handled, session.client_id, membership.profile, now);
        }
    }
}

void Membership::started_fresh(Session& session, TimePoint now) {
    dispatcher_.client_departed(session.client_id, Departure::connection_lost, now);
    subscriptions_.retire(session);
}

void Membership::accept(Session& session, ShareMembership& membership, TimePoint now) {
    if (membership.accepted) {
        return;
    }
    membership.accepted = true;
    membership.profile.provisional = false;
    if (const auto handled = subscriptions_.share(membership.group).handled) {
        dispatcher_.confirm_member(*handled, session.client_id, now);
    }
}

void Membership::picked(Session& session, ShareIndex group, TimePoint now) {
    ShareGroup& share = subscriptions_.share(group);
    ++share.picks;
    if (ShareMembership* membership = session.membership(group)) {
        membership->picks_then = share.picks;
        accept(session, *membership, now);
    }
    if (share.picks % (share.members() + 8) == 0) {
        evict_never_picked(group, now);
    }
}

void Membership::evict_never_picked(ShareIndex group, TimePoint now) {
    // The broker takes turns: whom it passes over three times in a row, it does not have.
    const ShareGroup& share = subscriptions_.share(group);
    const std::uint64_t patience = std::max<std::uint64_t>(8, 3 * share.members());
    const std::vector<Session*> sessions = share.sessions;
    for (Session* session : sessions) {
        const ShareMembership* membership = session->membership(group);
        if (membership == nullptr || share.picks - membership->picks_then <= patience) {
            continue;
        }
        if (session->connected) {
            evict(*session, group, "never picked by the broker", now);
        } else {
            // Its session ended with its connection. Its lease still runs: that is the dispatcher's
            // to end.
            subscriptions_.leave(*session, group);
        }
    }
}

void Membership::evict(Session& session, ShareIndex group, std::string_view reason, TimePoint now) {
    ++counters_.evicted;
    subscriptions_.leave(session, group);
    const ShareGroup& share = subscriptions_.share(group);
    if (share.handled) {
        dispatcher_.evict(*share.handled, session.client_id, reason, now);
    }
}

bool Membership::looks_taken_over(const Session& session, const ClientFacts& client) const {
    // Before it raises the event, the broker has marked the old connection as clean and moved or
    // removed its subscriptions.
    const bool had_subscription = std::ranges::any_of(session.shares, &ShareMembership::accepted);
    return !session.connected || (client.clean && !session.clean) ||
           (client.subscription_count == 0 && had_subscription);
}

void Membership::depart(Session& session, ConnectionEnd end, TimePoint now) {
    subscriptions_.gone(session);
    const auto departure =
        end == ConnectionEnd::said_goodbye ? Departure::clean_leave : Departure::connection_lost;
    dispatcher_.client_departed(session.client_id, departure, now);
}

bool Membership::disconnected(const ClientFacts& client, ConnectionEnd end, TimePoint now) {
    Session* session = subscriptions_.find(client.client_id);
    if (session == nullptr) {
        return end == ConnectionEnd::said_goodbye || end == ConnectionEnd::session_over ||
               (end == ConnectionEnd::unknown && client.clean && !client.mqtt5);
    }
    if (session->connection != nullptr && session->connection != client.connection) {
        return false;  // an old connection, cleared up late
    }
    if (end == ConnectionEnd::unknown && looks_taken_over(*session, client)) {
        end = ConnectionEnd::taken_over;
        // A client that keeps its session takes it over; one that starts afresh says so by
        // subscribing.
        const bool keeps_session =
            !session->clean || (!session->connected && session->connection != nullptr);
        depart(*session, end, now);
        session->connection = nullptr;
        if (keeps_session) {
            session->connected = true;
            dispatcher_.client_resumed(session->client_id, now);
        }
        return false;
    }
    verify_pending(*session, client.subscription_count, now);
    const bool over = end == ConnectionEnd::said_goodbye || end == ConnectionEnd::session_over ||
                      (end == ConnectionEnd::unknown && client.clean && !client.mqtt5);
    depart(*session, end, now);
    if (over) {
        subscriptions_.retire(*session);
    }
    // Without a share its ordinary subscriptions are of no interest while it is away.
    if (over || (session->shares.empty() && end == ConnectionEnd::unknown)) {
        session->ordinary.clear();
        subscriptions_.forget_if_idle(client.client_id);
    }
    return over;
}

void Membership::turn() {
    subscriptions_.turn();
    if (subscriptions_.any_deserted()) {
        subscriptions_.drop_deserted(
            [this](GroupId group) { return dispatcher_.member_count(group) == 0; });
    }
}

bool Membership::surely_asked_about(ShareIndex group) {
    if (subscriptions_.clearing_up()) {
        return false;
    }
    return std::ranges::any_of(subscriptions_.share(group).sessions, [&](Session* session) {
        const ShareMembership* membership = session->membership(group);
        return session->connected && membership != nullptr && membership->accepted;
    });
}

}  // namespace keyed_sticky
