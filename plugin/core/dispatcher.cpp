#include "core/dispatcher.h"

#include <algorithm>

#include "core/group.h"

namespace keyed_sticky {

Dispatcher::Dispatcher(const Options& options, Coordinator& coordinator, EffectSink& sink)
    : options_(options),
      coordinator_(coordinator),
      sink_(sink),
      budget_(options.max_held_messages, options.max_held_bytes) {}

Dispatcher::~Dispatcher() = default;

GroupId Dispatcher::open_group(const GroupName& name, const GroupRule& rule) {
    const auto [entry, is_new] =
        by_name_.try_emplace(name, GroupId{static_cast<std::uint32_t>(groups_.size())});
    if (is_new) {
        GroupContext context{options_,  coordinator_, sink_,
                             counters_, budget_,      [this](TimePoint at) { take_answers(at); }};
        groups_.push_back(std::make_unique<Group>(std::move(context), name, rule));
    }
    return entry->second;
}

const GroupName& Dispatcher::name(GroupId id) const {
    return group(id).name();
}

void Dispatcher::join(GroupId id, std::string_view client_id, const MemberProfile& profile,
                      TimePoint now) {
    group(id).join(client_id, profile, now);
    settle_change(now);
}

void Dispatcher::confirm_member(GroupId id, std::string_view client_id, TimePoint now) {
    group(id).confirm_member(client_id, now);
    settle_change(now);
}

void Dispatcher::leave(GroupId id, std::string_view client_id, TimePoint now) {
    group(id).leave(client_id, now);
    settle_change(now);
}

void Dispatcher::evict(GroupId id, std::string_view client_id, std::string_view reason,
                       TimePoint now) {
    group(id).evict(client_id, reason, now);
    settle_change(now);
}

void Dispatcher::client_departed(std::string_view client_id, Departure departure, TimePoint now) {
    for (const auto& group : groups_) {
        group->client_departed(client_id, departure, now);
    }
    settle_change(now);
}

void Dispatcher::client_resumed(std::string_view client_id, TimePoint now) {
    for (const auto& group : groups_) {
        group->client_resumed(client_id, now);
    }
    settle_change(now);
}

bool Dispatcher::is_member(GroupId id, std::string_view client_id) const {
    return group(id).members().find(client_id).has_value();
}

std::size_t Dispatcher::member_count(GroupId id) const {
    return group(id).members().size();
}

DispatchOutcome Dispatcher::dispatch(GroupId id, const MessageView& message,
                                     const Publisher& publisher, TimePoint now) {
    Group& to = group(id);
    const std::optional<TimePoint> deadline_before = to.next_deadline();
    const DispatchOutcome outcome = to.dispatch(message, publisher, now);
    if (to.next_deadline() != deadline_before) {
        update_deadline();
    }
    return outcome;
}

void Dispatcher::tick(TimePoint now) {
    take_answers(now);
    for (const auto& group : groups_) {
        if (group->next_deadline() && *group->next_deadline() <= now) {
            group->tick(now);
        }
    }
    settle_change(now);
}

void Dispatcher::settle_change(TimePoint now) {
    take_answers(now);
    update_deadline();
}

void Dispatcher::update_deadline() {
    deadline_.reset();
    for (const auto& group : groups_) {
        const std::optional<TimePoint> at = group->next_deadline();
        if (at && (!deadline_ || *at < *deadline_)) {
            deadline_ = at;
        }
    }
}

void Dispatcher::take_answers(TimePoint now) {
    while (const std::optional<CoordinatorAnswer> answer = coordinator_.poll()) {
        std::visit([this, now](const auto& each) { take(each, now); }, *answer);
    }
}

void Dispatcher::take(const answer::Claimed& answer, TimePoint now) {
    group(answer.group).on_claimed(answer, now);
}

void Dispatcher::take(const answer::HeldByOther& answer, TimePoint now) {
    group(answer.group).on_held_by_other(answer, now);
}

void Dispatcher::take(const answer::FingerprintMismatch& answer, TimePoint) {
    group(answer.group).on_fingerprint_mismatch(answer);
}

void Dispatcher::take(const answer::Recorded& answer, TimePoint) {
    group(answer.group).on_recorded(answer.slot, answer.epoch);
}

void Dispatcher::take(const answer::Fenced& answer, TimePoint now) {
    group(answer.group).on_fenced(answer.slot, answer.epoch, now);
}

Group& Dispatcher::group(GroupId id) const {
    return *groups_[static_cast<std::size_t>(id)];
}

Group& Dispatcher::group(const GroupName& name) const {
    return group(by_name_.at(name));
}

}  // namespace keyed_sticky
