// Change of owner: a slot's owner is chosen, recorded with the coordinator under a new epoch, and
// only then sent to.
#include <algorithm>

#include "core/group.h"
#include "core/ordering_key.h"

namespace keyed_sticky {

void Group::request_claim(TimePoint now) {
    if (claim_ == Claim::wanted) {
        claim_ = Claim::requested;
        retry_claim_at_.reset();
        context_.coordinator.submit(command::Claim{name_, {rule_.slots, normalised(rule_.key)}},
                                    now);
        context_.take_answers(now);
    }
}

void Group::on_claimed(const answer::Claimed& answer, TimePoint now) {
    claim_ = Claim::held;
    term_ = answer.term;
    changes_ = 0;
    keys_.raise_generation(Epoch::of(term_, 0).value());
    assign_all_unowned(now);
    for (SlotState* slot : in_use_) {
        pump(*slot);
    }
}

void Group::on_held_by_other(const answer::HeldByOther& answer, TimePoint now) {
    claim_ = Claim::wanted;
    retry_claim_at_ = now + answer.retry_in;
    update_deadline();
}

void Group::on_fingerprint_mismatch(const answer::FingerprintMismatch& answer) {
    claim_ = Claim::refused;
    context_.sink.log(LogLevel::error,
                      "claim_refused reason=fingerprint" + description() +
                          " recorded_slots=" + std::to_string(answer.recorded.slots) +
                          " recorded_key=" + answer.recorded.key_rule);
}

void Group::on_recorded(Slot slot, Epoch epoch) {
    SlotState& state = slot_state(slot);
    if (state.phase == SlotState::Phase::recording && state.epoch == epoch) {
        state.phase = SlotState::Phase::owned;
        pump(state);
    }
}

void Group::on_fenced(Slot slot, Epoch epoch, TimePoint now) {
    SlotState& state = slot_state(slot);
    if (state.phase != SlotState::Phase::recording || state.epoch != epoch) {
        return;  // an answer to a change that another one has overtaken
    }
    context_.sink.log(LogLevel::warning,
                      "epoch_fenced" + description() + " slot=" + std::to_string(index(slot)));
    lose_owner(state, state.cause);
    recount_loads();
    if (claim_ == Claim::held) {
        claim_ = Claim::wanted;
        request_claim(now);
    }
}

void Group::assign_first_owner(SlotState& slot, TimePoint now) {
    if (claim_ != Claim::held) {
        return;
    }
    std::vector<Candidate> candidates;
    std::vector<MemberIndex> members;
    for (const auto& [client_id, member] : members_.by_client_id()) {
        if (members_[member].eligible()) {
            candidates.push_back({client_id, members_[member].load});
            members.push_back(member);
        }
    }
    if (candidates.empty()) {
        return;
    }
    const MemberIndex owner = members[pick_owner(slot.slot, candidates)];
    ++members_[owner].load;
    record_owner(slot, owner, slot.cause, now);
    context_.take_answers(now);
    if (claim_ != Claim::held) {
        update_deadline();  // the term is used up: the next one is to be asked for
    }
}

void Group::assign_all_unowned(TimePoint now) {
    const std::vector<EligibleMember> eligible = members_.eligible();
    if (claim_ != Claim::held || eligible.empty()) {
        return;
    }
    // To the planner, what nobody owns is what somebody who is not among the members leaves behind.
    const auto nobody = static_cast<MemberIndex>(members_.capacity());
    std::vector<OwnedSlot> slots = owned_slots();
    const std::size_t owned = slots.size();
    for (const SlotState* slot : in_use_) {
        if (slot->phase == SlotState::Phase::unowned) {
            slots.push_back({slot->slot, nobody, false});
        }
    }
    if (slots.size() == owned) {
        return;
    }
    for (const SlotMove& move : plan_departure(slots, nobody, eligible)) {
        SlotState& slot = slot_state(move.slot);
        record_owner(slot, move.to, slot.cause, now);
    }
    recount_loads();
}

void Group::record_owner(SlotState& slot, MemberIndex owner, HandoverCause cause, TimePoint now) {
    constexpr std::uint64_t max_changes = (std::uint64_t{1} << Epoch::change_bits) - 1;
    if (changes_ == max_changes) {
        // The term is used up. The slot waits for the next one, which on_claimed() brings.
        lose_owner(slot, cause);
        claim_ = Claim::wanted;
        retry_claim_at_ = now;
        return;
    }
    slot.phase = SlotState::Phase::recording;
    slot.owner = owner;
    slot.cause = cause;
    slot.previous_epoch = slot.epoch;
    slot.epoch = Epoch::of(term_, ++changes_);
    slot.announce_handover = slot.previous_epoch != Epoch{};
    slot.redeliver_first = !slot.lane.in_flight.empty();
    context_.counters.handovers += slot.announce_handover ? 1 : 0;
    context_.coordinator.submit(
        command::RecordOwner{name_, slot.slot, members_[owner].client_id, slot.epoch, cause}, now);
    context_.sink.log(LogLevel::debug, "owner_changed cause=" + std::string(to_string(cause)) +
                                           description() +
                                           " slot=" + std::to_string(index(slot.slot)) +
                                           " owner=" + members_[owner].client_id +
                                           " epoch=" + std::to_string(slot.epoch.value()));
}

void Group::lose_owner(SlotState& slot, HandoverCause cause) {
    slot.phase = SlotState::Phase::unowned;
    slot.cause = cause;
}

std::vector<OwnedSlot> Group::owned_slots() const {
    std::vector<OwnedSlot> result;
    result.reserve(in_use_.size());
    for (const SlotState* slot : in_use_) {
        if (slot->phase == SlotState::Phase::draining) {
            result.push_back({slot->slot, slot->next_owner, true});
        } else if (slot->phase != SlotState::Phase::unowned) {
            result.push_back({slot->slot, slot->owner, slot->phase == SlotState::Phase::recording});
        }
    }
    return result;
}

void Group::recount_loads() {
    for (const auto& [client_id, member] : members_.by_client_id()) {
        members_[member].load = 0;
    }
    for (const OwnedSlot& slot : owned_slots()) {
        ++members_[slot.owner].load;
    }
}

void Group::schedule_rebalance(TimePoint now) {
    // The first of several joins sets the time: members that come one after the other are one move,
    // and none waits for ever.
    if (!rebalance_at_) {
        rebalance_at_ = now + context_.options.rebalance_delay;
    }
}

void Group::rebalance(TimePoint now) {
    rebalance_at_.reset();
    const std::vector<SlotMove> moves = plan_rebalance(owned_slots(), members_.eligible());
    for (const SlotMove& move : moves) {
        begin_drain(slot_state(move.slot), move.to, now);
    }
    recount_loads();
    if (!moves.empty()) {
        context_.sink.log(LogLevel::notice,
                          "rebalance" + description() + " slots=" + std::to_string(moves.size()));
    }
}

void Group::begin_drain(SlotState& slot, MemberIndex next_owner, TimePoint now) {
    if (slot.phase == SlotState::Phase::recording) {
        // Its last change is not recorded yet, nothing is in flight under it: it goes straight to
        // the next owner.
        record_owner(slot, next_owner, HandoverCause::rebalanced, now);
        return;
    }
    if (slot.phase == SlotState::Phase::owned) {
        slot.phase = SlotState::Phase::draining;
        slot.drain_until = now + context_.options.drain_timeout;
        draining_.push_back(&slot);
    }
    slot.next_owner = next_owner;
    if (slot.lane.in_flight.empty() || slot.next_owner == slot.owner) {
        finish_drain(slot, now);
    }
}

void Group::finish_drain(SlotState& slot, TimePoint now) {
    end_drain(slot);
    if (slot.next_owner != slot.owner && members_[slot.next_owner].eligible()) {
        record_owner(slot, slot.next_owner, HandoverCause::rebalanced, now);
    } else {
        pump(slot);  // the newcomer has gone again: the owner keeps it
    }
}

void Group::end_drain(SlotState& slot) {
    slot.phase = SlotState::Phase::owned;
    std::erase(draining_, &slot);
}

void Group::finish_drains(TimePoint now) {
    std::vector<SlotState*> due;
    std::copy_if(draining_.begin(), draining_.end(), std::back_inserter(due),
                 [now](const SlotState* slot) {
                     return slot->drain_until <= now || slot->lane.in_flight.empty();
                 });
    for (SlotState* slot : due) {
        finish_drain(*slot, now);
    }
    if (!due.empty()) {
        recount_loads();
    }
}

}  // namespace keyed_sticky
