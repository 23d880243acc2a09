#include "broker/adapter.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace keyed_sticky {

namespace {

constexpr auto longest_wait = milliseconds{100};

TimePoint clock_now() {
    return TimePoint{
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

std::optional<std::string_view> optional_text(const char* text) {
    return text == nullptr ? std::nullopt : std::optional<std::string_view>{text};
}

Publisher publisher_of(const mosquitto* client) {
    return {optional_text(mosquitto_client_id(client)),
            optional_text(mosquitto_client_username(client))};
}

ClientFacts facts_of(const mosquitto* client) {
    constexpr int mqtt5 = 5;
    return {client,
            optional_text(mosquitto_client_id(client)).value_or(""),
            optional_text(mosquitto_client_username(client)),
            mosquitto_client_sub_count(client),
            mosquitto_client_clean_session(client),
            mosquitto_client_protocol_version(client) == mqtt5};
}

/// Works for both events that carry a message: a check and a message event.
template <typename Event>
MessageAddress address_of(const Event& event) {
    return {event.topic, event.payload, event.payloadlen};
}

template <typename Event>
std::string_view payload_of(const Event& event) {
    return {static_cast<const char*>(event.payload), event.payloadlen};
}

}  // namespace

Adapter::Adapter(LoadedOptions loaded, Coordinator& coordinator)
    : options_(std::move(loaded.options)),
      asked_first_(loaded.asked_first),
      not_ours_(compat::not_ours(options_.broker_acl == BrokerAcl::present)),
      dispatcher_(options_, coordinator, runner_),
      membership_(options_, asked_first_, subscriptions_, dispatcher_, runner_),
      trap_(subscriptions_, {.shares_get_retained = compat::shares_get_retained()}) {}

void Adapter::failed(const char* what) noexcept {
    ++counters_.failures;
    try {
        if (limiter_.allow("failure", clock_now()).write) {
            broker_log(LogLevel::error, std::string{"callback_failed what="} + what);
        }
    } catch (...) {  // NOLINT(bugprone-empty-catch): counted, and there is nobody left to tell
    }
}

void Adapter::do_what_is_due(TimePoint now) {
    if (const auto deadline = dispatcher_.next_deadline(); deadline && *deadline <= now) {
        dispatcher_.tick(now);
    }
}

int Adapter::access_check(const mosquitto_evt_acl_check& check) {
    switch (check.access) {
        case MOSQ_ACL_READ:
            return read_check(check);
        case MOSQ_ACL_WRITE:
            return write_check(check);
        case MOSQ_ACL_SUBSCRIBE:
            return subscribe_check(check);
        case MOSQ_ACL_UNSUBSCRIBE:
            return unsubscribe_check(check);
        default:
            return not_ours_;
    }
}

int Adapter::write_check(const mosquitto_evt_acl_check& check) {
    if (unpicked_) {
        release_unpicked(clock_now());
    }
    trap_.write_check(address_of(check), check.topic, publisher_of(check.client));
    return not_ours_;
}

int Adapter::subscribe_check(const mosquitto_evt_acl_check& check) {
    const TimePoint now = clock_now();
    release_unpicked(now);
    const ClientFacts client = facts_of(check.client);
    trap_.subscribing(client.client_id, check.topic, membership_.handles(check.topic));
    if (!membership_.may_subscribe(client, check.topic, now)) {
        return MOSQ_ERR_ACL_DENIED;
    }
    if constexpr (compat::has_subscribe_event) {
        membership_.sighted(client, false, now);
    } else {
        membership_.subscribe(client,
                              {.filter = check.topic,
                               .granted_qos = static_cast<Qos>(check.qos),
                               .accepted = options_.broker_acl == BrokerAcl::none},
                              now);
    }
    do_what_is_due(now);
    return not_ours_;
}

int Adapter::unsubscribe_check(const mosquitto_evt_acl_check& check) {
    const TimePoint now = clock_now();
    release_unpicked(now);
    trap_.other_event();
    if constexpr (!compat::has_subscribe_event) {
        membership_.unsubscribe(facts_of(check.client), check.topic, now);
    }
    return not_ours_;
}

void Adapter::subscribed(const compat::Subscription& subscription) {
    const TimePoint now = clock_now();
    const ClientFacts client = facts_of(subscription.client);
    trap_.subscribing(client.client_id, subscription.filter,
                      membership_.handles(subscription.filter));
    membership_.subscribe(client,
                          {subscription.filter, subscription.granted_qos, subscription.no_local,
                           subscription.identifier, true},
                          now);
}

void Adapter::unsubscribed(const compat::Subscription& subscription) {
    trap_.other_event();
    membership_.unsubscribe(facts_of(subscription.client), subscription.filter, clock_now());
}

void Adapter::message(const mosquitto_evt_message& message) {
    const TimePoint now = clock_now();
    release_unpicked(now);
    do_what_is_due(now);
    event_properties_.reset();
    if (message.properties != nullptr) {
        event_properties_.emplace(message.properties);
    }
    const PublishEvent event{address_of(message), message.topic, static_cast<Qos>(message.qos),
                             publisher_of(message.client),
                             event_properties_ ? &*event_properties_ : nullptr};
    membership_.sighted(facts_of(message.client), false, now);
    note_passed_by(now);
    trap_.message(event);
    // Where another plugin is asked first, that no trap comes does not mean that nobody was served.
    if (asked_first_ && (trap_.any_handled() || subscriptions_.any_deserted())) {
        keep_unpicked(event, payload_of(message));
    }
    trap_expected_ = trap_.any_handled() && event.qos != Qos::exactly_once && !unpicked_;
}

void Adapter::note_passed_by(TimePoint now) {
    if (!trap_expected_) {
        return;
    }
    trap_expected_ = false;
    ++counters_.passed_by;
    // Single ones have other reasons: another plugin refused the message after its event.
    constexpr std::uint32_t suspicious = 3;
    if (++passed_by_in_row_ >= suspicious && limiter_.allow("passed by", now).write) {
        broker_log(
            LogLevel::error,
            "messages_passed_by reason=another plugin decides READ access before this one is "
            "asked: put this plugin's line before it in the configuration");
    }
}

void Adapter::keep_unpicked(const PublishEvent& event, std::string_view payload) {
    std::vector<ShareIndex> groups;
    subscriptions_.match_deserted(event.topic, groups);
    if (event.qos == Qos::exactly_once) {
        // Its dispatch at PUBREL will ask nobody, unless a member is back by then.
        counters_.qos2_at_risk += groups.empty() ? 0 : 1;
        return;
    }
    for (const ShareIndex group : trap_.matching_groups()) {
        if (subscriptions_.share(group).handled && !membership_.surely_asked_about(group)) {
            groups.push_back(group);
        }
    }
    if (!groups.empty()) {
        unpicked_ = UnpickedMessage::copy_of(event, payload, std::move(groups));
    }
}

void Adapter::release_unpicked(TimePoint now) {
    if (!unpicked_) {
        return;
    }
    const UnpickedMessage message = *std::exchange(unpicked_, std::nullopt);
    for (const ShareIndex index : message.groups) {
        const GroupId group = *subscriptions_.share(index).handled;
        if (dispatcher_.member_count(group) > 0) {
            ++counters_.unpicked;
            dispatcher_.dispatch(group, message.view(), message.publisher(), now);
        }
    }
}

int Adapter::read_check(const mosquitto_evt_acl_check& check) {
    const mosquitto_property* list = compat::check_properties(check);
    const BorrowedProperties properties{list};
    const ReadCheck read{
        check.client,      optional_text(mosquitto_client_id(check.client)).value_or(""),
        address_of(check), check.topic,
        check.retain,      list == nullptr ? nullptr : &properties};
    if (unpicked_ && unpicked_->address != read.address) {
        release_unpicked(clock_now());
    }
    const Verdict verdict = trap_.read_check(read);
    if (verdict.kind == Verdict::Kind::not_concerned || verdict.kind == Verdict::Kind::retained) {
        return not_ours_;
    }
    if (verdict.kind == Verdict::Kind::withheld) {
        ++counters_.retained_withheld;
        return MOSQ_ERR_ACL_DENIED;
    }
    const TimePoint now = clock_now();
    if (verdict.session != nullptr && !verdict.dying) {
        membership_.sighted(facts_of(check.client), true, now);
    }
    if (verdict.kind == Verdict::Kind::trapped) {
        return trapped(verdict, check, trap_.properties(), now);
    }
    if (verdict.kind == Verdict::Kind::unhandled && !verdict.dying) {
        membership_.picked(*verdict.session, *verdict.share, now);
    }
    note_suspicious(verdict, read, now);
    return not_ours_;
}

int Adapter::trapped(const Verdict& verdict, const mosquitto_evt_acl_check& check,
                     const MessageProperties* properties, TimePoint now) {
    ++counters_.traps;
    trap_expected_ = false;
    passed_by_in_row_ = 0;
    if (unpicked_) {
        std::erase(unpicked_->groups, *verdict.share);
    }
    if (!verdict.dying) {
        membership_.picked(*verdict.session, *verdict.share, now);
    }
    do_what_is_due(now);
    const GroupId group = *subscriptions_.share(*verdict.share).handled;
    dispatcher_.dispatch(group,
                         {check.topic, payload_of(check), static_cast<Qos>(check.qos), properties},
                         trap_.publisher(), now);
    return MOSQ_ERR_ACL_DENIED;
}

void Adapter::note_suspicious(const Verdict& verdict, const ReadCheck& check, TimePoint now) {
    const bool stranger = verdict.kind == Verdict::Kind::stranger;
    if (!stranger && verdict.kind != Verdict::Kind::unexplained) {
        return;
    }
    ++(stranger ? counters_.strangers : counters_.unexplained);
    const std::string_view kind = stranger ? "unknown_subscriber" : "unexplained_delivery";
    if (const auto allowed = limiter_.allow(kind, now); allowed.write) {
        broker_log(LogLevel::info, std::string{kind} + " client=" + std::string{check.client_id} +
                                       " left_out=" + std::to_string(allowed.left_out));
    }
}

void Adapter::disconnected(const mosquitto_evt_disconnect& event) {
    switch (compat::disconnect_reason(event)) {
        case compat::DisconnectReason::unknown:
            return end_of_connection(event.client, ConnectionEnd::unknown);
        case compat::DisconnectReason::said_goodbye:
            return end_of_connection(event.client, ConnectionEnd::said_goodbye);
        case compat::DisconnectReason::taken_over:
            return end_of_connection(event.client, ConnectionEnd::taken_over);
        case compat::DisconnectReason::other:
            return end_of_connection(event.client, ConnectionEnd::session_over);
    }
}

void Adapter::went_offline(mosquitto* client) {
    end_of_connection(client, ConnectionEnd::session_lives);
}

void Adapter::end_of_connection(mosquitto* client, ConnectionEnd end) {
    const TimePoint now = clock_now();
    release_unpicked(now);
    if (mosquitto_client_id(client) == nullptr) {
        trap_.other_event();  // it never got as far as an id
        return;
    }
    const ClientFacts facts = facts_of(client);
    const bool session_over = membership_.disconnected(facts, end, now);
    trap_.disconnected(facts.connection, facts.client_id, session_over);
    do_what_is_due(now);
}

void Adapter::connected(mosquitto* client) {
    const TimePoint now = clock_now();
    release_unpicked(now);
    trap_.other_event();
    membership_.sighted(facts_of(client), false, now);
}

void Adapter::tick(mosquitto_evt_tick& event) {
    thread_.require_here();
    const TimePoint now = clock_now();
    release_unpicked(now);
    trap_.other_event();
    membership_.turn();
    dispatcher_.tick(now);
    if (dispatcher_.next_deadline()) {
        compat::request_tick(event, longest_wait.count());
    } else {
        compat::request_tick(event, 0);
    }
}

void Adapter::reload() {
    trap_.other_event();
    log_counters();
}

void Adapter::log_counters() {
    const auto& core = dispatcher_.counters();
    const auto& members = membership_.counters();
    std::string line = "counters";
    const auto add = [&](const char* name, std::uint64_t value) {
        line += ' ';
        line += name;
        line += '=' + std::to_string(value);
    };
    add("dispatched", core.dispatched);
    add("sent", core.sent);
    add("redelivered", core.redelivered);
    add("held", core.held);
    add("dropped_overflow", core.dropped_overflow);
    add("dropped_no_member", core.dropped_no_member);
    add("dropped_no_key", core.dropped_no_key);
    add("dropped_memory", core.dropped_memory);
    add("unprotected", core.unprotected);
    add("handovers", core.handovers);
    add("keys_evicted", core.keys_evicted);
    add("traps", counters_.traps);
    add("unpicked", counters_.unpicked);
    add("qos2_at_risk", counters_.qos2_at_risk);
    add("passed_by", counters_.passed_by);
    add("unexplained", counters_.unexplained);
    add("strangers", counters_.strangers);
    add("members_refused", members.members_refused);
    add("members_evicted", members.evicted);
    add("sessions_resumed", members.resumed);
    add("retained_withheld", counters_.retained_withheld);
    add("stash_evicted", trap_.stash().evicted());
    add("failures", counters_.failures);
    broker_log(LogLevel::notice, line);
}

}  // namespace keyed_sticky
