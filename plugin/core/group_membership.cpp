// Who comes and who goes.
#include <utility>

#include "core/group.h"

namespace keyed_sticky {

void Group::join(std::string_view client_id, const MemberProfile& profile, TimePoint now) {
    std::optional<MemberIndex> known = members_.find(client_id);
    if (!known) {
        known = members_.insert(client_id);
    }
    Member& member = members_[*known];
    member.profile = profile;
    member.fresh_session = member.state == Member::State::absent;
    if (!profile.provisional && member.state != Member::State::online) {
        make_online(*known, now);
    }
    update_deadline();
}

void Group::confirm_member(std::string_view client_id, TimePoint now) {
    const std::optional<MemberIndex> known = members_.find(client_id);
    if (!known) {
        return;
    }
    Member& member = members_[*known];
    if (member.state == Member::State::provisional || member.fresh_session) {
        make_online(*known, now);
        update_deadline();
    }
}

void Group::leave(std::string_view client_id, TimePoint now) {
    if (const auto known = members_.find(client_id)) {
        remove_member(*known, HandoverCause::unsubscribed, now);
        update_deadline();
    }
}

void Group::evict(std::string_view client_id, std::string_view reason, TimePoint now) {
    if (const auto known = members_.find(client_id)) {
        context_.sink.log(LogLevel::notice, "member_evicted reason=" + std::string(reason) +
                                                description() +
                                                " client=" + std::string(client_id));
        remove_member(*known, HandoverCause::unsubscribed, now);
        update_deadline();
    }
}

void Group::client_departed(std::string_view client_id, Departure departure, TimePoint now) {
    const std::optional<MemberIndex> known = members_.find(client_id);
    if (!known) {
        return;
    }
    Member& member = members_[*known];
    if (departure == Departure::clean_leave || member.state == Member::State::provisional) {
        remove_member(*known, HandoverCause::disconnected, now);
    } else if (member.state == Member::State::online) {
        member.state = Member::State::absent;
        member.fresh_session = false;
        member.lease_until = now + context_.options.lease_timeout;
        context_.coordinator.submit(command::MemberGone{name_, member.client_id, true}, now);
        context_.sink.log(LogLevel::info, "member_absent" + description() +
                                              " client=" + member.client_id +
                                              " slots=" + std::to_string(member.load));
    } else {
        member.fresh_session = false;  // it came back, and was lost again before it was confirmed
    }
    update_deadline();
}

void Group::client_resumed(std::string_view client_id, TimePoint now) {
    const std::optional<MemberIndex> known = members_.find(client_id);
    if (known && members_[*known].state == Member::State::absent) {
        members_[*known].fresh_session = false;
        make_online(*known, now);
        update_deadline();
    }
}

void Group::make_online(MemberIndex index, TimePoint now) {
    Member& member = members_[index];
    member.state = Member::State::online;
    nobody_since_.reset();
    if (std::exchange(member.fresh_session, false)) {
        // Whatever its old session had not acknowledged went down with that session.
        member.window.clear();
        for (SlotState* slot : in_use_) {
            if (slot->phase != SlotState::Phase::unowned && slot->owner == index) {
                slot->redeliver_first = !slot->lane.in_flight.empty();
            }
        }
    }
    context_.coordinator.submit(command::MemberPresent{name_, member.client_id}, now);
    context_.sink.log(LogLevel::info, "member_online" + description() +
                                          " client=" + member.client_id +
                                          " slots=" + std::to_string(member.load));
    request_claim(now);
    assign_all_unowned(now);
    pump_slots_of(index);
    schedule_rebalance(now);
}

void Group::remove_member(MemberIndex leaver, HandoverCause cause, TimePoint now) {
    Member& member = members_[leaver];
    member.state = Member::State::provisional;  // not eligible any more
    for (SlotState* slot : in_use_) {
        if (slot->phase == SlotState::Phase::draining && slot->next_owner == leaver) {
            end_drain(*slot);
            pump(*slot);
        } else if (slot->phase == SlotState::Phase::draining && slot->owner == leaver) {
            finish_drain(*slot, now);
        }
    }
    const std::vector<EligibleMember> remaining = members_.eligible();
    const std::vector<SlotMove> moves = plan_departure(owned_slots(), leaver, remaining);
    for (const SlotMove& move : moves) {
        record_owner(slot_state(move.slot), move.to, cause, now);
    }
    std::size_t waiting = 0;
    for (SlotState* slot : in_use_) {
        if (slot->phase != SlotState::Phase::unowned && slot->owner == leaver) {
            lose_owner(*slot, cause);
            ++waiting;
        }
    }
    context_.coordinator.submit(command::MemberGone{name_, member.client_id, false}, now);
    context_.sink.log(LogLevel::notice, "member_gone cause=" + std::string(to_string(cause)) +
                                            description() + " client=" + member.client_id +
                                            " moved=" + std::to_string(moves.size()) +
                                            " waiting=" + std::to_string(waiting));
    members_.erase(leaver);
    recount_loads();
    if (members_.size() == 0) {
        nobody_since_ = now;
    }
}

void Group::expire_leases(TimePoint now) {
    std::vector<MemberIndex> expired;
    for (const auto& [client_id, member] : members_.by_client_id()) {
        if (members_[member].state == Member::State::absent &&
            members_[member].lease_until <= now) {
            expired.push_back(member);
        }
    }
    for (const MemberIndex member : expired) {
        remove_member(member, HandoverCause::lease_expired, now);
    }
}

void Group::drop_held_for_nobody() {
    nobody_since_.reset();
    for (SlotState* slot : in_use_) {
        for (auto& record : slot->lane.held) {
            count_dropped(context_.counters.dropped_no_member, "no_member", slot,
                          key_name(*record));
            release_held(*record);
        }
        for (auto& record : slot->lane.in_flight) {
            ++context_.counters.unprotected;
            release_kept(*record);
        }
        slot->lane = Lane{};
        slot->redeliver_first = false;
    }
}

}  // namespace keyed_sticky
