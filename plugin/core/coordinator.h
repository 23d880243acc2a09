// The port through which a broker process claims groups, keeps leases and records who owns which
// slot.
//
// Commands go in without waiting, answers are taken by poll(): an implementation may do its work in
// another thread (Redis) or at once (memory). Answers to commands of one group come in the order of
// the commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/effect.h"
#include "core/ids.h"
#include "core/time.h"

namespace keyed_sticky {

/// What two brokers must agree on before they may serve the same group.
struct GroupFingerprint {
    std::uint32_t slots = 0;
    std::string key_rule;  ///< as written in the option, normalised
    bool operator==(const GroupFingerprint&) const = default;
};

namespace command {

/// Asks for the right to dispatch the group's slots. Conditional on no other instance holding an
/// unexpired claim, and on the fingerprint being the recorded one, where one is recorded. By the
/// holder itself: granted again, under a higher term.
struct Claim {
    GroupName group;
    GroupFingerprint fingerprint;
};
/// Gives the claim back. Conditional on holding it.
struct Release {
    GroupName group;
};
/// Records a new owner. Conditional on the claim under the epoch's term, and on the epoch being
/// newer than the recorded one. What is recorded already, owner and epoch alike, is recorded again:
/// a lost answer may be asked for by a repetition.
struct RecordOwner {
    GroupName group;
    Slot slot{};
    std::string owner;  ///< client id; empty: the slot has no owner now
    Epoch epoch;
    HandoverCause cause = HandoverCause::first_use;
};
/// The client is a member (again). Its lease is kept until MemberGone.
struct MemberPresent {
    GroupName group;
    std::string client_id;
};
/// The client's connection ended. lapse: its lease runs out by itself; otherwise it is removed at
/// once. Conditional on this instance being the one that reported it present last: a client that
/// has moved to another broker stays.
struct MemberGone {
    GroupName group;
    std::string client_id;
    bool lapse = false;
};

}  // namespace command

using CoordinatorCommand = std::variant<command::Claim, command::Release, command::RecordOwner,
                                        command::MemberPresent, command::MemberGone>;

namespace answer {

/// The claim is granted: epochs of this group may be formed under `term`, which is above every
/// earlier one.
struct Claimed {
    GroupName group;
    std::uint64_t term = 0;
    /// The holder may dispatch until then by its own clock; nullopt: no end (memory).
    /// As of this answer: renewals move it, holds() says what is true now.
    std::optional<TimePoint> valid_until;
    struct Owned {
        Slot slot{};
        std::string owner;  ///< empty: the slot was left without an owner
        Epoch epoch;
    };
    std::vector<Owned>
        owners;  ///< what is recorded from before, for a restart; in the order of the slots
    struct Member {
        std::string client_id;
        /// When its lease ends, by the asker's own clock, if nobody reports it present again;
        /// nullopt: no end is known.
        std::optional<TimePoint> lease_until = std::nullopt;
    };
    std::vector<Member> members = {};  ///< whose lease still runs, whichever instance reported
                                       ///< them; in the order of client ids
};
/// Another instance holds the claim. Ask again after `retry_in`.
struct HeldByOther {
    GroupName group;
    std::string instance;
    Duration retry_in{};
};
/// The group is served elsewhere with another slot count or key rule: it can never be shared.
struct FingerprintMismatch {
    GroupName group;
    GroupFingerprint recorded;
};
/// The owner is recorded: records may be sent under the epoch.
struct Recorded {
    GroupName group;
    Slot slot{};
    Epoch epoch;
};
/// A newer epoch or term is recorded, or the claim is gone: nothing was changed, nothing may be
/// sent under this epoch.
struct Fenced {
    GroupName group;
    Slot slot{};
    Epoch epoch;
};

}  // namespace answer

using CoordinatorAnswer =
    std::variant<answer::Claimed, answer::HeldByOther, answer::FingerprintMismatch,
                 answer::Recorded, answer::Fenced>;

/// A claim is held from its Claimed until Release, the end of the instance's lease, or another
/// instance's claim after that end. Destroying a coordinator releases nothing: the others wait out
/// its lease, as after a crash. Main thread only.
class Coordinator {
  public:
    Coordinator() = default;
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;
    virtual ~Coordinator() = default;

    /// Never blocks. Each Claim and RecordOwner is answered exactly once, sooner or later; the
    /// others are not answered.
    virtual void submit(CoordinatorCommand command, TimePoint now) = 0;
    /// The next answer, if one is there. Never blocks.
    virtual std::optional<CoordinatorAnswer> poll() = 0;

    /// Renews what is due, for an implementation that has no thread of its own for it. Never
    /// blocks.
    virtual void tick(TimePoint now) = 0;

    /// Whether this process may dispatch the group's slots at `now`, by its own clock and with
    /// every renewal it knows of. False before Claimed, after Release, and from the end of the
    /// instance's lease on. Never blocks.
    virtual bool holds(const GroupName& group, TimePoint now) const = 0;
};

}  // namespace keyed_sticky
