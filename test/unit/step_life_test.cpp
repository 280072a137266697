// Whole lives of a generator: the step, taken again and again until nothing is left, or with a
// clock, limits and restarts that come as they like.
#include "draws.hpp"

#include <iterator>
#include <vector>

using namespace flakeid;

// A clock that jumps at will, limits that move as the product moves them, and now and then a
// restart that forgets the last word but keeps the horizon: every word is larger than all before
// it.
TEST(Step, LongRandomLife)
{
    const char* const texts[] = {
        "time:41:1ms node:10 sequence:12",         "time:41:1ms node:8 back:2 sequence:12",
        "back:3 time:38:10ms node:10 sequence:12", "time:39:10ms sequence:8 machine:16",
        "time:31:1s node:5 sequence:27",           "time:30:1s node:17 sequence:17 cipher=sparx64",
        "time:33:1s sequence:31 cipher=sparx64",   "sequence:1 time:32:1s node:31",
        "back:7 time:50:1ms sequence:2",           "time:42:1ms node:10 sequence:12",
    };
    uint64_t drawn[4] = {}, raised = 0;
    for (size_t t = 0; t < std::size(texts); t++) {
        const Layout layout = parsed(texts[t]);
        const WordShape shape = word_shape(layout);
        Random random(100 + t);
        Word last = no_word;    // as the shared memory knows it
        Word highest = no_word; // the largest word ever issued
        uint64_t wall = 1000000;
        Limits limits = {Tick{wall}, 20, no_word, no_word};
        for (int i = 0; i < 60000; i++) {
            switch (up_to(random, 31)) {
            case 0:
                wall += up_to(random, 60);
                break;
            case 1:
                wall -= up_to(random, 40);
                break;
            case 2:
                if (up_to(random, 100) == 0) {
                    wall = wall - 1000 + up_to(random, 2000);
                }
                break;
            case 3:
                if (up_to(random, 50) == 0) { // kill -9: the words begin anew after the horizon
                    last = no_word;
                    limits.others_ahead = 0;
                    limits.first = limits.last == highest_word ? limits.last : limits.last + 1;
                }
                break;
            case 4:
                limits.ahead = up_to(random, 40);
                break;
            default:
                wall += up_to(random, 1);
            }
            limits.now = Tick{wall};
            Want want = {1, up_to(random, 3) == 0};
            if (up_to(random, 1) == 0) {
                // Mostly small, now and then more than a tick holds.
                const uint64_t most = max_sequence(shape) + (want.in_one_tick ? 0 : 500);
                want.count = static_cast<uint32_t>(1 + up_to(random, most >> up_to(random, 31)));
            }
            const Draw d = step(last, shape, limits, want);
            check_draw(last, shape, limits, want, d);
            ASSERT_FALSE(::testing::Test::HasFatalFailure()) << texts[t] << " step " << i;
            drawn[static_cast<int>(d.verdict)]++;
            const Word before = last > limits.first ? last : limits.first;
            if (d.verdict == Verdict::issue) {
                ASSERT_GT(d.word, highest) << texts[t] << " step " << i;
                if (word_back(shape, d.word) != word_back(shape, before)) {
                    ASSERT_EQ(word_back(shape, d.word), word_back(shape, before) + 1);
                    ASSERT_GT(word_tick(shape, before), limits.now + limits.ahead + 1)
                        << "raised without need";
                    ASSERT_GT(word_tick(shape, before), limits.now + limits.others_ahead + 1)
                        << "raised because of another session";
                    raised++;
                }
                if (word_tick(shape, d.word + d.count - 1) > limits.now) {
                    limits.others_ahead = std::max(limits.others_ahead, limits.ahead);
                }
                highest = last = d.word + d.count - 1;
            } else if (d.verdict == Verdict::extend) {
                const Tick tick = word_tick(shape, d.word) + up_to(random, 3);
                limits.last = last_of_tick(shape, word_back(shape, d.word),
                                           tick < shape.max_tick ? tick : shape.max_tick);
            } else if (d.verdict == Verdict::wait) {
                // A layout with a back field waits only because ticks are full or back is used up.
                ASSERT_TRUE(!shape.has_back || word_back(shape, before) == shape.max_back ||
                            word_tick(shape, before) <=
                                limits.now + std::max(limits.ahead, limits.others_ahead) + 1);
                wall += up_to(random, 7) == 0 ? d.too_far : 0;
            }
        }
    }
    EXPECT_GT(drawn[static_cast<int>(Verdict::issue)], 100000u);
    EXPECT_GT(drawn[static_cast<int>(Verdict::extend)], 1000u);
    EXPECT_GT(drawn[static_cast<int>(Verdict::wait)], 1000u);
    EXPECT_GT(raised, 10u);
}

// The same end of a life, reached by drawing until nothing is left.
TEST(Step, EveryWordOfALifeIsIssuedOnce)
{
    for (const WordShape& shape :
         {small_shape(2, 5, 31, false, 0), small_shape(0, 6, 63, false, 0)}) {
        Random random(7);
        std::vector<bool> issued(UINT64_C(1) << (shape.sequence_bits + shape.tick_bits));
        Word last = no_word;
        for (;;) {
            // The clock stands still at the beginning, so that every word comes by carrying.
            const Draw d =
                step(last, shape, {Tick{0}, tick_number(shape.max_tick), no_word, unbounded},
                     {static_cast<uint32_t>(1 + up_to(random, 4)), false});
            if (d.verdict == Verdict::exhausted) {
                break;
            }
            ASSERT_EQ(d.verdict, Verdict::issue);
            ASSERT_GT(d.word, last);
            ASSERT_GE(d.count, 1u);
            for (uint32_t i = 0; i < d.count; i++) {
                ASSERT_FALSE(issued[word_number(d.word + i)]);
                issued[word_number(d.word + i)] = true;
            }
            last = d.word + d.count - 1;
        }
        EXPECT_FALSE(issued[0]);
        for (size_t i = 1; i < issued.size(); i++) {
            EXPECT_TRUE(issued[i]) << i;
        }
    }
}
