// Which numbers layouts have used, and where another layout comes to none of them. Pure.
//
// A number is a raw id, enciphered or not. The numbers of a layout rise with time, so all that it
// made between two moments lie in one stretch, whatever its tick and epoch; what stands above the
// time (nodes, a count of set-backs) is left out of numbers that are compared.
#pragma once

#include "overlap.hpp"

#include <cstdint>

namespace flakeid {

// What a layout may have used, from the first moment to the last, both included. All zero: nothing.
struct Used {
    int64_t epoch_us;
    int64_t first_us, last_us;
    uint64_t varying, fixed; // as in IdBits
    uint32_t tick_us;
    uint8_t time_shift;
    uint8_t width; // of the numbers: the bits of the time and below it; all where it is on top
    bool open;     // it is in use: `last_us` lies where ids are now
    uint8_t bits;  // of the ids
};
static_assert(sizeof(Used) == 48);

inline bool is_used(const Used& used)
{
    return used.tick_us != 0;
}

// Returns what a layout uses, but for the moments.
Used used_by(const Layout& layout, const IdBits& bits);

// Tells whether both are of layouts that make the same number at a moment, but for nodes and what
// stands below the time.
bool same_numbers(const Used& a, const Used& b);

// Tells whether numbers of both are the same at the same moment only. Where ids begin keeps those
// apart, past the longer of their ticks.
bool in_step(const Used& a, const Used& b);

// Returns the last moment of the tick in which the moment lies; before the epoch, the moment.
int64_t last_of_tick_us(const Used& used, int64_t us);

// Tells whether `all` has the ids and the first moment of `part`, of the same layout.
bool contains(const Used& all, const Used& part);

// Returns what has used all that both have: of one layout, its moments; otherwise the numbers in
// between too.
Used united(const Used& a, const Used& b);

// Returns how many numbers lie between what both have used.
uint64_t numbers_between(const Used& a, const Used& b);

// Narrows *clear, the ticks of `layout` round `from` in which it uses none of what others have.
// Returns the tick to go on from: `from`, or, where that is used, the one after, where *clear is to
// be looked for anew. no_tick: there is none.
Tick keep_clear(const Used& layout, const Used& other, Tick from, Ticks* clear);

static_assert(is_plain<Used>);

} // namespace flakeid
