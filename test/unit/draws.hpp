// What the tests of the step share: shapes of words, and what holds of every draw.
#pragma once

#include "../../src/core/step.hpp"

#include "layouts.hpp"

namespace flakeid {

// Far enough that it binds nothing.
constexpr Word unbounded = highest_word;

constexpr Want one = {1, false};

// Ids of 1 ms with 4096 a tick, as most tests want them.
inline WordShape plain_shape()
{
    return word_shape(parsed("time:41:1ms node:10 sequence:12"));
}

inline WordShape back_shape()
{
    return word_shape(parsed("time:41:1ms node:8 back:2 sequence:12"));
}

// What holds of every draw, whatever the arguments.
inline void check_draw(Word last, const WordShape& shape, const Limits& limits, Want want,
                       const Draw& d)
{
    if (d.verdict != Verdict::issue) {
        EXPECT_EQ(d.count, 0u);
    }
    switch (d.verdict) {
    case Verdict::issue: {
        ASSERT_GE(d.count, 1u);
        ASSERT_LE(d.count, want.count);
        const Word end = d.word + d.count - 1;
        ASSERT_GE(end, d.word);
        ASSERT_GT(d.word, last);
        ASSERT_NE(d.word, no_word);
        ASSERT_GE(d.word, limits.first);
        ASSERT_LE(end, limits.last);
        ASSERT_GE(word_tick(shape, d.word), limits.now);
        ASSERT_LE(word_tick(shape, end) - limits.now, limits.ahead);
        ASSERT_LE(word_tick(shape, end), shape.max_tick);
        ASSERT_LE(word_back(shape, end), shape.max_back);
        ASSERT_EQ(word_back(shape, end), word_back(shape, d.word));
        if (want.in_one_tick) {
            ASSERT_EQ(d.count, want.count);
            ASSERT_EQ(word_tick(shape, end), word_tick(shape, d.word));
        }
        break;
    }
    case Verdict::extend:
        ASSERT_GT(d.word + (want.in_one_tick ? want.count - 1 : 0), limits.last);
        ASSERT_GT(d.word, last);
        ASSERT_GE(d.word, limits.first);
        ASSERT_LE(word_tick(shape, d.word) - limits.now, limits.ahead);
        break;
    case Verdict::wait:
        ASSERT_GT(d.word, last);
        ASSERT_GT(word_tick(shape, d.word), limits.now + limits.ahead);
        ASSERT_EQ(d.too_far, word_tick(shape, d.word) - limits.now - limits.ahead);
        break;
    case Verdict::exhausted:
        break;
    }
}

inline WordShape small_shape(int sequence_bits, int tick_bits, uint64_t max_tick, bool has_back,
                             uint64_t max_back)
{
    WordShape shape{};
    shape.sequence_bits = static_cast<uint8_t>(sequence_bits);
    shape.tick_bits = static_cast<uint8_t>(tick_bits);
    shape.max_tick = Tick{max_tick};
    shape.has_back = has_back;
    shape.max_back = max_back;
    return shape;
}

} // namespace flakeid
