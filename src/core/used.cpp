#include "used.hpp"

#include <algorithm>
#include <cassert>

namespace flakeid {

namespace {

// Both ends included; empty when first > last.
struct Numbers {
    uint64_t first, last;
};

__int128 tick_at(const Used& used, int64_t us)
{
    const __int128 since = static_cast<__int128>(us) - used.epoch_us;
    return since < 0 ? -1 : since / used.tick_us;
}

// The first number of a tick, or of the last one that there are numbers for.
uint64_t number_of(const Used& used, __int128 tick)
{
    const uint64_t most = low_mask(word_bits - used.time_shift);
    return (tick > most ? most : static_cast<uint64_t>(tick)) << used.time_shift;
}

Numbers numbers_of(const Used& used)
{
    const __int128 first = std::max<__int128>(tick_at(used, used.first_us), 0);
    const __int128 last = tick_at(used, used.last_us);
    if (last < first) {
        return {1, 0};
    }
    return {number_of(used, first), number_of(used, last) | low_mask(used.time_shift)};
}

// What stands for numbers that several layouts have used: 2^24 of them for each tick since 1970,
// which is longer than any that is generated, so that none is in step with it.
constexpr int several_shift = 24;
constexpr int64_t several_tick_us = max_generated_tick_us + 1;

Used several(uint64_t first, uint64_t last, int width)
{
    Used used{};
    used.tick_us = several_tick_us;
    used.time_shift = several_shift;
    used.width = static_cast<uint8_t>(width);
    used.first_us = static_cast<int64_t>(first >> several_shift) * several_tick_us;
    used.last_us = static_cast<int64_t>(last >> several_shift) * several_tick_us;
    used.bits = word_bits;
    used.varying = ~UINT64_C(0);
    return used;
}

} // namespace

Used used_by(const Layout& layout, const IdBits& bits)
{
    Used used{};
    used.epoch_us = layout.epoch_us;
    used.varying = bits.varying;
    used.fixed = bits.fixed;
    used.tick_us = static_cast<uint32_t>(layout.tick_us);
    used.time_shift = layout.time_shift;
    used.bits = layout.bits;
    const bool on_top = layout.fields[0].kind == FieldKind::time;
    used.width = static_cast<uint8_t>(on_top ? word_bits : layout.time_shift + layout.time_bits);
    return used;
}

bool same_numbers(const Used& a, const Used& b)
{
    return a.epoch_us == b.epoch_us && a.tick_us == b.tick_us && a.time_shift == b.time_shift &&
           a.width == b.width && a.bits == b.bits;
}

bool in_step(const Used& a, const Used& b)
{
    return a.epoch_us == b.epoch_us &&
           same_step({a.tick_us, 0, a.time_shift, 0, 0}, {b.tick_us, 0, b.time_shift, 0, 0});
}

int64_t last_of_tick_us(const Used& used, int64_t us)
{
    const int64_t since = us - used.epoch_us;
    return since < 0 ? us : us + (used.tick_us - 1 - since % used.tick_us);
}

bool contains(const Used& all, const Used& part)
{
    return same_numbers(all, part) && all.first_us <= part.first_us &&
           ((part.varying | (all.fixed ^ part.fixed)) & ~all.varying) == 0;
}

Used united(const Used& a, const Used& b)
{
    if (!is_used(a) || !is_used(b)) {
        return is_used(a) ? a : b;
    }
    if (same_numbers(a, b)) {
        Used both = a;
        both.first_us = std::min(a.first_us, b.first_us);
        both.last_us = std::max(a.last_us, b.last_us);
        both.varying = a.varying | b.varying | (a.fixed ^ b.fixed);
        both.fixed = a.fixed & ~both.varying;
        both.open = a.open || b.open;
        return both;
    }
    const Numbers of_a = numbers_of(a), of_b = numbers_of(b);
    return several(std::min(of_a.first, of_b.first), std::max(of_a.last, of_b.last),
                   std::min(a.width, b.width));
}

uint64_t numbers_between(const Used& a, const Used& b)
{
    const Numbers of_a = numbers_of(a), of_b = numbers_of(b);
    return of_a.last < of_b.first   ? of_b.first - of_a.last
           : of_b.last < of_a.first ? of_a.first - of_b.last
                                    : 0;
}

Tick keep_clear(const Used& layout, const Used& other, Tick from, Ticks* clear)
{
    const Numbers numbers = numbers_of(other);
    if (numbers.first > numbers.last || in_step(layout, other) ||
        ((layout.fixed ^ other.fixed) & ~layout.varying & ~other.varying) != 0) {
        return from;
    }
    const uint64_t at = number_of(layout, tick_number(from));
    if ((at & ~low_mask(other.bits)) != 0) {
        const Tick first{(low_mask(other.bits) >> layout.time_shift) + 1};
        clear->first = std::max(clear->first, first);
        return from; // they are larger for good
    }
    // Numbers stand in a circle. Distances are upwards.
    const uint64_t circle = low_mask(std::min(layout.width, other.width));
    const uint64_t length = numbers.last - numbers.first;
    const uint64_t in_tick = low_mask(layout.time_shift);
    if (length >= circle || circle - length <= in_tick) {
        return no_tick;
    }
    const uint64_t to_first = (numbers.first - at) & circle;
    const uint64_t since_first = (at - numbers.first) & circle;
    if (to_first <= in_tick || since_first <= length) {
        const uint64_t to_last = (numbers.last - at) & circle;
        return from + (to_last >> layout.time_shift) + 1;
    }
    const uint64_t free_above = to_first >> layout.time_shift; // this tick included
    const uint64_t free_below = (since_first - length - 1) >> layout.time_shift;
    clear->last = std::min(clear->last, from + (free_above - 1));
    if (free_below < tick_number(from)) {
        clear->first = std::max(clear->first, Tick{tick_number(from) - free_below});
    }
    return from;
}

} // namespace flakeid
