#include "step.hpp"

#include <algorithm>

namespace flakeid {

namespace {

int bits_of(uint64_t mask)
{
    int bits = 0;
    while (mask != 0) {
        bits++;
        mask >>= 1;
    }
    return bits;
}

// The tick so far ahead of the clock, or the layout's last.
Tick tick_ahead(const WordShape& shape, const Limits& limits, uint64_t ticks)
{
    return std::min(limits.now + ticks, shape.max_tick);
}

} // namespace

WordShape word_shape(const Layout& layout)
{
    WordShape shape{};
    shape.sequence_bits = static_cast<uint8_t>(bits_of(layout.max_sequence));
    shape.tick_bits = layout.time_bits;
    shape.has_back = layout.back_bits > 0;
    shape.max_tick = layout.max_tick;
    shape.max_back = layout.max_back;
    return shape;
}

Draw step(Word last, const WordShape& shape, const Limits& limits, Want want)
{
    const uint64_t last_of_sequence = max_sequence(shape);
    assert(want.count >= 1 && (!want.in_one_tick || want.count - 1 <= last_of_sequence));
    const Tick highest_tick = tick_ahead(shape, limits, limits.ahead);
    const Word start = std::max(last, limits.first);
    uint64_t back = word_back(shape, start);
    // No id is stamped further ahead than this, but a settled mark may use up one tick more. Where
    // the last word is past that, the clock was set back.
    // same with <=: a wait instead of a count
    const uint64_t started_ahead = last < limits.first ? limits.start_ahead : 0;
    const Tick furthest =
        limits.now + std::max(std::max(limits.ahead, limits.others_ahead), started_ahead) + 1;
    const bool raise =
        shape.has_back && back < shape.max_back && word_tick(shape, start) > furthest;
    // same with first >=: the layout's last tick
    if (limits.now > shape.max_tick || back > shape.max_back) {
        return {Verdict::exhausted, 0, start, 0};
    }
    const Word end = last_of_tick(shape, back, shape.max_tick);
    if (!raise && start >= end) {
        return {Verdict::exhausted, 0, start, 0};
    }
    Word word = std::max(last + 1, limits.first);
    if (raise) {
        back++;
    }
    if (limits.least > shape.max_tick) { // same with >=: the layout's last tick
        return {Verdict::exhausted, 0, start, 0};
    }
    word = std::max(word, word_of(shape, back, std::max(limits.now, limits.least), 0));
    // same with >=: a gap
    if (want.in_one_tick && word_sequence(shape, word) + want.count - 1 > last_of_sequence) {
        if (word_tick(shape, word) == shape.max_tick) {
            return {Verdict::exhausted, 0, word, 0};
        }
        word = last_of_tick(shape, word) + 1;
    }
    const Tick tick = word_tick(shape, word);
    if (tick > highest_tick) { // same with >=: one more tick of waiting
        return {Verdict::wait, 0, word, tick - highest_tick};
    }
    const Word highest = std::min(last_of_tick(shape, back, highest_tick), limits.last);
    const uint64_t needed = want.in_one_tick ? want.count - 1 : 0;
    if (word > highest || highest - word < needed) {
        return {Verdict::extend, 0, word, 0};
    }
    const uint64_t room = highest - word;
    const uint32_t count = room < want.count ? static_cast<uint32_t>(room) + 1 : want.count;
    assert(word > last && word >= limits.first && word + (count - 1) <= limits.last);
    assert(word_tick(shape, word + (count - 1)) <= highest_tick);
    assert(!want.in_one_tick ||
           (count == want.count && word_tick(shape, word + (count - 1)) == tick));
    return {Verdict::issue, count, word, 0};
}

Draw step_as_asked(Word last, const WordShape& shape, const Limits& limits, Want want, Tick asked)
{
    Limits then = limits;
    then.now = std::min(asked, limits.now);
    const uint64_t since = limits.now - then.now;
    for (uint64_t* ahead : {&then.ahead, &then.others_ahead, &then.start_ahead}) {
        *ahead += since; // of the clock as it is now
    }
    return step(last, shape, then, want);
}

Word last_of_several(const WordShape& shape, const Limits& limits, uint64_t back)
{
    // same with min: only time
    const uint64_t left = std::max(word_tick(shape, limits.last), limits.now) - limits.now;
    auto last_ahead = [&](uint64_t ticks) {
        return last_of_tick(shape, back, tick_ahead(shape, limits, ticks));
    };
    // same with max, min: only time
    return std::min(last_ahead(limits.ahead / 2), std::max(limits.reserved, last_ahead(left / 2)));
}

Stretch stretch_of(const WordShape& shape, const Limits& limits)
{
    const uint64_t back = word_back(shape, limits.last);
    // same with >=, <=: the long way round
    if (limits.now > shape.max_tick || limits.now < limits.least || back > shape.max_back) {
        return {};
    }
    const Word first = word_of(shape, back, limits.now, 0);
    const Word end = std::min(first + max_sequence(shape), limits.last);
    const bool empty = limits.first > first || end < first; // same with >=, <=: the long way round
    return {first, empty ? 0 : end - first};
}

} // namespace flakeid
