// When holders of leases ask again.
#include "../../src/leases/rules/backoff.hpp"

#include <gtest/gtest.h>

using namespace flakeid;

namespace {

constexpr int64_t s = 1000000;
constexpr Steady now{1000 * s};
constexpr double chances[] = {0, 0.25, 0.5, 0.999999};

TEST(Backoff, BackOffDoublesUpToItsEnd)
{
    for (const double chance : chances) {
        Attempts attempts{};
        int64_t expected = first_backoff_us;
        for (int i = 0; i < 12; i++) {
            postpone(attempts, now, chance);
            EXPECT_EQ(attempts.backoff_us, expected);
            EXPECT_LE(attempts.due, now + expected);
            EXPECT_GE(attempts.due, now + expected / 2);
            expected = 2 * expected < last_backoff_us ? 2 * expected : last_backoff_us;
        }
    }
}

TEST(Backoff, HoldersThatFailTogetherComeBackApart)
{
    Attempts first{now, last_backoff_us};
    Attempts second{now, last_backoff_us};
    postpone(first, now, 0.1);
    postpone(second, now, 0.9);
    EXPECT_GE(first.due - second.due, last_backoff_us / 3);
}

TEST(Backoff, WhatNeedsAConnectionIsTriedWithIt)
{
    const Attempts none{now + 3 * s, last_backoff_us};
    Attempts attempts{now, 2 * first_backoff_us};
    postpone_with(none, attempts, now, 0.1);
    EXPECT_EQ(attempts.due, none.due);
    EXPECT_EQ(attempts.backoff_us, 2 * first_backoff_us);
    // With a connection each waits by itself.
    postpone_with(Attempts{}, attempts, now, 0);
    EXPECT_EQ(attempts.due, now + 4 * first_backoff_us);
}

TEST(Backoff, ANodeThatWasGivenBackIsAskedForWhenItIsFree)
{
    EXPECT_EQ(patient_wait_us(5 * s), first_backoff_us);
    EXPECT_EQ(patient_wait_us(5 * s + 300000), first_backoff_us);
    EXPECT_EQ(patient_wait_us(5 * s + 950000), 50000);
    EXPECT_EQ(patient_wait_us(6 * s - 1), 1);
}

TEST(Backoff, RenewalsComeAtAThirdAtTheLatest)
{
    for (const double chance : chances) {
        const int64_t wait_us = renewal_wait_us(60 * s, 60 * s, chance);
        EXPECT_LE(wait_us, 20 * s);
        EXPECT_GE(wait_us, 15 * s);
    }
    EXPECT_EQ(renewal_wait_us(60 * s, 60 * s, 0), 20 * s);
    EXPECT_LT(renewal_wait_us(60 * s, 60 * s, 0.9), renewal_wait_us(60 * s, 60 * s, 0.1));
}

TEST(Backoff, RenewalsComeBeforeTheEndOfAnyLease)
{
    for (int64_t length_us = 3 * s; length_us <= 86400 * s; length_us *= 2) {
        for (int64_t left_us = 2 * s; left_us <= length_us; left_us += 1 + length_us / 7) {
            for (const double chance : chances) {
                EXPECT_LE(renewal_wait_us(length_us, left_us, chance), left_us / 2);
                EXPECT_GT(renewal_wait_us(length_us, left_us, chance), 0);
            }
        }
    }
    // What is left may be nothing, or less: then once in a while.
    EXPECT_GE(renewal_wait_us(60 * s, -5 * s, 0.5), s / 4);
}

TEST(Backoff, WhatIsNearlyDueIsRenewedAlong)
{
    EXPECT_TRUE(renews_early(60 * s, 10 * s));
    EXPECT_FALSE(renews_early(60 * s, 10 * s + 1));
}

} // namespace
