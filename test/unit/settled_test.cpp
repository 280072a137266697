// The rules of the settled mark.
#include "../../src/core/presets.hpp"
#include "../../src/core/settled.hpp"

#include <cstring>

#include <gtest/gtest.h>

using namespace flakeid;

namespace {

bool settles(const char* text)
{
    Layout layout{};
    EXPECT_EQ(parse_layout(text, strlen(text), &layout).status, LayoutStatus::ok) << text;
    return can_settle(layout);
}

} // namespace

TEST(Settled, LayoutsWhoseIdsRise)
{
    for (const Preset& preset : presets) {
        Layout layout{};
        ASSERT_EQ(parse_layout(preset.text, strlen(preset.text), &layout).status, LayoutStatus::ok);
        const bool rises = !layout.enciphered && strcmp(preset.name, "rollback2") != 0;
        EXPECT_EQ(can_settle(layout), rises) << preset.name;
    }
    EXPECT_TRUE(settles("time:41:1ms sequence:8 node:8"));
    EXPECT_TRUE(settles("back:2 time:41:1ms node:8 sequence:8"));
    EXPECT_FALSE(settles("node:8 time:41:1ms sequence:8"));
    EXPECT_FALSE(settles("sequence:8 time:41:1ms"));
    EXPECT_FALSE(settles("back:2 node:4 time:41:1ms sequence:8"));
    EXPECT_FALSE(settles("time:41:1ms sequence:8 cipher=sparx64"));
}

// Ids that can settle rise with their words, and those of a later tick lie above all of an earlier
// one.
TEST(Settled, IdsRiseWithWords)
{
    for (const char* text : {"time:3:1s node:2 sequence:2", "time:3:1s sequence:2 node:2",
                             "back:1 time:3:1s node:1 sequence:1 shard:1"}) {
        Layout layout{};
        ASSERT_EQ(parse_layout(text, strlen(text), &layout).status, LayoutStatus::ok);
        ASSERT_TRUE(can_settle(layout)) << text;
        const WordShape shape = word_shape(layout);
        uint64_t highest_before = 0;
        uint64_t highest = 0;
        const Word last = word_of(shape, shape.has_back ? shape.max_back : 0, shape.max_tick,
                                  max_sequence(shape));
        for (Word word = no_word; word <= last; word = word + 1) {
            if (word_sequence(shape, word) == 0) {
                highest_before = highest;
            }
            for (uint32_t node = 0; node <= layout.max_node; node++) {
                const uint64_t raw = raw_of_word(layout, shape, word) | place_node(layout, node);
                EXPECT_TRUE(word_number(word) <= max_sequence(shape) || raw > highest_before);
                highest = raw > highest ? raw : highest;
                if (word > no_word) {
                    EXPECT_GT(raw, raw_of_word(layout, shape, word - 1) | place_node(layout, node));
                }
            }
            EXPECT_EQ(within_layout(shape, word), word);
        }
        EXPECT_EQ(within_layout(shape, last + 1), last);
        EXPECT_EQ(within_layout(shape, highest_word), last);
    }
}

TEST(Settled, TransactionsInSixtyFourBits)
{
    constexpr uint64_t turn = UINT64_C(1) << 32;
    EXPECT_EQ(full_transaction(5, 7), 5u);
    EXPECT_EQ(full_transaction(9, 7), 9u);
    EXPECT_EQ(full_transaction(5, 3 * turn + 7), 3 * turn + 5);
    EXPECT_EQ(full_transaction(0xFFFFFFF0, 3 * turn + 7), 3 * turn - 16);
    EXPECT_EQ(full_transaction(3, 3 * turn - 2), 3 * turn + 3);
}

TEST(Settled, WhatASnapshotSees)
{
    const uint32_t running[] = {12, 14};
    const SnapshotView view{12, 16, running, 2};
    for (uint64_t ended : {3, 11, 13, 15}) {
        EXPECT_FALSE(unfinished(view, ended)) << ended;
    }
    for (uint64_t goes_on : {12, 14, 16, 99}) {
        EXPECT_TRUE(unfinished(view, goes_on)) << goes_on;
    }
    EXPECT_TRUE(taken_after(view, 14));
    EXPECT_FALSE(taken_after(view, 15));
    EXPECT_FALSE(taken_after(view, 16));
}

TEST(Settled, IdleNodesAreSkippedToTheEndOfATick)
{
    WordShape shape{};
    shape.sequence_bits = 2;
    shape.tick_bits = 10;
    shape.max_tick = Tick{1023};
    auto word = [&](uint64_t tick, uint64_t sequence) {
        return word_of(shape, 0, Tick{tick}, sequence);
    };
    EXPECT_EQ(skipped_word(shape, word(100, 1), Tick{500}),
              word(100, 3)); // no further than was drawn
    EXPECT_EQ(skipped_word(shape, word(100, 1), Tick{101}), word(100, 3));
    EXPECT_EQ(skipped_word(shape, word(100, 1), Tick{100}), word(99, 3)); // nor than the clock
    EXPECT_EQ(skipped_word(shape, word(100, 1), Tick{50}), word(49, 3));
    EXPECT_EQ(skipped_word(shape, word(100, 1), Tick{0}), no_word);
    EXPECT_EQ(skipped_word(shape, word(1023, 1), Tick{2000}),
              word(1023, 3)); // past the layout's end
    EXPECT_EQ(last_of_tick(shape, word(7, 1)), word(7, 3));
}
