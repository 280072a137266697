// One id after another: reads the clock, takes the step, swaps the shared word in; waits, or says
// why there is no id.
#pragma once

#include "generator/settled.hpp"
#include "generator/span.hpp"

namespace flakeid {

// Draws ids: words [word, word + count) of generator.node. It waits, or raises an error, as
// flakeid.when_ahead says.
Draw draw(Generator& generator, Want want);

// Does what a draw of one id does, except that it issues none, and raises its error. It waits for a
// lease, but not for the clock: an error takes the place of a wait that is too long.
void draw_could(Generator& generator);

// Tells whether the clock is in the tick that generator.limits were made for.
inline bool in_tick(const Generator& g)
{
    auto between = [&](int64_t now_us, int64_t end_us) {
        return now_us >= g.tick.start_us && now_us < end_us;
    };
    return (g.tick.coarse_end_us != 0 && between(coarse_wall_us(), g.tick.coarse_end_us)) ||
           between(wall_us(), g.tick.end_us);
}

// Draws one id.
inline Word draw_one(Generator& g)
{
    if (likely(in_tick(g) && horizon_version(g.horizon) == g.version)) {
        Word last{pg_atomic_read_u64(&g.slot->word)};
        while (likely(in_stretch(g.stretch, last))) {
            const Word word = last + 1;
            if (unlikely(needs_pin(g))) {
                pin_words(g, word);
            }
            if (likely(swap_word(*g.slot, &last, word))) {
                if (unlikely(leases_began(g.tenure))) {
                    break;
                }
                Assert(word > last && word <= g.limits.last);
                Assert(word_tick(g.shape, word) == g.limits.now);
                count_issued(1);
                return word;
            }
            if (unlikely(is_span(g))) {
                step_aside(g);
                break;
            }
        }
    }
    return draw(g, {1, false}).word;
}

// Reserves `count` words for this session, or as many of them as may be issued now.
void draw_cache(Generator& generator, uint32_t count);

// Tells whether the next reserved word may be issued. Reserved words serve until they are older
// than flakeid.max_ahead. They no longer serve when the floor of the horizon has passed them, or
// the node or the lease has changed.
inline bool cached_word_serves(Generator& g)
{
    if (unlikely(horizon_version(g.horizon) != g.version)) {
        refresh_limits(g, wall_us());
    }
    auto in_time = [&](int64_t now_us) {
        return now_us >= g.cache.from_us && now_us < g.cache.until_us;
    };
    return g.cache.next != g.cache.end && reserved_are_pinned(g) &&
           (g.tenure.entry == nullptr
                ? !leases_began(g.tenure)
                : tenure_holds(g.tenure, Word{pg_atomic_read_u64(&g.slot->word)})) &&
           (in_time(coarse_wall_us()) || in_time(wall_us()));
}

// Returns the next word of this session.
inline Word next_word(Generator& g)
{
    if (likely(settings.cache == 1)) {
        return draw_one(g);
    }
    if (!cached_word_serves(g)) {
        draw_cache(g, static_cast<uint32_t>(settings.cache));
    }
    const Word word = g.cache.next;
    g.cache.next = word + 1;
    return word;
}

} // namespace flakeid
