// What a coordinator of leases decides about a locked row.
#include "../../src/leases/rules/lease_rules.hpp"

#include <algorithm>
#include <gtest/gtest.h>

using namespace flakeid;

namespace {

constexpr int64_t s = 1000000;
constexpr int64_t now = 1700000000 * s + 300000;
constexpr int64_t second = 1700000000 * s;
constexpr LeaseRealm realm{0, 8, 1, 60, 10};
constexpr LeaseMoment working{now, 0};
constexpr LeaseMoment resting{now, now + 50 * s};

RenewDecision renewed(const LeaseMoment& moment, int64_t free_from_us, int64_t known_us = 0)
{
    return decide_renew(realm, moment, {20, known_us != 0, known_us, true, free_from_us});
}

} // namespace

TEST(LeaseRules, ATermBeginsWithEachRestAndWhereverItRuns)
{
    const LeaseClockRead first = read_lease_clock({}, now, 1, 70);
    EXPECT_EQ(first.clock.term, now);
    EXPECT_EQ(first.moment.rest_until_us, 0);
    const LeaseClockRead same = read_lease_clock(first.clock, now + s, 1, 70);
    EXPECT_EQ(same.clock.term, now);
    // a clock that is behind begins a later one all the same, and time stands still
    const LeaseClockRead moved = read_lease_clock(same.clock, now - 5 * s, 2, 70);
    EXPECT_TRUE(moved.moved);
    EXPECT_EQ(moved.moment.now_us, now + s);
    EXPECT_EQ(moved.clock.term, now + s);
    EXPECT_EQ(moved.moment.rest_until_us, second + 72 * s);
    EXPECT_EQ(begin_lease_rest(moved.clock, now).clock_us, now + s);
    EXPECT_EQ(begin_lease_rest(moved.clock, now).term, now + s + 1);
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

TEST(LeaseRules, AnyRangeIsOneOfTheRealmAndEndsWithinTheLayout)
{
    constexpr LeaseRealm ranges{512, 64, 16, 60, 10}; // 512 to 527, 528 to 543, ..., 560 to 575
    for (int32_t most : {527, 540, 543, 575, 5000}) {
        for (double chance : {0.0, 0.3, 0.999}) {
            const AcquireRange any = decide_range(ranges, working, {true, 0, true, most, chance});
            EXPECT_EQ(any.low, 512);
            EXPECT_EQ(any.first % 16, 0);
            EXPECT_GE(any.first, any.low);
            EXPECT_LE(any.first, any.top);
            EXPECT_LE(any.top + 15, std::min(most, 575));
            EXPECT_GT(any.top + 31, std::min(most, 575));
        }
    }
    EXPECT_EQ(decide_range(ranges, working, {true, 0, true, 526, 0}).refusal,
              LeaseRefusal::out_of_range);
    EXPECT_EQ(decide_range(ranges, working, {true, 0, true, 0, 0}).refusal,
              LeaseRefusal::out_of_range);
    // node 0 is passed with its whole range, unless there is no other
    constexpr LeaseRealm from_0{0, 64, 16, 60, 10};
    EXPECT_EQ(decide_range(from_0, working, {true, 0, false, 0, 0.0}).first, 16);
    EXPECT_EQ(decide_range(from_0, working, {true, 0, false, 0, 0.999}).first, 48);
    EXPECT_EQ(decide_range(from_0, working, {true, 0, true, 30, 0.999}).low, 0);
    constexpr LeaseRealm highest{INT32_MAX - 4095, 4096, 4096, 60, 10};
    EXPECT_EQ(decide_range(highest, working, {true, 0, false, 0, 0.9}).top, INT32_MAX - 4095);
}

TEST(LeaseRules, OneRangeIsAskedForByItsFirstNode)
{
    constexpr LeaseRealm ranges{512, 64, 16, 60, 10};
    auto refusal = [&](int32_t node, bool has_max = false, int32_t max = 0) {
        return decide_range(ranges, working, {false, node, has_max, max, 0}).refusal;
    };
    EXPECT_EQ(refusal(512), LeaseRefusal::none);
    EXPECT_EQ(refusal(560), LeaseRefusal::none);
    EXPECT_EQ(refusal(561), LeaseRefusal::inside);
    EXPECT_EQ(refusal(575), LeaseRefusal::inside);
    for (int32_t node : {INT32_MIN, -1, 0, 511, 576, INT32_MAX}) {
        EXPECT_EQ(refusal(node), LeaseRefusal::out_of_range) << node;
    }
    EXPECT_EQ(refusal(528, true, 543), LeaseRefusal::none);
    EXPECT_EQ(refusal(528, true, 542), LeaseRefusal::out_of_range);
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
