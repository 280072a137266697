// The rule of the generator: which word comes after the last one. Pure: time and state are
// arguments.
//
// A word is back, tick and sequence side by side, in this order whatever the order in the id, so
// that a later id of one node always has a larger word. The node is not part of it.
#pragma once

#include "layout.hpp"

#include <cassert>
#include <cstdint>

namespace flakeid {

// A type of its own, so that no tick, id or stamp takes its place.
enum class Word : uint64_t {};

constexpr Word no_word{0}; // none was issued yet
constexpr Word highest_word{UINT64_MAX};

constexpr uint64_t word_number(Word word)
{
    return static_cast<uint64_t>(word);
}

constexpr Word operator+(Word word, uint64_t count)
{
    return Word{word_number(word) + count};
}

constexpr Word operator-(Word word, uint64_t count)
{
    return Word{word_number(word) - count};
}

constexpr uint64_t operator-(Word later, Word earlier)
{
    return word_number(later) - word_number(earlier);
}

// What the step needs to know of a layout.
struct WordShape {
    uint8_t sequence_bits; // usable ones
    uint8_t tick_bits;
    bool has_back;
    Tick max_tick;
    uint64_t max_back;
};

WordShape word_shape(const Layout& layout);

inline uint64_t max_sequence(const WordShape& shape)
{
    return (UINT64_C(1) << shape.sequence_bits) - 1;
}

inline Word word_of(const WordShape& shape, uint64_t back, Tick tick, uint64_t sequence)
{
    assert(back <= shape.max_back && tick <= shape.max_tick && sequence <= max_sequence(shape));
    const uint64_t high = shape.has_back ? back << shape.tick_bits : 0;
    return Word{(high | tick_number(tick)) << shape.sequence_bits | sequence};
}

inline uint64_t word_sequence(const WordShape& shape, Word word)
{
    return word_number(word) & max_sequence(shape);
}

inline Tick word_tick(const WordShape& shape, Word word)
{
    return Tick{word_number(word) >> shape.sequence_bits & ((UINT64_C(1) << shape.tick_bits) - 1)};
}

inline uint64_t word_back(const WordShape& shape, Word word)
{
    return shape.has_back ? word_number(word) >> (shape.sequence_bits + shape.tick_bits) : 0;
}

// Returns the last word of a tick, and of the tick of a word.
inline Word last_of_tick(const WordShape& shape, uint64_t back, Tick tick)
{
    return word_of(shape, back, tick, max_sequence(shape));
}

inline Word last_of_tick(const WordShape& shape, Word word)
{
    return Word{word_number(word) | max_sequence(shape)};
}

// Returns the id without its node.
inline uint64_t raw_of_word(const Layout& layout, const WordShape& shape, Word word)
{
    return tick_number(word_tick(shape, word)) << layout.time_shift |
           word_sequence(shape, word) << layout.sequence_shift |
           (shape.has_back ? word_back(shape, word) << layout.back_shift : 0);
}

// All that bounds a draw besides the last word.
struct Limits {
    Tick now;                     // tick of the wall clock
    uint64_t ahead;               // ticks that an id may lie ahead of the wall clock
    Word first;                   // no word below this one; none at all where a count ends with it
    Word last;                    // no word above this one until the horizon is extended
    uint64_t others_ahead = 0;    // ticks that an id of another session may have lain ahead of it
    Word reserved = highest_word; // what lies above it is for those who draw one id at a time
    Tick least = Tick{0};         // no tick below this one, whatever the back count
    uint64_t start_ahead = 0;     // ticks that `first` may lie ahead though no clock was set back
};

struct Want {
    uint32_t count;   // ids wanted, at least 1
    bool in_one_tick; // all of them in one tick; count is at most max_sequence + 1
};

enum class Verdict {
    issue,     // words [word, word + count) may be issued
    extend,    // `word` lies above limits.last: extend the horizon to it, then ask again
    wait,      // `word` lies too far ahead of the clock: its tick is too_far ticks past the limit
    exhausted, // the layout's last tick has passed
};

struct Draw {
    Verdict verdict;
    uint32_t count;
    Word word;
    uint64_t too_far;
};

// Returns the next word after `last`, the word issued last (the word 0 is never issued). The
// back field, where the layout has one left, is raised when only a clock that was set back explains
// the last word: it lies more than a tick further ahead than any session may have stamped it. A
// start waits.
Draw step(Word last, const WordShape& shape, const Limits& limits, Want want);

// Returns the step that follows `last` in the tick in which the draw asked for a longer horizon. On
// a slow disk that has passed when the horizon is flushed, and so may any later one: it still
// serves. Rejected: extend the horizon further, the slower the disk is. That would end at
// max_ahead. Issue no step that raises the back field: after a clock was set back, nobody would get
// an id as long as the disk is slow.
Draw step_as_asked(Word last, const WordShape& shape, const Limits& limits, Want want, Tick asked);

// Returns the last word that several ids at once may take freely, with that back count: half of
// limits.ahead is for others, and what is reserved, or half of what is left up to limits.last.
Word last_of_several(const WordShape& shape, const Limits& limits, uint64_t back);

// The common case of the step: last words in the tick limits.now after which step() issues the next
// word.
struct Stretch {
    Word first;
    uint64_t length;
};

Stretch stretch_of(const WordShape& shape, const Limits& limits);

inline bool in_stretch(const Stretch& stretch, Word last)
{
    return last - stretch.first < stretch.length;
}

static_assert(is_plain<WordShape, Limits, Want, Draw, Stretch>);

} // namespace flakeid
