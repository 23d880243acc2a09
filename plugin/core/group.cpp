#include "core/group.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/ordering_key.h"
#include "keyed_sticky/slot_hash.h"

namespace keyed_sticky {
namespace {

/// Idle keys forgotten in one tick, and the pause before the next lot: a million keys are gone
/// within ten seconds, and no tick takes longer than about a millisecond.
constexpr std::size_t keys_per_sweep = 2'000;
constexpr milliseconds sweep_pause{20};

}  // namespace

Group::Group(GroupContext context, GroupName name, const GroupRule& rule)
    : context_(std::move(context)),
      name_(std::move(name)),
      rule_(rule),
      keys_(context_.options.max_tracked_keys),
      slots_(rule.slots) {}

Group::~Group() = default;

DispatchOutcome Group::dispatch(const MessageView& message, const Publisher& publisher,
                                TimePoint now) {
    ++context_.counters.dispatched;
    const auto key = ordering_key_or_topic(rule_.key, message, publisher);
    if (!key && rule_.key.missing == KeyRule::Missing::reject) {
        count_dropped(context_.counters.dropped_no_key, "no_key", nullptr, {});
        return DispatchOutcome::dropped;
    }
    Place place;
    Slot slot{};
    if (key) {
        place.name = *key;
        const std::uint32_t hash = key_hash(*key);
        slot = Slot{hash % rule_.slots};
        if (context_.options.stamp) {
            const std::uint64_t evicted_before = keys_.evicted();
            place.key = &keys_.touch(*key, hash, now);
            context_.counters.keys_evicted += keys_.evicted() - evicted_before;
            place.sequence = ++place.key->sequence;
        }
    } else {
        slot = Slot{next_round_robin_};
        next_round_robin_ = (next_round_robin_ + 1) % rule_.slots;
    }
    if (place.key != nullptr && !sweep_keys_at_) {
        sweep_keys_at_ = now + context_.options.key_idle_timeout;
        update_deadline();
    }
    SlotState& state = slot_state(slot);
    if (state.phase == SlotState::Phase::unowned) {
        assign_first_owner(state, now);
    }
    const bool nothing_before_it = state.lane.held.empty() && !state.redeliver_first;
    return nothing_before_it && can_send(state) ? send_new(state, message, place)
                                                : hold(state, message, place);
}

void Group::tick(TimePoint now) {
    expire_leases(now);
    finish_drains(now);
    if (rebalance_at_ && *rebalance_at_ <= now) {
        rebalance(now);
    }
    if (retry_claim_at_ && *retry_claim_at_ <= now) {
        request_claim(now);
    }
    if (nobody_since_ && *nobody_since_ + context_.options.hold_timeout <= now) {
        drop_held_for_nobody();
    }
    if (sweep_keys_at_ && *sweep_keys_at_ <= now) {
        forget_idle_keys(now);
    }
    update_deadline();
}

std::optional<std::string_view> Group::owner_of(Slot slot) const {
    const auto& state = slots_[index(slot)];
    if (!state || state->phase == SlotState::Phase::unowned) {
        return std::nullopt;
    }
    return members_[state->owner].client_id;
}

Epoch Group::epoch_of(Slot slot) const {
    const auto& state = slots_[index(slot)];
    return state ? state->epoch : Epoch{};
}

Group::SlotState& Group::slot_state(Slot slot) {
    auto& state = slots_[index(slot)];
    if (!state) {
        state = std::make_unique<SlotState>(slot);
        in_use_.push_back(state.get());
    }
    return *state;
}

bool Group::can_send(const SlotState& slot) const {
    return slot.phase == SlotState::Phase::owned && claim_ == Claim::held &&
           members_[slot.owner].eligible();
}

Qos Group::effective_qos(const SlotState& slot, Qos published) const {
    return std::min(published, members_[slot.owner].profile.granted_qos);
}

DispatchOutcome Group::send_new(SlotState& slot, const MessageView& message, Place place) {
    const bool to_keep = effective_qos(slot, message.qos) == Qos::at_least_once &&
                         context_.options.unacked_window > 0;
    std::unique_ptr<Record> record = to_keep ? make_record(message) : nullptr;
    if ((to_keep && !record) || !deliver(slot, message, place, false)) {
        count_dropped(context_.counters.dropped_memory, "memory", &slot, place.name);
        return DispatchOutcome::dropped;
    }
    if (record) {
        record->key = place.key;
        record->sequence = place.sequence;
        keep(slot, std::move(record));
    }
    return DispatchOutcome::sent;
}

DispatchOutcome Group::hold(SlotState& slot, const MessageView& message, Place place) {
    std::unique_ptr<Record> record = make_record(message);
    if (!record) {
        count_dropped(context_.counters.dropped_memory, "memory", &slot, place.name);
        return DispatchOutcome::dropped;
    }
    RecordQueue& held = slot.lane.held;
    while (held.size() >= context_.options.max_held_per_slot ||
           !context_.budget.take_held(record->bytes())) {
        count_dropped(context_.counters.dropped_overflow, "overflow", &slot, place.name);
        if (context_.options.overflow == Overflow::drop_newest || held.empty()) {
            return DispatchOutcome::dropped;
        }
        release_held(*held.front());
        held.pop_front();
    }
    record->key = place.key;
    record->sequence = place.sequence;
    if (record->key != nullptr) {
        KeyTable::pin(*record->key);
    }
    held.push_back(std::move(record));
    ++context_.counters.held;
    return DispatchOutcome::held;
}

void Group::pump(SlotState& slot) {
    if (!can_send(slot)) {
        return;
    }
    if (std::exchange(slot.redeliver_first, false)) {
        // Taken out first: each comes back as sent under this epoch, or is done with.
        RecordQueue again = std::move(slot.lane.in_flight);
        slot.lane.in_flight.clear();
        for (auto& record : again) {
            if (!deliver(slot, record->view(), place_of(*record), true)) {
                count_dropped(context_.counters.dropped_memory, "memory", &slot, key_name(*record));
                release_kept(*record);
            } else {
                keep_again(slot, std::move(record));
            }
        }
    }
    while (!slot.lane.held.empty()) {
        std::unique_ptr<Record> record = std::move(slot.lane.held.front());
        slot.lane.held.pop_front();
        const bool sent = deliver(slot, record->view(), place_of(*record), false);
        if (!sent) {
            count_dropped(context_.counters.dropped_memory, "memory", &slot, key_name(*record));
        }
        const bool to_keep = sent && effective_qos(slot, record->qos) == Qos::at_least_once &&
                             context_.options.unacked_window > 0;
        release_held(*record);
        if (to_keep) {
            keep(slot, std::move(record));
        }
    }
}

void Group::pump_slots_of(MemberIndex owner) {
    for (SlotState* slot : in_use_) {
        if (slot->phase == SlotState::Phase::owned && slot->owner == owner) {
            pump(*slot);
        }
    }
}

bool Group::deliver(SlotState& slot, const MessageView& message, Place place, bool redelivery) {
    const Member& member = members_[slot.owner];
    Delivery delivery{member.client_id, message, member.profile.subscription_identifier, nullptr};
    delivery.message.qos = effective_qos(slot, message.qos);
    DeliveryStamp stamp;
    if (place.key != nullptr && member.profile.mqtt5) {
        stamp = {
            place.key->name, slot.epoch, place.key->generation, place.sequence, redelivery, {}, {}};
        if (slot.announce_handover) {
            stamp.handover = slot.cause;
            stamp.previous_epoch = slot.previous_epoch;
        }
        delivery.stamp = &stamp;
    }
    if (!context_.sink.deliver(delivery)) {
        return false;
    }
    slot.announce_handover = false;
    ++context_.counters.sent;
    context_.counters.redelivered += redelivery ? 1 : 0;
    return true;
}

void Group::keep(SlotState& slot, std::unique_ptr<Record> record) {
    Member& member = members_[slot.owner];
    while (!context_.budget.take_kept(record->bytes())) {
        // The oldest of this member gives way: the broker most likely has its acknowledgement.
        ++context_.counters.unprotected;
        if (!settle_oldest(member)) {
            return;
        }
    }
    if (record->key != nullptr) {
        KeyTable::pin(*record->key);
    }
    keep_again(slot, std::move(record));
}

void Group::keep_again(SlotState& slot, std::unique_ptr<Record> record) {
    if (effective_qos(slot, record->qos) != Qos::at_least_once) {
        release_kept(*record);  // settled when sent
        return;
    }
    Member& member = members_[slot.owner];
    slot.lane.in_flight.push_back(std::move(record));
    member.window.push_back({slot.slot, slot.epoch});
    if (member.window.size() > context_.options.unacked_window) {
        settle_oldest(member);
    }
}

bool Group::settle_oldest(Member& member) {
    while (!member.window.empty()) {
        const SentMark mark = member.window.front();
        member.window.pop_front();
        SlotState& slot = *slots_[index(mark.slot)];
        // A mark of an epoch gone by says nothing of the records that the lane has now.
        if (slot.epoch != mark.epoch || slot.redeliver_first || slot.lane.in_flight.empty()) {
            continue;
        }
        release_kept(*slot.lane.in_flight.front());
        slot.lane.in_flight.pop_front();
        return true;
    }
    return false;
}

void Group::release_kept(const Record& record) {
    context_.budget.give_back_kept(record.bytes());
    if (record.key != nullptr) {
        KeyTable::unpin(*record.key);
    }
}

void Group::release_held(const Record& record) {
    context_.budget.give_back_held(record.bytes());
    if (record.key != nullptr) {
        KeyTable::unpin(*record.key);
    }
}

void Group::count_dropped(std::uint64_t& counter, std::string_view reason, const SlotState* slot,
                          std::string_view key) {
    ++counter;
    // The first, then at each doubling: a flood of drops must not become a flood of lines.
    if (std::has_single_bit(counter)) {
        std::string line = "record_dropped reason=" + std::string(reason) + description();
        if (slot != nullptr) {
            line += " slot=" + std::to_string(index(slot->slot));
        }
        if (context_.options.log_keys && !key.empty()) {
            line += " key=" + std::string(key);
        }
        context_.sink.log(LogLevel::warning, line + " total=" + std::to_string(counter));
    }
}

void Group::forget_idle_keys(TimePoint now) {
    const TimePoint before = now - context_.options.key_idle_timeout;
    context_.counters.keys_evicted += keys_.forget_idle(before, keys_per_sweep);
    const TrackedKey* oldest = keys_.oldest();
    if (oldest == nullptr) {
        sweep_keys_at_.reset();
    } else {
        sweep_keys_at_ =
            std::max(oldest->last_used + context_.options.key_idle_timeout, now + sweep_pause);
    }
}

void Group::update_deadline() {
    deadline_.reset();
    const auto consider = [this](std::optional<TimePoint> at) {
        if (at && (!deadline_ || *at < *deadline_)) {
            deadline_ = at;
        }
    };
    for (const auto& [client_id, member] : members_.by_client_id()) {
        if (members_[member].state == Member::State::absent) {
            consider(members_[member].lease_until);
        }
    }
    for (const SlotState* slot : draining_) {
        consider(slot->drain_until);
    }
    consider(rebalance_at_);
    consider(retry_claim_at_);
    consider(sweep_keys_at_);
    if (nobody_since_) {
        consider(*nobody_since_ + context_.options.hold_timeout);
    }
}

std::string Group::description() const {
    return " share=" + name_.share + " filter=" + name_.filter;
}

}  // namespace keyed_sticky
