// What is the memory coordinator's own. What every coordinator promises is in tests/contract.
#include "core/memory_coordinator.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace keyed_sticky {
namespace {

const GroupName group{"ingest", "devices/+/telemetry"};
const GroupFingerprint fingerprint{16, "topic:2"};
constexpr TimePoint start{seconds{1000}};

template <class Answer>
Answer take(Coordinator& coordinator) {
    auto answer = coordinator.poll();
    if (!answer || !std::holds_alternative<Answer>(*answer)) {
        ADD_FAILURE() << "another answer, or none";
        return {};
    }
    return std::get<Answer>(*std::move(answer));
}

// One broker without leases: a claim is granted within submit(), has no end, and needs no tick().
TEST(MemoryCoordinator, ClaimWithoutLeaseHasNoEnd) {
    MemoryStore store;
    MemoryCoordinator coordinator{store, {.instance = "b1"}};
    coordinator.submit(command::Claim{group, fingerprint}, start);
    const auto claimed = take<answer::Claimed>(coordinator);
    EXPECT_EQ(claimed.group, group);
    EXPECT_FALSE(claimed.valid_until);
    EXPECT_TRUE(coordinator.holds(group, start + std::chrono::hours{24 * 365}));
    EXPECT_FALSE(coordinator.poll());
}

// Terms start at the bound given, and rise above the last one where that is higher: over a restart
// of the process they rise with the wall clock.
TEST(MemoryCoordinator, TermsStartAtTheBoundAndRise) {
    MemoryStore store;
    {
        MemoryCoordinator coordinator{store, {.instance = "b1", .first_term = 1'700'000'000}};
        coordinator.submit(command::Claim{group, fingerprint}, start);
        EXPECT_EQ(take<answer::Claimed>(coordinator).term, 1'700'000'000U);
        coordinator.submit(command::Claim{group, fingerprint}, start);
        EXPECT_EQ(take<answer::Claimed>(coordinator).term, 1'700'000'001U);
    }
    MemoryCoordinator set_back{store, {.instance = "b1", .first_term = 5}};
    set_back.submit(command::Claim{group, fingerprint}, start);
    EXPECT_EQ(take<answer::Claimed>(set_back).term, 1'700'000'002U);
}

// A holder without a lease keeps others out until it releases; they are told when to ask again.
TEST(MemoryCoordinator, HolderWithoutLeaseKeepsOthersOut) {
    MemoryStore store;
    MemoryCoordinator first{store, {.instance = "b1"}};
    MemoryCoordinator second{store, {.instance = "b2"}};
    first.submit(command::Claim{group, fingerprint}, start);
    second.submit(command::Claim{group, fingerprint}, start + std::chrono::hours{1});
    const auto refused = take<answer::HeldByOther>(second);
    EXPECT_EQ(refused.instance, "b1");
    EXPECT_GT(refused.retry_in, Duration::zero());
    first.submit(command::Release{group}, start);
    second.submit(command::Claim{group, fingerprint}, start + std::chrono::hours{2});
    EXPECT_GT(take<answer::Claimed>(second).term, take<answer::Claimed>(first).term);
}

// A slot beyond the group's slot count is refused: it could never be read back.
TEST(MemoryCoordinator, SlotOutOfRangeIsRefused) {
    MemoryStore store;
    MemoryCoordinator coordinator{store, {.instance = "b1"}};
    coordinator.submit(command::Claim{group, fingerprint}, start);
    const std::uint64_t term = take<answer::Claimed>(coordinator).term;
    coordinator.submit(command::RecordOwner{group, Slot{16}, "c1", Epoch::of(term, 1)}, start);
    take<answer::Fenced>(coordinator);
    coordinator.submit(command::RecordOwner{group, Slot{15}, "c1", Epoch::of(term, 1)}, start);
    take<answer::Recorded>(coordinator);
}

}  // namespace
}  // namespace keyed_sticky
