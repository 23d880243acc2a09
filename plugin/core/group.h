// One group: its slots, members and lanes, and every rule of who gets which record when.
//
// group.cpp takes messages and sends records, group_membership.cpp follows who comes and goes,
// group_handover.cpp changes owners. Main thread only; nothing here blocks, reads a clock or throws
// for bad input.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/coordinator.h"
#include "core/counters.h"
#include "core/dispatcher.h"
#include "core/effect.h"
#include "core/key_table.h"
#include "core/lane.h"
#include "core/member_table.h"
#include "core/options.h"

namespace keyed_sticky {

/// What all groups of a dispatcher share. Everything outlives the groups.
struct GroupContext {
    const Options& options;
    Coordinator& coordinator;
    EffectSink& sink;
    Counters& counters;
    HeldBudget& budget;
    /// Takes the coordinator's answers that are there and hands them to their groups, this one
    /// included.
    std::function<void(TimePoint)> take_answers;
};

class Group {
  public:
    Group(GroupContext context, GroupName name, const GroupRule& rule);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    const GroupName& name() const { return name_; }
    const MemberTable& members() const { return members_; }

    // group_membership.cpp; see Dispatcher for what each does.
    void join(std::string_view client_id, const MemberProfile& profile, TimePoint now);
    void confirm_member(std::string_view client_id, TimePoint now);
    void leave(std::string_view client_id, TimePoint now);
    void evict(std::string_view client_id, std::string_view reason, TimePoint now);
    void client_departed(std::string_view client_id, Departure departure, TimePoint now);
    void client_resumed(std::string_view client_id, TimePoint now);

    // group.cpp
    /// Takes a message. What it is then: sent, held or dropped.
    DispatchOutcome dispatch(const MessageView& message, const Publisher& publisher, TimePoint now);
    void tick(TimePoint now);
    std::optional<TimePoint> next_deadline() const { return deadline_; }

    // group_handover.cpp: the coordinator's answers.
    void on_claimed(const answer::Claimed& answer, TimePoint now);
    void on_held_by_other(const answer::HeldByOther& answer, TimePoint now);
    void on_fingerprint_mismatch(const answer::FingerprintMismatch& answer);
    void on_recorded(Slot slot, Epoch epoch);
    void on_fenced(Slot slot, Epoch epoch, TimePoint now);

    /// The owner's client id; nullopt: none. For inspection and tests.
    std::optional<std::string_view> owner_of(Slot slot) const;
    Epoch epoch_of(Slot slot) const;

  private:
    struct SlotState {
        enum class Phase : std::uint8_t {
            unowned,    ///< no owner: holds
            recording,  ///< an owner is chosen and being recorded: holds
            owned,      ///< sends while the owner is online, holds while it is absent
            draining,   ///< next_owner is to take over: holds until what is in flight is settled or
                        ///< drain_until
        };
        explicit SlotState(Slot slot_) : slot(slot_) {}
        Slot slot;
        Phase phase = Phase::unowned;
        HandoverCause cause = HandoverCause::first_use;
        bool announce_handover = false;  ///< the next record sent carries ks-handover
        bool redeliver_first =
            false;  ///< what is in flight never reached the owner's session: sent again first
        MemberIndex owner = 0;       ///< meaningful unless unowned
        MemberIndex next_owner = 0;  ///< meaningful while draining
        TimePoint drain_until;       ///< meaningful while draining
        Epoch epoch;                 ///< of the owner, also while it is being recorded
        Epoch previous_epoch;
        Lane lane;
    };
    enum class Claim : std::uint8_t { wanted, requested, held, refused };

    /// A record's key and its place in the key's sequence.
    struct Place {
        std::string_view name;  ///< empty: no key, or not known any more (only the log wants it)
        TrackedKey* key = nullptr;  ///< null: no stamp
        std::uint64_t sequence = 0;
    };

    static std::string_view key_name(const Record& record) {
        return record.key != nullptr ? record.key->name : std::string_view{};
    }
    static Place place_of(const Record& record) {
        return {key_name(record), record.key, record.sequence};
    }

    // group.cpp
    SlotState& slot_state(Slot slot);
    bool can_send(const SlotState& slot) const;
    Qos effective_qos(const SlotState& slot, Qos published) const;
    DispatchOutcome send_new(SlotState& slot, const MessageView& message, Place place);
    DispatchOutcome hold(SlotState& slot, const MessageView& message, Place place);
    /// Sends what the slot may send: what must be repeated, then what is held.
    void pump(SlotState& slot);
    void pump_slots_of(MemberIndex owner);
    bool deliver(SlotState& slot, const MessageView& message, Place place, bool redelivery);
    void keep(SlotState& slot, std::unique_ptr<Record> record);
    void keep_again(SlotState& slot, std::unique_ptr<Record> record);
    bool settle_oldest(Member& member);
    void release_kept(const Record& record);
    void release_held(const Record& record);
    void count_dropped(std::uint64_t& counter, std::string_view reason, const SlotState* slot,
                       std::string_view key);
    void forget_idle_keys(TimePoint now);
    void update_deadline();
    std::string description() const;

    // group_membership.cpp
    void make_online(MemberIndex member, TimePoint now);
    void remove_member(MemberIndex member, HandoverCause cause, TimePoint now);
    void expire_leases(TimePoint now);
    void drop_held_for_nobody();

    // group_handover.cpp
    void request_claim(TimePoint now);
    void assign_first_owner(SlotState& slot, TimePoint now);
    void assign_all_unowned(TimePoint now);
    void record_owner(SlotState& slot, MemberIndex owner, HandoverCause cause, TimePoint now);
    void lose_owner(SlotState& slot, HandoverCause cause);
    std::vector<OwnedSlot> owned_slots() const;
    void recount_loads();
    void schedule_rebalance(TimePoint now);
    void rebalance(TimePoint now);
    void begin_drain(SlotState& slot, MemberIndex next_owner, TimePoint now);
    void finish_drain(SlotState& slot, TimePoint now);
    void finish_drains(TimePoint now);
    void end_drain(SlotState& slot);

    GroupContext context_;
    GroupName name_;
    const GroupRule& rule_;
    MemberTable members_;
    KeyTable keys_;
    std::vector<std::unique_ptr<SlotState>> slots_;  ///< by slot; null: never used
    std::vector<SlotState*> in_use_;  ///< the same, those that are there, in the order of first use
    std::vector<SlotState*> draining_;
    std::uint32_t next_round_robin_ = 0;

    Claim claim_ = Claim::wanted;
    std::uint64_t term_ = 0;
    std::uint64_t changes_ = 0;  ///< epochs given out in this term
    std::optional<TimePoint> retry_claim_at_;
    std::optional<TimePoint> rebalance_at_;
    std::optional<TimePoint>
        nobody_since_;  ///< the last member is gone since then, and records are held
    std::optional<TimePoint> sweep_keys_at_;
    std::optional<TimePoint> deadline_;
};

}  // namespace keyed_sticky
