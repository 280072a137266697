// The rules of the durable horizon, as properties: no test here expects a literal id.
#include "../../src/core/stamp.hpp"

#include "layouts.hpp"

using namespace flakeid;

namespace {

constexpr int64_t now_us = INT64_C(1790000000) * us_per_s;
constexpr int64_t most_ahead_us = 5 * us_per_s;
constexpr int64_t never = -1;

// Stamps of all sizes, near the times above and anywhere.
Stamp random_stamp(Random& random)
{
    const uint64_t back = up_to(random, 1) == 0 ? 0 : random_bits(random, max_back_bits);
    const auto apart = static_cast<int64_t>(up_to(random, 20 * us_per_s)) - 10 * us_per_s;
    return stamp_of(back, up_to(random, 3) == 0
                              ? static_cast<int64_t>(random_bits(random, stamp_us_bits))
                              : now_us + apart);
}

} // namespace

TEST(Stamp, KeepsItsParts)
{
    Random random(1);
    for (int i = 0; i < 100000; i++) {
        const uint64_t back = random_bits(random, max_back_bits);
        const auto us = static_cast<int64_t>(random_bits(random, stamp_us_bits));
        const Stamp stamp = stamp_of(back, us);
        ASSERT_EQ(stamp_back(stamp), back);
        ASSERT_EQ(stamp_us(stamp), us);
        ASSERT_GE(stamp_number(stamp), 0);
        ASSERT_EQ(stamp_of_number(stamp_number(stamp)), stamp);
    }
}

TEST(Stamp, IsClampedToItsBits)
{
    EXPECT_EQ(stamp_of(2, -1), stamp_of(2, 0));
    EXPECT_EQ(stamp_of(2, INT64_MIN), stamp_of(2, 0));
    EXPECT_EQ(stamp_of(2, INT64_MAX), stamp_of(2, last_stamp_us));
    EXPECT_EQ(stamp_back(stamp_of(2, INT64_MAX)), 2u);
}

TEST(Stamp, IsLaterWithALargerBackCount)
{
    EXPECT_LT(stamp_of(0, last_stamp_us), stamp_of(1, 0));
    EXPECT_LT(stamp_of(1, now_us), stamp_of(1, now_us + 1));
}

// What may have been stamped, at random.
Stamped random_stamped(Random& random)
{
    Stamped stamped{};
    take_stamp(&stamped, plain_horizon, stamp_of(0, stamp_us(random_stamp(random))));
    take_stamp(&stamped, back_horizon, random_stamp(random));
    stamped.latest_us =
        std::max(stamped.latest_us, stamp_us(random_stamp(random))); // of an earlier back count
    return stamped;
}

TEST(FloorsAtStart, ArePastWhatWasStampedWhereTheSameServerGoesOn)
{
    Random random(2);
    for (int i = 0; i < 100000; i++) {
        const Stamped kept = random_stamped(random);
        const Floors floors = floors_at_start(kept, 0);
        ASSERT_EQ(floors.stamp[plain_horizon], std::max(stamp_of(0, kept.latest_us), least_stamp))
            << "past the moments of every kind";
        ASSERT_EQ(floors.stamp[back_horizon],
                  std::max(stamp_of_number(kept.stamp[back_horizon]), least_stamp))
            << "no further, so that a count serves where the clock was set back";
        ASSERT_EQ(floors.least_us, kept.stamp[plain_horizon]);
    }
}

TEST(FloorsAtStart, RememberTheLeastMomentOfAnEarlierStart)
{
    Stamped kept{};
    kept.least_us = now_us;
    EXPECT_EQ(floors_at_start(kept, 0).least_us, now_us);
}

TEST(FloorsAtStart, AreNeverNone)
{
    const Floors floors = floors_at_start(Stamped{}, 0);
    EXPECT_EQ(floors.stamp[plain_horizon], least_stamp);
    EXPECT_EQ(floors.stamp[back_horizon], least_stamp);
    EXPECT_EQ(floors.least_us, 0);
}

TEST(FloorsAtStart, ElsewhereLiePastAllThatMayBeMissing)
{
    Random random(3);
    const int64_t apart = takeover_us(now_us, most_ahead_us);
    EXPECT_EQ(apart, now_us + most_ahead_us + allowed_behind_us);
    for (int i = 0; i < 100000; i++) {
        const Stamped kept = random_stamped(random);
        const Floors floors = floors_at_start(kept, apart);
        const int64_t missed = kept.latest_us + extension_us + max_generated_tick_us;
        for (const Stamp stamp : floors.stamp) {
            ASSERT_GE(stamp_us(stamp), std::min(std::max(missed, apart), last_stamp_us));
        }
        ASSERT_GE(floors.least_us, std::max(missed, apart)) << "whatever counts were used";
        ASSERT_EQ(stamp_back(floors.stamp[back_horizon]),
                  stamp_back(stamp_of_number(kept.stamp[back_horizon])));
    }
}

TEST(FloorsAtStart, OfAnUnknownServerLieWithinItsReach)
{
    EXPECT_EQ(takeover_us(now_us, 0), now_us + assumed_ahead_us + allowed_behind_us);
    EXPECT_EQ(floors_at_start(Stamped{}, now_us).stamp[plain_horizon], stamp_of(0, now_us));
}

TEST(Stamped, MergedSaysWhatBothSay)
{
    Random random(12);
    for (int i = 0; i < 10000; i++) {
        Stamped a = random_stamped(random), b = random_stamped(random);
        a.nodes = 5, b.nodes = 6, a.most_ahead_us = i, b.most_ahead_us = most_ahead_us;
        a.least_us = 10000 - i, b.least_us = i;
        const Stamped both = merged(a, b);
        for (const Stamped& one : {a, b}) {
            ASSERT_GE(both.stamp[plain_horizon], one.stamp[plain_horizon]);
            ASSERT_GE(both.stamp[back_horizon], one.stamp[back_horizon]);
            ASSERT_GE(both.latest_us, one.latest_us);
            ASSERT_GE(both.most_ahead_us, one.most_ahead_us);
            ASSERT_GE(both.least_us, one.least_us);
            ASSERT_EQ(both.nodes & one.nodes, one.nodes);
        }
        ASSERT_TRUE(both.latest_us == a.latest_us || both.latest_us == b.latest_us);
    }
}

TEST(Floors, LaterAreThoseOfBoth)
{
    const Floors a{{stamp_of(0, now_us), stamp_of(1, now_us - 1)}, now_us};
    const Floors b{{stamp_of(0, now_us - 1), stamp_of(1, now_us)}, now_us - 1};
    for (const Floors& both : {later(a, b), later(b, a)}) {
        EXPECT_EQ(both.stamp[plain_horizon], a.stamp[plain_horizon]);
        EXPECT_EQ(both.stamp[back_horizon], b.stamp[back_horizon]);
        EXPECT_EQ(both.least_us, a.least_us);
    }
}

TEST(WantedStamp, GoesAsFarAsAStartSpares)
{
    const Stamp needed = stamp_of(0, now_us + most_ahead_us);
    EXPECT_EQ(wanted_stamp(needed, now_us, most_ahead_us), needed);
    EXPECT_EQ(wanted_stamp(needed, now_us, most_ahead_us, now_us + most_ahead_us + us_per_s),
              stamp_of(0, now_us + most_ahead_us + us_per_s));
    EXPECT_EQ(wanted_stamp(needed, now_us, most_ahead_us, now_us + us_per_day),
              stamp_of(0, now_us + most_ahead_us + extension_us));
}

TEST(ServerReach, IsASecondFurtherWithinMaxAhead)
{
    EXPECT_EQ(file_target_us(now_us, now_us, most_ahead_us), now_us + us_per_s);
    EXPECT_EQ(file_target_us(now_us + most_ahead_us, now_us, most_ahead_us),
              now_us + most_ahead_us);
    EXPECT_EQ(file_target_us(now_us + us_per_day, now_us, most_ahead_us), now_us + us_per_day);
}

TEST(WantedStamp, ReachesWhatIsNeededAndNoFurtherThanItMay)
{
    Random random(4);
    for (int i = 0; i < 100000; i++) {
        const Stamp needed = random_stamp(random);
        const Stamp wanted = wanted_stamp(needed, now_us, most_ahead_us);
        ASSERT_GE(wanted, needed);
        ASSERT_EQ(stamp_back(wanted), stamp_back(needed));
        ASSERT_LE(stamp_us(wanted), std::min(stamp_us(needed) + extension_us, last_stamp_us));
        if (wanted > needed) {
            ASSERT_LE(stamp_us(wanted), now_us + most_ahead_us);
        }
    }
}

TEST(WantedStamp, IsAFullExtensionWhereTheClockAllowsIt)
{
    const Stamp needed = stamp_of(1, now_us);
    EXPECT_EQ(wanted_stamp(needed, now_us, most_ahead_us), stamp_of(1, now_us + extension_us));
    EXPECT_EQ(wanted_stamp(needed, now_us, us_per_s), stamp_of(1, now_us + us_per_s));
}

TEST(Extension, NeverGoesBackAndWritesOneOfTwo)
{
    Random random(5);
    for (int i = 0; i < 200000; i++) {
        const Stamp bound = random_stamp(random);
        const Stamp page = std::max(bound, up_to(random, 2) == 0 ? random_stamp(random) : bound);
        const Stamp needed = random_stamp(random);
        const Stamp wanted = wanted_stamp(needed, now_us, most_ahead_us);
        const auto since = static_cast<int64_t>(up_to(random, 2 * us_per_s)) - us_per_s / 4;
        const Extension next = extension(page, bound, needed, wanted, since);
        ASSERT_GE(next.stamp, page);
        ASSERT_TRUE(next.stamp == page || next.stamp == wanted);
        ASSERT_GE(next.wait_us, 0);
        ASSERT_LE(next.wait_us, extension_interval_us);
        if (next.wait_us > 0) {
            ASSERT_EQ(next.stamp, page);
            ASSERT_LT(bound, needed);
        }
        // Whoever does not wait finds the bound moved, or did not need it to.
        if (next.wait_us == 0 && next.stamp <= bound) {
            ASSERT_LE(needed, bound);
        }
    }
}

TEST(Extension, IsAtMostOneInItsInterval)
{
    const Stamp bound = stamp_of(0, now_us);
    const Stamp needed = stamp_of(0, now_us + 1);
    const Stamp wanted = stamp_of(0, now_us + extension_us);
    auto after = [&](int64_t since_us) {
        return extension(bound, bound, needed, wanted, since_us);
    };
    EXPECT_EQ(after(never).stamp, wanted);
    EXPECT_EQ(after(0).stamp, bound);
    EXPECT_EQ(after(0).wait_us, extension_interval_us);
    EXPECT_EQ(after(extension_interval_us - 1).stamp, bound);
    EXPECT_EQ(after(extension_interval_us - 1).wait_us, 1);
    EXPECT_EQ(after(extension_interval_us).stamp, wanted);
}

TEST(Extension, ThatIsEarlyIsNotWaitedFor)
{
    const Stamp bound = stamp_of(0, now_us);
    const Stamp wanted = stamp_of(0, now_us + extension_us);
    const Extension next = extension(bound, bound, bound, wanted, 0);
    EXPECT_EQ(next.stamp, bound);
    EXPECT_EQ(next.wait_us, 0);
}

TEST(Extension, OfABackCountDoesNotWait)
{
    const Stamp bound = stamp_of(0, now_us);
    const Stamp needed = stamp_of(1, now_us - us_per_day);
    const Stamp wanted = wanted_stamp(needed, now_us - us_per_day, most_ahead_us);
    EXPECT_EQ(extension(bound, bound, needed, wanted, 0).stamp, wanted);
}

TEST(Extension, LeavesThatOfAnotherSessionAlone)
{
    const Stamp bound = stamp_of(0, now_us);
    const Stamp page = stamp_of(0, now_us + us_per_s);
    const Stamp wanted = stamp_of(0, now_us + extension_us);
    EXPECT_EQ(extension(page, bound, wanted, wanted, never).stamp, page) << "on its way";
    EXPECT_EQ(extension(page, bound, wanted, wanted, never).wait_us, 0);
    EXPECT_EQ(extension(wanted, wanted, wanted, wanted, never).stamp, wanted) << "arrived";
}

// It came too late, as where the file of the server was not written for a second.
TEST(Extension, FollowsOneOfAnotherSessionThatTimeHasPassed)
{
    const Stamp bound = stamp_of(0, now_us - us_per_s);
    const Stamp page = stamp_of(0, now_us);
    const Stamp needed = stamp_of(0, now_us + 1);
    const Stamp wanted = stamp_of(0, now_us + extension_us);
    EXPECT_EQ(extension(page, bound, needed, wanted, extension_interval_us).stamp, wanted);
    EXPECT_EQ(extension(page, bound, needed, wanted, extension_interval_us - 1).stamp, page);
    EXPECT_EQ(extension(page, bound, page, wanted, extension_interval_us).stamp, page);
}

TEST(RepairedStamp, LowersWhatLiesAheadOnly)
{
    Random random(7);
    for (int i = 0; i < 100000; i++) {
        const Stamp stamp = random_stamp(random);
        const Stamp repaired = repaired_stamp(stamp, now_us);
        ASSERT_LE(stamp_us(repaired), now_us);
        if (stamp_us(stamp) <= now_us) {
            ASSERT_EQ(repaired, stamp);
        } else {
            ASSERT_EQ(repaired, stamp_of(0, now_us));
        }
    }
}
