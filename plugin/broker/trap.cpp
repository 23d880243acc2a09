#include "broker/trap.h"

#include <algorithm>

namespace keyed_sticky {

void Trap::end_pass() {
    if (pass_.origin == Origin::stashed) {
        stash_.erase(pass_.address.topic);
    }
    pass_.origin = Origin::none;
    pass_.publisher = {};
    pass_.properties = nullptr;
}

void Trap::begin_pass(Origin origin, const MessageAddress& address, std::string_view topic) {
    end_pass();
    pass_.origin = origin;
    pass_.address = address;
    pass_.topic.assign(topic);
    pass_.next_share = 0;
    pass_.ordinary_seen.clear();
    subscriptions_.match(topic, pass_.matches);
    pass_.any_handled = std::ranges::any_of(pass_.matches, [&](ShareIndex index) {
        return subscriptions_.share(index).handled.has_value();
    });
}

void Trap::message(const PublishEvent& event) {
    last_.event = Last::Event::other;
    begin_pass(Origin::message, event.address, event.topic);
    // Whatever was stashed under this address, its memory holds this message now.
    stash_.erase(event.address.topic);
    pass_.publisher = event.publisher;
    pass_.properties = event.properties;
    if (event.qos != Qos::exactly_once) {
        return;
    }
    if (pass_.any_handled) {
        const auto copy = [](std::optional<std::string_view> text) {
            return text ? std::optional<std::string>{*text} : std::nullopt;
        };
        stash_.put({event.address, std::string{event.topic}, copy(event.publisher.client_id),
                    copy(event.publisher.username),
                    event.properties == nullptr ? nullptr : event.properties->clone()});
    }
    // Its pass comes with PUBREL.
    pass_.origin = Origin::none;
}

void Trap::write_check(const MessageAddress& address, std::string_view topic,
                       const Publisher& publisher) {
    end_pass();
    if (last_.event == Last::Event::subscribe && last_.retained_topic == address.topic) {
        // The broker asks again for the publisher of the retained message it has just asked for.
        return;
    }
    last_.event = Last::Event::write;
    last_.text.assign(topic);
    last_.has_client_id = publisher.client_id.has_value();
    last_.client_id.assign(publisher.client_id.value_or(""));
    last_.has_username = publisher.username.has_value();
    last_.username.assign(publisher.username.value_or(""));
}

void Trap::subscribing(std::string_view client_id, std::string_view filter, bool handled) {
    end_pass();
    last_.event = Last::Event::subscribe;
    last_.client_id.assign(client_id);
    last_.retained_topic = nullptr;
    last_.handled = handled;
    if (const auto name = parse_share_subscription(filter)) {
        last_.tree = SubscriptionTree::shared;
        last_.text = name->filter;
        if (!shares_get_retained_) {
            last_.event = Last::Event::other;
        }
    } else {
        last_.tree = SubscriptionTree::ordinary;
        last_.text.assign(filter);
    }
}

void Trap::disconnected(Connection connection, std::string_view client_id, bool session_over) {
    end_pass();
    last_.event = Last::Event::disconnect;
    last_.client_id.assign(client_id);
    last_.connection = connection;
    if (session_over) {
        stash_.erase_client(client_id);
    }
}

void Trap::other_event() {
    end_pass();
    last_.event = Last::Event::other;
}

bool Trap::in_pass(const ReadCheck& check) const {
    return pass_.origin != Origin::none && pass_.address == check.address &&
           pass_.topic == check.topic;
}

bool Trap::explains_resume(const ReadCheck& check) const {
    if (last_.event == Last::Event::write && last_.text == check.topic) {
        return false;  // a will
    }
    if (check.properties != nullptr && check.properties->user_property("ks-epoch")) {
        return true;
    }
    if (last_.event == Last::Event::disconnect) {
        return last_.client_id == check.client_id && last_.connection != check.connection;
    }
    // A websocket connection whose id is taken over raises its disconnect event later: then the
    // first sign of the new connection is that its address differs from the one that was never
    // reported as gone.
    const Session* session = subscriptions_.find(check.client_id);
    return session != nullptr && session->connected && session->connection != nullptr &&
           session->connection != check.connection &&
           subscriptions_.find_dying(check.connection) == nullptr;
}

bool Trap::explains_retained(const ReadCheck& check) const {
    return check.retain && last_.event == Last::Event::subscribe &&
           last_.client_id == check.client_id &&
           filter_matches(last_.tree, last_.text, check.topic);
}

std::optional<Verdict> Trap::outside_a_pass(const ReadCheck& check) {
    if (stash_.find(check.address, check.topic) != nullptr) {
        return std::nullopt;
    }
    if (explains_resume(check)) {
        end_pass();
        // The next stored message of this client is explained alike.
        last_.event = Last::Event::disconnect;
        last_.client_id.assign(check.client_id);
        last_.connection = nullptr;
        return Verdict{.kind = Verdict::Kind::resume,
                       .session = subscriptions_.find(check.client_id)};
    }
    if (explains_retained(check)) {
        end_pass();
        last_.retained_topic = check.address.topic;
        const bool withheld = last_.tree == SubscriptionTree::shared && last_.handled;
        return Verdict{.kind = withheld ? Verdict::Kind::withheld : Verdict::Kind::retained};
    }
    return std::nullopt;
}

void Trap::begin_pass_for(const ReadCheck& check) {
    const auto view = [](const std::optional<std::string>& text) {
        return text ? std::optional<std::string_view>{*text} : std::nullopt;
    };
    if (const StashedPublish* publish = stash_.find(check.address, check.topic)) {
        begin_pass(Origin::stashed, check.address, check.topic);
        pass_.publisher = {view(publish->client_id), view(publish->username)};
        pass_.properties = publish->properties.get();
    } else if (last_.event == Last::Event::write && last_.text == check.topic) {
        begin_pass(Origin::will, check.address, check.topic);
        if (last_.has_client_id) {
            pass_.publisher.client_id = last_.client_id;
        }
        if (last_.has_username) {
            pass_.publisher.username = last_.username;
        }
    } else {
        begin_pass(Origin::unknown, check.address, check.topic);
    }
    // What was before explains this pass at most. The texts of `last_` stay: the pass refers to
    // them.
    last_.event = Last::Event::other;
}

bool Trap::take_ordinary(const Session& session, std::string_view topic) {
    if (pass_.next_share > 0 || session.ordinary.empty()) {
        return false;
    }
    const auto copies = Subscriptions::ordinary_copies(session, topic, pass_.publisher.client_id);
    auto seen = std::ranges::find(pass_.ordinary_seen, &session,
                                  &std::pair<const Session*, std::uint32_t>::first);
    if (seen == pass_.ordinary_seen.end()) {
        pass_.ordinary_seen.emplace_back(&session, 0U);
        seen = std::prev(pass_.ordinary_seen.end());
    }
    if (seen->second >= copies) {
        return false;
    }
    ++seen->second;
    return true;
}

std::optional<ShareIndex> Trap::take_share(Session& session) {
    for (std::size_t i = pass_.next_share; i < pass_.matches.size(); ++i) {
        if (session.membership(pass_.matches[i]) != nullptr) {
            pass_.next_share = i + 1;
            return pass_.matches[i];
        }
    }
    return std::nullopt;
}

Verdict Trap::decide(const ReadCheck& check) {
    Verdict verdict;
    verdict.session = subscriptions_.find_dying(check.connection);
    verdict.dying = verdict.session != nullptr;
    if (verdict.session == nullptr) {
        verdict.session = subscriptions_.find(check.client_id);
    }
    if (verdict.session == nullptr) {
        verdict.kind = Verdict::Kind::stranger;
        return verdict;
    }
    if (verdict.session->shares.empty()) {
        verdict.kind = Verdict::Kind::ordinary;
        return verdict;
    }
    // The second time round is a pass of its own: the one before, of another message at the same
    // address, is over.
    for (int round = 0; round < 2; ++round) {
        if (take_ordinary(*verdict.session, check.topic)) {
            verdict.kind = Verdict::Kind::ordinary;
            return verdict;
        }
        verdict.share = take_share(*verdict.session);
        if (verdict.share) {
            verdict.kind = subscriptions_.share(*verdict.share).handled ? Verdict::Kind::trapped
                                                                        : Verdict::Kind::unhandled;
            return verdict;
        }
        if (pass_.certain() || pass_.next_share == 0) {
            break;
        }
        pass_.next_share = 0;
        pass_.ordinary_seen.clear();
    }
    verdict.kind = Verdict::Kind::unexplained;
    return verdict;
}

Verdict Trap::read_check(const ReadCheck& check) {
    if (!in_pass(check)) {
        if (const auto verdict = outside_a_pass(check)) {
            return *verdict;
        }
        begin_pass_for(check);
    }
    if (check.properties != nullptr) {
        pass_.properties = check.properties;
    }
    return pass_.any_handled ? decide(check) : Verdict{};
}

}  // namespace keyed_sticky
