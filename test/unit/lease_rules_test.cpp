// What a coordinator of leases decides about a locked row.
#include "../../src/core/lease_rules.hpp"

#include <gtest/gtest.h>

using namespace flakeid;

namespace {

constexpr int64_t s = 1000000;
constexpr int64_t now = 1700000000 * s + 300000;
constexpr int64_t second = 1700000000 * s;
constexpr LeaseRealm realm{8, 60, 10};
constexpr LeaseMoment working{now, 0};
constexpr LeaseMoment resting{now, now + 50 * s};

RenewDecision renewed(const LeaseMoment& moment, int64_t free_from_us, int64_t known_us = 0)
{
    return decide_renew(realm, moment, {20, known_us != 0, known_us, true, free_from_us});
}

} // namespace

TEST(LeaseRules, AGenerationBeginsWithEachRestAndWhereverItRuns)
{
    const LeaseClockRead first = read_lease_clock({}, now, 1, 70);
    EXPECT_EQ(first.clock.generation, now);
    EXPECT_EQ(first.moment.rest_until_us, 0);
    const LeaseClockRead same = read_lease_clock(first.clock, now + s, 1, 70);
    EXPECT_EQ(same.clock.generation, now);
    // a clock that is behind begins a later one all the same, and time stands still
    const LeaseClockRead moved = read_lease_clock(same.clock, now - 5 * s, 2, 70);
    EXPECT_TRUE(moved.moved);
    EXPECT_EQ(moved.moment.now_us, now + s);
    EXPECT_EQ(moved.clock.generation, now + s);
    EXPECT_EQ(moved.moment.rest_until_us, second + 72 * s);
    EXPECT_EQ(begin_lease_rest(moved.clock, now).clock_us, now + s);
    EXPECT_EQ(begin_lease_rest(moved.clock, now).generation, now + s + 1);
}

TEST(LeaseRules, AnyNodeIsAnyButNodeZero)
{
    const AcquireRange last = decide_range(realm, working, {true, 0, false, 0, 0.999});
    EXPECT_EQ(last.low, 1);
    EXPECT_EQ(last.top, 7);
    EXPECT_EQ(last.first, 7);
    EXPECT_EQ(decide_range(realm, working, {true, 0, true, 3, 0.0}).first, 1);
    EXPECT_EQ(decide_range(realm, working, {true, 0, true, 3, 0.999}).first, 3);
    EXPECT_EQ(decide_range(realm, working, {true, 0, true, 0, 0.5}).first, 0);
    EXPECT_EQ(decide_range(realm, working, {false, 8, false, 0, 0}).refusal,
              LeaseRefusal::out_of_range);
    EXPECT_EQ(decide_range(realm, working, {false, 4, true, 3, 0}).refusal,
              LeaseRefusal::out_of_range);
    EXPECT_EQ(decide_range(realm, working, {false, 7, false, 0, 0}).refusal, LeaseRefusal::none);
    EXPECT_EQ(decide_range(realm, resting, {false, 7, false, 0, 0}).refusal, LeaseRefusal::rests);
}

TEST(LeaseRules, ALeaseBeginsWhenAllEarlierOnesHaveEnded)
{
    EXPECT_EQ(decide_grant(working, false, now + 1, 20).refusal, LeaseRefusal::in_use);
    EXPECT_EQ(decide_grant(working, true, now + 1, 20).refusal, LeaseRefusal::all_leased);
    const GrantDecision granted = decide_grant(working, false, second, 20);
    EXPECT_EQ(granted.start_us, second);
    EXPECT_EQ(granted.end_us, second + 20 * s);
    EXPECT_EQ(lease_length_s(60, s - 1), 0);
    EXPECT_EQ(lease_length_s(60, s + 1), 2);
    EXPECT_EQ(lease_length_s(60, 60 * s), 60);
    EXPECT_EQ(lease_length_s(60, 60 * s + 1), 0);
}

TEST(LeaseRules, ARenewalMovesTheEndOfALeaseThatLasts)
{
    EXPECT_EQ(renewed(working, second + 5 * s).end_us, second + 20 * s);
    EXPECT_EQ(renewed(working, second + 50 * s).end_us, second + 50 * s);
    EXPECT_EQ(renewed(working, second).refusal, LeaseRefusal::ended);
    EXPECT_EQ(decide_renew(realm, working, {20, false, 0, false, second + 50 * s}).refusal,
              LeaseRefusal::other_lease);
    // in a rest one that ends within max_skew may have been given away
    EXPECT_EQ(renewed(resting, now + 10 * s).refusal, LeaseRefusal::too_soon);
    EXPECT_EQ(renewed(resting, now + 10 * s + 1).refusal, LeaseRefusal::none);
    // whoever knows a later end has it, as long as a lease may be; one that ends soon is kept
    EXPECT_EQ(renewed(working, second, second + 5 * s).end_us, second + 5 * s);
    EXPECT_EQ(renewed(working, second, second + 15 * s).end_us, second + 20 * s);
    EXPECT_EQ(renewed(working, second, INT64_MAX).end_us, second + 60 * s);
    EXPECT_EQ(renewed(resting, second, INT64_MAX).end_us, second + 70 * s);
    EXPECT_FALSE(renewed(working, second + 5 * s, second + 5 * s).claimed);
}

TEST(LeaseRules, AskingAgainIsTheSameQuestion)
{
    const RenewQuestion lasts{20, false, 0, true, second + 5 * s};
    EXPECT_EQ(decide_again(realm, working, true, lasts).end_us, second + 20 * s);
    EXPECT_EQ(decide_again(realm, working, false, lasts).refusal, LeaseRefusal::used_token);
    EXPECT_EQ(decide_again(realm, working, true, {20, false, 0, false, second + 5 * s}).refusal,
              LeaseRefusal::used_token);
    EXPECT_EQ(decide_again(realm, working, true, {20, false, 0, true, second}).refusal,
              LeaseRefusal::used_token);
    EXPECT_EQ(decide_again(realm, resting, true, lasts).refusal, LeaseRefusal::too_soon);
}

TEST(LeaseRules, ANodeIsFreeWhenItsLastStampHasPassed)
{
    const int64_t start = second - 10 * s;
    const int64_t end = second + 10 * s;
    auto release = [&](const LeaseMoment& moment, bool over, bool has_last, int64_t last_us) {
        return decide_release(realm, moment, {start, end, over, has_last, last_us, start - 99 * s});
    };
    EXPECT_EQ(release(working, false, true, second + 1).free_us, second + s);
    EXPECT_EQ(release(working, false, true, second).free_us, second + s);
    EXPECT_EQ(release(working, false, true, start - 1).free_us, start - 99 * s);
    EXPECT_EQ(release(working, false, true, start - 1).end_us, start);
    EXPECT_EQ(release(working, false, false, 0).free_us, end);
    EXPECT_EQ(release(working, false, true, end).refusal, LeaseRefusal::outside);
    EXPECT_EQ(release(resting, false, true, end).free_us, end + s);
    EXPECT_EQ(release(resting, false, true, now + 70 * s + 1).refusal, LeaseRefusal::outside);
    EXPECT_FALSE(release(working, true, true, second).changes);
    int64_t free_us;
    EXPECT_TRUE(decide_revoke(working, now + 1, &free_us));
    EXPECT_EQ(free_us, second + s);
    EXPECT_FALSE(decide_revoke(working, now, &free_us));
}
