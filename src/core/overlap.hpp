// Whether two layouts can make the same id. Pure.
#pragma once

#include "layout.hpp"

#include <cstdint>

namespace flakeid {

// What stands in the bits of one node's raw ids.
struct IdBits {
    int64_t tick_us;
    int64_t epoch_us;
    uint8_t time_shift;
    uint64_t varying; // bits that take any value: time, sequence, back
    uint64_t fixed;   // the others: those of the node, and zeros
};

// Returns the raw ids of `node`, and of every node that differs from it only in bits of `any_of`.
IdBits id_bits(const Layout& layout, uint32_t node, uint32_t any_of = 0);

// Returns the bits that differ among the nodes of a span, and all below them.
uint32_t bits_of_span(uint32_t first_node, uint32_t last_node);

// Tells whether a step of time is worth the same in both ids: a tick twice as long, one bit higher
// up, is the same.
bool same_step(const IdBits& a, const IdBits& b);

// Epochs that lie further apart than this never meet while a server runs: what one layout makes
// now, the other makes that much later.
constexpr int64_t epochs_apart_us = 365 * us_per_day;

// Tells whether an id of one may be an id of the other. A step of time must be worth the same in
// both ids, and their epochs must lie less than epochs_apart_us apart. Layouts whose ids rise at
// another pace are not compared: they agree only in passing (used.hpp).
bool can_overlap(const IdBits& a, const IdBits& b);

// A stretch of ticks, both ends included. Empty when first > last.
struct Ticks {
    Tick first;
    Tick last;
};

// Tells whether there is a raw id that both layouts can have made, each in its ticks, on whatever
// nodes.
bool share_id(const Layout& a, Ticks of_a, const Layout& b, Ticks of_b);

// Tells whether `maker` may from now on make an id that `earlier` may have made by now. An
// enciphered layout and a plain one are not compared.
bool may_repeat(const Layout& maker, const Layout& earlier, int64_t now_us);

static_assert(is_plain<IdBits, Ticks>);

} // namespace flakeid
