#include "coordinator_contract.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace keyed_sticky::contract {
namespace {

const GroupName ingest{"ingest", "devices/+/telemetry"};
const GroupName other_filter{"ingest", "devices/#"};
const GroupFingerprint fingerprint{16, "topic:2"};

template <class Answer>
Answer expect(std::optional<CoordinatorAnswer> answer) {
    if (!answer) {
        ADD_FAILURE() << "no answer";
        return {};
    }
    if (!std::holds_alternative<Answer>(*answer)) {
        ADD_FAILURE() << "another kind of answer: alternative " << answer->index();
        return {};
    }
    return std::get<Answer>(*std::move(answer));
}

template <class Answer>
Answer claim(CoordinatorWorld& world, Coordinator& process, const GroupName& group = ingest,
             const GroupFingerprint& as = fingerprint) {
    process.submit(command::Claim{group, as}, world.now());
    auto answer = expect<Answer>(world.await(process));
    EXPECT_EQ(answer.group, group);
    return answer;
}

template <class Answer>
void record(CoordinatorWorld& world, Coordinator& process, Slot slot, const std::string& owner,
            Epoch epoch, const GroupName& group = ingest) {
    process.submit(command::RecordOwner{group, slot, owner, epoch, HandoverCause::rebalanced},
                   world.now());
    const auto answer = expect<Answer>(world.await(process));
    EXPECT_EQ(answer.group, group);
    EXPECT_EQ(answer.slot, slot);
    EXPECT_EQ(answer.epoch, epoch);
}

/// Returns when the store has carried out what the process submitted before: answers of a group
/// come in order, and a record under the epoch "never owned" is refused.
void barrier(CoordinatorWorld& world, Coordinator& process) {
    record<answer::Fenced>(world, process, Slot{0}, "nobody", Epoch{});
}

void release(CoordinatorWorld& world, Coordinator& process) {
    process.submit(command::Release{ingest}, world.now());
    barrier(world, process);
}

void present(CoordinatorWorld& world, Coordinator& process, const std::string& client_id) {
    process.submit(command::MemberPresent{ingest, client_id}, world.now());
    barrier(world, process);
}

void gone(CoordinatorWorld& world, Coordinator& process, const std::string& client_id, bool lapse) {
    process.submit(command::MemberGone{ingest, client_id, lapse}, world.now());
    barrier(world, process);
}

using Owners = std::map<Slot, std::pair<std::string, Epoch>>;

Owners owners(const answer::Claimed& claimed) {
    Owners found;
    for (const auto& owned : claimed.owners) {
        EXPECT_TRUE(found.empty() || found.rbegin()->first < owned.slot) << "not in order";
        found[owned.slot] = {owned.owner, owned.epoch};
    }
    return found;
}

std::vector<std::string> members(const answer::Claimed& claimed) {
    std::vector<std::string> found;
    for (const auto& member : claimed.members) {
        EXPECT_TRUE(found.empty() || found.back() < member.client_id) << "not in order";
        found.push_back(member.client_id);
    }
    return found;
}

using Names = std::vector<std::string>;

// One instance dispatches a group at a time: while one holds the claim and renews it, another is
// refused, told by whom and when to ask again. The same share name with another filter is another
// group.
TEST_P(CoordinatorContract, ClaimsAreExclusive) {
    Coordinator& first = world->start("b1");
    Coordinator& second = world->start("b2");
    EXPECT_FALSE(first.holds(ingest, world->now()));
    claim<answer::Claimed>(*world, first);
    const auto refused = claim<answer::HeldByOther>(*world, second);
    EXPECT_EQ(refused.instance, "b1");
    EXPECT_GT(refused.retry_in, Duration::zero());
    EXPECT_LE(refused.retry_in, world->instance_lease());
    EXPECT_TRUE(first.holds(ingest, world->now()));
    EXPECT_FALSE(second.holds(ingest, world->now()));

    claim<answer::Claimed>(*world, second, other_filter);
    EXPECT_TRUE(second.holds(other_filter, world->now()));
    EXPECT_FALSE(second.holds(ingest, world->now()));
}

// Each claim's term is above every earlier one of the group: claimed again by its holder, after a
// release, after a restart, and after a takeover from a crashed process.
TEST_P(CoordinatorContract, TermsRise) {
    Coordinator& first = world->start("b1");
    Coordinator& second = world->start("b2");
    std::vector<std::uint64_t> terms;
    terms.push_back(claim<answer::Claimed>(*world, first).term);
    terms.push_back(claim<answer::Claimed>(*world, first).term);
    release(*world, first);
    terms.push_back(claim<answer::Claimed>(*world, first).term);
    release(*world, first);
    terms.push_back(claim<answer::Claimed>(*world, second).term);
    world->crash(second);
    Coordinator& restarted = world->start("b2");
    terms.push_back(claim<answer::Claimed>(*world, restarted).term);
    world->crash(restarted);
    world->pass(world->instance_lease() * 2);
    terms.push_back(claim<answer::Claimed>(*world, first).term);
    EXPECT_GE(terms.front(), 1U);
    for (std::size_t i = 1; i < terms.size(); ++i) {
        EXPECT_GT(terms[i], terms[i - 1]) << "claim " << i + 1;
    }
    EXPECT_LT(terms.back(), std::uint64_t{1} << 33);
}

// Release frees the group at once, and only its holder can.
TEST_P(CoordinatorContract, OnlyTheHolderReleases) {
    Coordinator& first = world->start("b1");
    Coordinator& second = world->start("b2");
    claim<answer::Claimed>(*world, first);
    release(*world, second);
    claim<answer::HeldByOther>(*world, second);
    EXPECT_TRUE(first.holds(ingest, world->now()));
    release(*world, first);
    EXPECT_FALSE(first.holds(ingest, world->now()));
    claim<answer::Claimed>(*world, second);
}

// No traffic for three leases: the holder still holds, under the term it had, and others are still
// refused.
TEST_P(CoordinatorContract, AnIdleHolderKeepsItsClaim) {
    Coordinator& first = world->start("b1");
    Coordinator& second = world->start("b2");
    const auto claimed = claim<answer::Claimed>(*world, first);
    ASSERT_TRUE(claimed.valid_until);
    EXPECT_LE(*claimed.valid_until, world->now() + world->instance_lease());
    world->pass(world->instance_lease() * 3);
    EXPECT_TRUE(first.holds(ingest, world->now()));
    claim<answer::HeldByOther>(*world, second);
    record<answer::Recorded>(*world, first, Slot{1}, "c1", Epoch::of(claimed.term, 1));
}

// A holder that is cut off stops before another one starts: at no time do both hold. The other one
// starts within the lease and a little.
TEST_P(CoordinatorContract, WindowsOfTwoHoldersNeverOverlap) {
    Coordinator& first = world->start("b1");
    Coordinator& second = world->start("b2");
    const auto before = claim<answer::Claimed>(*world, first);
    world->cut_off(first);
    const Duration step = world->instance_lease() / 20;
    int steps = 0;
    for (; steps < 30 && !second.holds(ingest, world->now()); ++steps) {
        world->pass(step);
        second.submit(command::Claim{ingest, fingerprint}, world->now());
        const auto answer = world->await(second);
        ASSERT_TRUE(answer);
        const bool first_holds = first.holds(ingest, world->now());
        const bool second_holds = second.holds(ingest, world->now());
        ASSERT_FALSE(first_holds && second_holds) << "step " << steps;
        if (const auto* claimed = std::get_if<answer::Claimed>(&*answer)) {
            EXPECT_GT(claimed->term, before.term);
        }
    }
    EXPECT_LT(steps, 30) << "never taken over";
    world->reconnect(first);
    EXPECT_FALSE(first.holds(ingest, world->now()));
    claim<answer::HeldByOther>(*world, first);
}

// A slot's epochs rise: an equal one for another owner and an older one are refused and change
// nothing. Slots and groups are apart.
TEST_P(CoordinatorContract, EpochsNeverRepeatOrFall) {
    Coordinator& process = world->start("b1");
    const auto term = claim<answer::Claimed>(*world, process).term;
    record<answer::Recorded>(*world, process, Slot{1}, "c1", Epoch::of(term, 5));
    record<answer::Fenced>(*world, process, Slot{1}, "c2", Epoch::of(term, 5));
    record<answer::Fenced>(*world, process, Slot{1}, "c2", Epoch::of(term, 4));
    record<answer::Recorded>(*world, process, Slot{2}, "c2", Epoch::of(term, 4));
    const auto other_term = claim<answer::Claimed>(*world, process, other_filter).term;
    record<answer::Recorded>(*world, process, Slot{1}, "c9", Epoch::of(other_term, 1),
                             other_filter);

    const auto again = claim<answer::Claimed>(*world, process);
    EXPECT_EQ(owners(again), (Owners{{Slot{1}, {"c1", Epoch::of(term, 5)}},
                                     {Slot{2}, {"c2", Epoch::of(term, 4)}}}));
    // Under the higher term, the count of changes starts again and the epoch still rises.
    record<answer::Fenced>(*world, process, Slot{1}, "c2", Epoch::of(term, 6));
    record<answer::Recorded>(*world, process, Slot{1}, "c2", Epoch::of(again.term, 0));
}

// What is recorded already may be recorded again, as after a lost answer.
TEST_P(CoordinatorContract, ARepeatedRecordIsRecorded) {
    Coordinator& process = world->start("b1");
    const auto term = claim<answer::Claimed>(*world, process).term;
    record<answer::Recorded>(*world, process, Slot{3}, "c1", Epoch::of(term, 1));
    record<answer::Recorded>(*world, process, Slot{3}, "c1", Epoch::of(term, 1));
    EXPECT_EQ(owners(claim<answer::Claimed>(*world, process)),
              (Owners{{Slot{3}, {"c1", Epoch::of(term, 1)}}}));
}

// Without the claim under the epoch's term nothing is recorded: not before a claim, not after its
// release or its end, not under a term that was never granted, and not by whom another instance has
// taken over from, however high its epoch.
TEST_P(CoordinatorContract, AStaleHolderIsFenced) {
    Coordinator& first = world->start("b1");
    Coordinator& second = world->start("b2");
    record<answer::Fenced>(*world, first, Slot{1}, "c1", Epoch::of(1, 1));
    const auto released = claim<answer::Claimed>(*world, first).term;
    record<answer::Fenced>(*world, first, Slot{1}, "c1", Epoch::of(released + 1, 1));
    release(*world, first);
    record<answer::Fenced>(*world, first, Slot{1}, "c1", Epoch::of(released, 1));

    const auto lost = claim<answer::Claimed>(*world, first).term;
    record<answer::Recorded>(*world, first, Slot{1}, "c1", Epoch::of(lost, 1));
    world->cut_off(first);
    world->pass(world->instance_lease() * 2);
    world->reconnect(first);
    record<answer::Fenced>(*world, first, Slot{1}, "c2", Epoch::of(lost, 2));

    const auto taken = claim<answer::Claimed>(*world, second);
    EXPECT_EQ(owners(taken), (Owners{{Slot{1}, {"c1", Epoch::of(lost, 1)}}}));
    record<answer::Fenced>(*world, first, Slot{1}, "c2", Epoch::of(lost, 3));
    record<answer::Fenced>(*world, first, Slot{1}, "c2", Epoch::of(taken.term, 3));
    record<answer::Recorded>(*world, second, Slot{1}, "c3", Epoch::of(taken.term, 1));
    EXPECT_EQ(owners(claim<answer::Claimed>(*world, second)),
              (Owners{{Slot{1}, {"c3", Epoch::of(taken.term, 1)}}}));
}

// Each Claim and RecordOwner has exactly one answer, those of one group in the order of the
// commands; nothing else is answered.
TEST_P(CoordinatorContract, AnswersComeInOrderAndOnce) {
    Coordinator& process = world->start("b1");
    const auto term = claim<answer::Claimed>(*world, process).term;
    const auto other_term = claim<answer::Claimed>(*world, process, other_filter).term;
    struct Asked {
        Slot slot{};
        Epoch epoch;
        bool recorded = false;
    };
    std::map<GroupName, std::vector<Asked>> asked;
    for (std::uint32_t i = 1; i <= 100; ++i) {
        const bool first_group = i % 3 != 0;
        const GroupName& group = first_group ? ingest : other_filter;
        const bool stale = i % 5 == 0;
        const Epoch epoch = stale ? Epoch{} : Epoch::of(first_group ? term : other_term, i);
        const Slot slot{i % 16};
        process.submit(command::MemberPresent{group, "c" + std::to_string(i)}, world->now());
        process.submit(command::RecordOwner{group, slot, "c", epoch, HandoverCause::first_use},
                       world->now());
        process.submit(command::MemberGone{group, "c" + std::to_string(i), i % 2 == 0},
                       world->now());
        asked[group].push_back({slot, epoch, !stale});
    }
    std::map<GroupName, std::size_t> answered;
    for (int i = 0; i < 100; ++i) {
        const auto answer = world->await(process);
        ASSERT_TRUE(answer) << i << " answers of 100";
        const auto check = [&](const auto& got, bool recorded) {
            const auto& commands = asked[got.group];
            const std::size_t next = answered[got.group]++;
            ASSERT_LT(next, commands.size());
            EXPECT_EQ(got.slot, commands[next].slot);
            EXPECT_EQ(got.epoch, commands[next].epoch);
            EXPECT_EQ(recorded, commands[next].recorded);
        };
        if (const auto* recorded = std::get_if<answer::Recorded>(&*answer)) {
            check(*recorded, true);
        } else {
            check(expect<answer::Fenced>(answer), false);
        }
    }
    EXPECT_FALSE(world->await(process)) << "an answer too many";
}

// A process started again under its name has its claim at once, with every owner and epoch as
// recorded; a slot that was left without an owner included.
TEST_P(CoordinatorContract, OwnersSurviveARestart) {
    Coordinator& process = world->start("b1");
    const auto term = claim<answer::Claimed>(*world, process).term;
    record<answer::Recorded>(*world, process, Slot{15}, "c1", Epoch::of(term, 1));
    record<answer::Recorded>(*world, process, Slot{0}, "c2", Epoch::of(term, 2));
    record<answer::Recorded>(*world, process, Slot{7}, "c1", Epoch::of(term, 3));
    record<answer::Recorded>(*world, process, Slot{7}, "", Epoch::of(term, 4));
    world->crash(process);
    Coordinator& restarted = world->start("b1");
    EXPECT_FALSE(restarted.holds(ingest, world->now()));
    const auto claimed = claim<answer::Claimed>(*world, restarted);
    EXPECT_GT(claimed.term, term);
    EXPECT_EQ(owners(claimed), (Owners{{Slot{0}, {"c2", Epoch::of(term, 2)}},
                                       {Slot{7}, {"", Epoch::of(term, 4)}},
                                       {Slot{15}, {"c1", Epoch::of(term, 1)}}}));
}

// A client id may hold what names and scripts give a meaning to: what is recorded comes back the
// same.
TEST_P(CoordinatorContract, ClientIdsAreKeptExactly) {
    Coordinator& process = world->start("b1");
    const std::string odd = "{a}:\"\\ %\n\xc3\xa9";
    const auto term = claim<answer::Claimed>(*world, process).term;
    record<answer::Recorded>(*world, process, Slot{1}, odd, Epoch::of(term, 1));
    present(*world, process, odd);
    const auto again = claim<answer::Claimed>(*world, process);
    EXPECT_EQ(owners(again), (Owners{{Slot{1}, {odd, Epoch::of(term, 1)}}}));
    EXPECT_EQ(members(again), Names{odd});
}

// A broker with another slot count or key rule may not join, not even when nobody holds the group:
// what is recorded means something else to it. It is told what is recorded, and changes nothing.
TEST_P(CoordinatorContract, AnotherFingerprintIsRefused) {
    Coordinator& first = world->start("b1");
    Coordinator& second = world->start("b2");
    const auto term = claim<answer::Claimed>(*world, first).term;
    record<answer::Recorded>(*world, first, Slot{1}, "c1", Epoch::of(term, 1));
    const auto mismatch = [&](Coordinator& process, const GroupFingerprint& as) {
        EXPECT_EQ(claim<answer::FingerprintMismatch>(*world, process, ingest, as).recorded,
                  fingerprint);
    };
    mismatch(second, {32, "topic:2"});
    mismatch(second, {16, "topic:3"});
    mismatch(first, {32, "topic:2"});
    EXPECT_TRUE(first.holds(ingest, world->now()));
    record<answer::Recorded>(*world, first, Slot{1}, "c2", Epoch::of(term, 2));
    release(*world, first);
    mismatch(second, {32, "topic:2"});
    EXPECT_FALSE(second.holds(ingest, world->now()));
    EXPECT_EQ(owners(claim<answer::Claimed>(*world, second)),
              (Owners{{Slot{1}, {"c2", Epoch::of(term, 2)}}}));
}

// A present member is remembered as long as its process runs; one that is gone is forgotten at
// once.
TEST_P(CoordinatorContract, MembersAreRememberedUntilTheyAreGone) {
    Coordinator& process = world->start("b1");
    claim<answer::Claimed>(*world, process);
    present(*world, process, "c2");
    present(*world, process, "c1");
    present(*world, process, "c1");
    EXPECT_EQ(members(claim<answer::Claimed>(*world, process)), (Names{"c1", "c2"}));
    world->pass(world->member_lease() * 3);
    EXPECT_EQ(members(claim<answer::Claimed>(*world, process)), (Names{"c1", "c2"}));
    gone(*world, process, "c1", false);
    gone(*world, process, "never-here", false);
    EXPECT_EQ(members(claim<answer::Claimed>(*world, process)), Names{"c2"});
}

// A lapsing member is remembered for its lease and no longer, however often it is reported gone;
// reported present in time, it stays.
TEST_P(CoordinatorContract, ALapsingMemberIsRememberedForItsLease) {
    Coordinator& process = world->start("b1");
    claim<answer::Claimed>(*world, process);
    present(*world, process, "away");
    present(*world, process, "back");
    gone(*world, process, "away", true);
    gone(*world, process, "back", true);
    world->pass(world->member_lease() / 2);
    const auto claimed = claim<answer::Claimed>(*world, process);
    EXPECT_EQ(members(claimed), (Names{"away", "back"}));
    for (const auto& member : claimed.members) {
        ASSERT_TRUE(member.lease_until);
        EXPECT_GT(*member.lease_until, world->now());
        EXPECT_LE(*member.lease_until, world->now() + world->member_lease());
    }
    present(*world, process, "back");
    gone(*world, process, "away", true);
    world->pass(world->member_lease() * 3 / 4);
    EXPECT_EQ(members(claim<answer::Claimed>(*world, process)), Names{"back"});
}

// After a crash the members are remembered for their lease, for whoever takes over.
TEST_P(CoordinatorContract, MembersOfACrashedProcessLapse) {
    Coordinator& first = world->start("b1");
    claim<answer::Claimed>(*world, first);
    present(*world, first, "c1");
    world->crash(first);
    Coordinator& restarted = world->start("b1");
    EXPECT_EQ(members(claim<answer::Claimed>(*world, restarted)), Names{"c1"});
    world->crash(restarted);
    world->pass(world->member_lease() + world->instance_lease());
    Coordinator& second = world->start("b2");
    EXPECT_EQ(members(claim<answer::Claimed>(*world, second)), Names{});
}

// A client that has moved to another broker stays a member when the old broker notices that it is
// gone.
TEST_P(CoordinatorContract, OnlyTheLastReporterEndsAMember) {
    Coordinator& first = world->start("b1");
    Coordinator& second = world->start("b2");
    claim<answer::Claimed>(*world, first);
    present(*world, first, "c1");
    present(*world, second, "c1");
    gone(*world, first, "c1", false);
    EXPECT_EQ(members(claim<answer::Claimed>(*world, first)), Names{"c1"});
    gone(*world, second, "c1", false);
    EXPECT_EQ(members(claim<answer::Claimed>(*world, first)), Names{});
}

// The store loses everything: what was granted before is refused, and a process that has seen a
// term never gets one that is not above it.
TEST_P(CoordinatorContract, EpochsRiseOverALossOfTheStore) {
    Coordinator& process = world->start("b1");
    std::uint64_t term = 0;
    for (int i = 0; i < 5; ++i) {
        term = claim<answer::Claimed>(*world, process).term;
    }
    record<answer::Recorded>(*world, process, Slot{1}, "c1", Epoch::of(term, 1));
    world->flush_store();
    record<answer::Fenced>(*world, process, Slot{1}, "c2", Epoch::of(term, 2));
    const auto claimed = claim<answer::Claimed>(*world, process);
    EXPECT_GT(claimed.term, term);
    EXPECT_TRUE(claimed.owners.empty());
    record<answer::Recorded>(*world, process, Slot{1}, "c2", Epoch::of(claimed.term, 1));
}

/// Two processes do a bit of everything; checked step by step, and by what is recorded in the end.
void play(CoordinatorWorld& world) {
    Coordinator& first = world.start("b1");
    Coordinator& second = world.start("b2");
    const auto term = claim<answer::Claimed>(world, first).term;
    claim<answer::HeldByOther>(world, second);
    present(world, first, "c1");
    present(world, first, "c2");
    record<answer::Recorded>(world, first, Slot{1}, "c1", Epoch::of(term, 1));
    record<answer::Recorded>(world, first, Slot{2}, "c2", Epoch::of(term, 2));
    world.pass(world.instance_lease());
    first.submit(command::RecordOwner{ingest, Slot{1}, "c2", Epoch::of(term, 3)}, world.now());
    first.submit(command::MemberGone{ingest, "c1", false}, world.now());
    first.submit(command::RecordOwner{ingest, Slot{2}, "c1", Epoch::of(term, 1)}, world.now());
    first.submit(command::RecordOwner{ingest, Slot{3}, "c2", Epoch::of(term, 4)}, world.now());
    EXPECT_EQ(expect<answer::Recorded>(world.await(first)).epoch, Epoch::of(term, 3));
    EXPECT_EQ(expect<answer::Fenced>(world.await(first)).epoch, Epoch::of(term, 1));
    EXPECT_EQ(expect<answer::Recorded>(world.await(first)).epoch, Epoch::of(term, 4));
    EXPECT_TRUE(first.holds(ingest, world.now()));
    release(world, first);
    const auto taken = claim<answer::Claimed>(world, second);
    EXPECT_GT(taken.term, term);
    EXPECT_EQ(members(taken), Names{"c2"});
    EXPECT_EQ(owners(taken), (Owners{{Slot{1}, {"c2", Epoch::of(term, 3)}},
                                     {Slot{2}, {"c2", Epoch::of(term, 2)}},
                                     {Slot{3}, {"c2", Epoch::of(term, 4)}}}));
    EXPECT_FALSE(world.await(first));
    EXPECT_FALSE(world.await(second));
}

// Whichever single call to the store fails, and whether it was carried out or not: every command is
// answered once, in order, and what is recorded in the end is what it would have been.
TEST_P(CoordinatorFaultContract, EveryCallMayFailOnce) {
    const auto undisturbed = GetParam().make();
    play(*undisturbed);
    const std::size_t calls = undisturbed->calls();
    ASSERT_GT(calls, 10U);
    for (const Fault fault : {Fault::request_lost, Fault::answer_lost}) {
        for (std::size_t nth = 1; nth <= calls; ++nth) {
            SCOPED_TRACE(
                (fault == Fault::request_lost ? "request lost, call " : "answer lost, call ") +
                std::to_string(nth));
            const auto world = GetParam().make();
            world->fail_call(nth, fault);
            play(*world);
            EXPECT_GT(world->calls(), calls) << "the call did not fail, or was not repeated";
        }
    }
}

}  // namespace
}  // namespace keyed_sticky::contract
