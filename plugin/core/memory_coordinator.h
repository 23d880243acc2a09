// The coordinator without Redis: leases, terms and owners in this process's memory, judged by the
// time that is passed in.
//
// The state is apart from the coordinator, so that several instances can share one store: that is
// how the contract tests see two brokers. A broker without redis_url has one store and one
// coordinator, and no lease: nobody else could claim.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/coordinator.h"
#include "core/ids.h"
#include "core/time.h"

namespace keyed_sticky {

/// What Redis would keep. One thread only; must outlive every coordinator on it.
class MemoryStore {
  public:
    MemoryStore() = default;
    MemoryStore(const MemoryStore&) = delete;
    MemoryStore& operator=(const MemoryStore&) = delete;
    ~MemoryStore() = default;

    /// Forgets everything, as a flushed Redis does. Claims are gone with it.
    void clear() { groups_.clear(); }

  private:
    friend class MemoryCoordinator;

    struct Holder {
        std::string instance;
        std::uint64_t term = 0;
        std::optional<TimePoint> lease_until = std::nullopt;  ///< nullopt: until it is released
    };
    struct Owner {
        std::string client_id;
        Epoch epoch;
    };
    struct Member {
        std::string instance;  ///< who reported it present last
        std::optional<TimePoint> lease_until;
        bool lapsing = false;  ///< its connection ended: the lease is not renewed any more
    };
    struct Group {
        std::optional<GroupFingerprint> fingerprint;  ///< of the first claim granted; stays
        std::uint64_t last_term = 0;                  ///< outlives every holder
        std::optional<Holder> holder;
        std::map<Slot, Owner> owners;
        std::map<std::string, Member> members;
    };

    std::map<GroupName, Group> groups_;
};

/// Answers every command within submit(). Each claim's term is above every earlier one of the
/// group, above every one this coordinator has seen, and at least `first_term`.
class MemoryCoordinator final : public Coordinator {
  public:
    struct Settings {
        /// Names the broker process. A process started again under the same name gets its claims
        /// back without waiting.
        std::string instance;
        /// Lower bound of every term, 1 to 2^33 - 1. The caller passes wall-clock seconds, so that
        /// terms go on rising when the process, and the store with it, is started again.
        std::uint64_t first_term = 1;
        /// How long a claim outlives the last tick(). nullopt: claims and present members have no
        /// end.
        std::optional<Duration> instance_lease = std::nullopt;
        /// How long a member is remembered once its connection, or its instance, is gone.
        Duration member_lease = seconds{10};
    };

    /// store must outlive the coordinator.
    MemoryCoordinator(MemoryStore& store, Settings settings);

    void submit(CoordinatorCommand command, TimePoint now) override;
    std::optional<CoordinatorAnswer> poll() override;
    void tick(TimePoint now) override;
    bool holds(const GroupName& group, TimePoint now) const override;

  private:
    void run(command::Claim& claim, TimePoint now);
    void run(command::Release& release, TimePoint now);
    void run(command::RecordOwner& record, TimePoint now);
    void run(command::MemberPresent& present, TimePoint now);
    void run(command::MemberGone& gone, TimePoint now);

    /// The group, if its claim is this instance's and its lease still runs.
    MemoryStore::Group* held_group(const GroupName& name, TimePoint now);
    std::optional<TimePoint> present_until(TimePoint now) const;

    struct Held {
        std::uint64_t term = 0;
        std::optional<TimePoint> valid_until;
    };

    MemoryStore& store_;
    Settings settings_;
    std::deque<CoordinatorAnswer> answers_;
    std::map<GroupName, Held>
        held_;  ///< what this process believes, as one far from the store would
    std::map<GroupName, std::uint64_t>
        highest_term_;  ///< seen by this process; outlives the store's own record
};

}  // namespace keyed_sticky
