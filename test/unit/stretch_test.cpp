// The common case of the step says what the step says.
#include "../../src/core/step.hpp"

#include <gtest/gtest.h>

using namespace flakeid;

namespace {

WordShape small_shape(uint64_t max_tick, bool has_back)
{
    WordShape shape{};
    shape.sequence_bits = 2;
    shape.tick_bits = 2;
    shape.max_tick = Tick{max_tick};
    shape.has_back = has_back;
    shape.max_back = has_back ? 2 : 0;
    return shape;
}

// Returns how many words are in the stretches of all limits.
uint64_t compare_with_step(const WordShape& shape, uint64_t words)
{
    uint64_t found = 0;
    for (uint64_t now = 0; now <= tick_number(shape.max_tick) + 1; now++) {
        for (uint64_t ahead = 0; ahead <= 2; ahead++) {
            for (uint64_t first = 0; first < words; first++) {
                for (uint64_t bound = 0; bound < words; bound++) {
                    const Limits limits = {Tick{now}, ahead, Word{first}, Word{bound}};
                    const Stretch stretch = stretch_of(shape, limits);
                    for (uint64_t number = 0; number < words; number++) {
                        const Word last{number};
                        if (in_stretch(stretch, last)) {
                            const Draw d = step(last, shape, limits, {1, false});
                            EXPECT_TRUE(d.verdict == Verdict::issue && d.word == last + 1 &&
                                        d.count == 1)
                                << "now " << now << " ahead " << ahead << " first " << first
                                << " bound " << bound << " last " << number;
                            found++;
                        }
                    }
                }
            }
        }
    }
    return found;
}

} // namespace

TEST(Stretch, EveryArgumentOfSmallShapes)
{
    EXPECT_GT(compare_with_step(small_shape(3, false), 16), 0u);
    EXPECT_GT(compare_with_step(small_shape(2, false), 16), 0u);
    EXPECT_GT(compare_with_step(small_shape(3, true), 48), 0u);
    EXPECT_GT(compare_with_step(small_shape(2, true), 48), 0u);
}

TEST(Stretch, IsTheRestOfTheTick)
{
    const WordShape shape = small_shape(3, false);
    const Stretch stretch = stretch_of(shape, {Tick{2}, 1, no_word, highest_word});
    EXPECT_EQ(stretch.first, word_of(shape, 0, Tick{2}, 0));
    EXPECT_EQ(stretch.length, max_sequence(shape));
}

TEST(Stretch, NeverWraps)
{
    WordShape shape{};
    shape.sequence_bits = 31;
    shape.tick_bits = 33;
    shape.max_tick = Tick{(UINT64_C(1) << 33) - 1};
    const Stretch stretch = stretch_of(shape, {shape.max_tick, 1, no_word, highest_word});
    EXPECT_FALSE(in_stretch(stretch, no_word));
    EXPECT_FALSE(in_stretch(stretch, highest_word));
    EXPECT_TRUE(in_stretch(stretch, highest_word - 1));
}
