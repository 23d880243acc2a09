#include "core/memory_coordinator.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace keyed_sticky {

namespace {

/// When to ask again for a claim that has no end: it may be released at any time.
constexpr Duration retry_without_lease = seconds{1};

bool runs(const std::optional<TimePoint>& lease_until, TimePoint now) {
    return !lease_until || now < *lease_until;
}

}  // namespace

MemoryCoordinator::MemoryCoordinator(MemoryStore& store, Settings settings)
    : store_(store), settings_(std::move(settings)) {}

void MemoryCoordinator::submit(CoordinatorCommand command, TimePoint now) {
    std::visit([&](auto& one) { run(one, now); }, command);
}

std::optional<CoordinatorAnswer> MemoryCoordinator::poll() {
    if (answers_.empty()) {
        return std::nullopt;
    }
    CoordinatorAnswer answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
}

void MemoryCoordinator::run(command::Claim& claim, TimePoint now) {
    MemoryStore::Group& group = store_.groups_[claim.group];
    if (group.fingerprint && *group.fingerprint != claim.fingerprint) {
        answers_.emplace_back(
            answer::FingerprintMismatch{std::move(claim.group), *group.fingerprint});
        return;
    }
    if (group.holder && group.holder->instance != settings_.instance &&
        runs(group.holder->lease_until, now)) {
        const Duration retry_in =
            group.holder->lease_until ? *group.holder->lease_until - now : retry_without_lease;
        answers_.emplace_back(
            answer::HeldByOther{std::move(claim.group), group.holder->instance, retry_in});
        return;
    }

    std::uint64_t& highest = highest_term_[claim.group];
    const std::uint64_t term = std::max({group.last_term + 1, highest + 1, settings_.first_term});
    highest = term;
    group.last_term = term;
    group.fingerprint = std::move(claim.fingerprint);
    std::optional<TimePoint> valid_until;
    if (settings_.instance_lease) {
        valid_until = now + *settings_.instance_lease;
    }
    group.holder = MemoryStore::Holder{settings_.instance, term, valid_until};
    held_[claim.group] = Held{term, valid_until};

    answer::Claimed claimed;
    claimed.group = std::move(claim.group);
    claimed.term = term;
    claimed.valid_until = valid_until;
    claimed.owners.reserve(group.owners.size());
    for (const auto& [slot, owner] : group.owners) {
        claimed.owners.push_back({slot, owner.client_id, owner.epoch});
    }
    std::erase_if(group.members,
                  [&](const auto& entry) { return !runs(entry.second.lease_until, now); });
    claimed.members.reserve(group.members.size());
    for (const auto& [client_id, member] : group.members) {
        claimed.members.push_back({client_id, member.lease_until});
    }
    answers_.emplace_back(std::move(claimed));
}

void MemoryCoordinator::run(command::Release& release, TimePoint now) {
    if (MemoryStore::Group* group = held_group(release.group, now)) {
        group->holder.reset();
    }
    held_.erase(release.group);
}

void MemoryCoordinator::run(command::RecordOwner& record, TimePoint now) {
    answer::Fenced refused{record.group, record.slot, record.epoch};
    MemoryStore::Group* group = held_group(record.group, now);
    if (group == nullptr || group->holder->term != record.epoch.term() ||
        index(record.slot) >= group->fingerprint->slots) {
        answers_.emplace_back(std::move(refused));
        return;
    }
    MemoryStore::Owner& recorded = group->owners[record.slot];
    const bool repeated = recorded.epoch == record.epoch && recorded.client_id == record.owner;
    if (!repeated && record.epoch <= recorded.epoch) {
        answers_.emplace_back(std::move(refused));
        return;
    }
    recorded = MemoryStore::Owner{std::move(record.owner), record.epoch};
    answers_.emplace_back(answer::Recorded{std::move(record.group), record.slot, record.epoch});
}

void MemoryCoordinator::run(command::MemberPresent& present, TimePoint now) {
    MemoryStore::Group& group = store_.groups_[present.group];
    group.members[std::move(present.client_id)] =
        MemoryStore::Member{settings_.instance, present_until(now), false};
}

void MemoryCoordinator::run(command::MemberGone& gone, TimePoint now) {
    const auto group = store_.groups_.find(gone.group);
    if (group == store_.groups_.end()) {
        return;
    }
    const auto member = group->second.members.find(gone.client_id);
    if (member == group->second.members.end() || member->second.instance != settings_.instance) {
        return;
    }
    if (!gone.lapse) {
        group->second.members.erase(member);
    } else if (!member->second.lapsing) {
        // Reported twice, the lease still runs from the first time.
        member->second.lapsing = true;
        member->second.lease_until = now + settings_.member_lease;
    }
}

void MemoryCoordinator::tick(TimePoint now) {
    if (!settings_.instance_lease) {
        return;
    }
    for (auto held = held_.begin(); held != held_.end();) {
        MemoryStore::Group* group = held_group(held->first, now);
        if (group == nullptr || group->holder->term != held->second.term) {
            held = held_.erase(held);
            continue;
        }
        group->holder->lease_until = now + *settings_.instance_lease;
        held->second.valid_until = group->holder->lease_until;
        ++held;
    }
    for (auto& [name, group] : store_.groups_) {
        for (auto& [client_id, member] : group.members) {
            if (member.instance == settings_.instance && !member.lapsing &&
                runs(member.lease_until, now)) {
                member.lease_until = present_until(now);
            }
        }
    }
}

bool MemoryCoordinator::holds(const GroupName& group, TimePoint now) const {
    const auto held = held_.find(group);
    return held != held_.end() && runs(held->second.valid_until, now);
}

MemoryStore::Group* MemoryCoordinator::held_group(const GroupName& name, TimePoint now) {
    const auto group = store_.groups_.find(name);
    if (group == store_.groups_.end() || !group->second.holder ||
        group->second.holder->instance != settings_.instance ||
        !runs(group->second.holder->lease_until, now)) {
        return nullptr;
    }
    return &group->second;
}

std::optional<TimePoint> MemoryCoordinator::present_until(TimePoint now) const {
    if (!settings_.instance_lease) {
        return std::nullopt;
    }
    return now + settings_.member_lease;
}

}  // namespace keyed_sticky
