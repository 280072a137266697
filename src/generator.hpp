// One id after another: reads the clock, takes the step, swaps the shared word in.
#pragma once

#include "clock.hpp"
#include "core/layout.hpp"
#include "core/step.hpp"
#include "horizon.hpp"
#include "lease.hpp"
#include "secret.hpp"
#include "server.hpp"
#include "settings.hpp"
#include "shared.hpp"
#include "stats.hpp"

namespace flakeid {

// What a session keeps of one layout and node between draws: everything decoded, so that a draw
// looks nothing up. Plain data. What the common case needs stands first.
struct Generator {
    uint64_t generation; // of the settings it was made from; 0: not made yet
    Oid function;        // of the extension, to find its schema
    HorizonKind kind;
    Slot* slot; // of `node`
    Horizon* horizon;
    uint64_t bound;                     // that `limits` were made from
    int64_t tick_start_us, tick_end_us; // the tick limits.now, as moments
    int64_t coarse_end_us;              // the coarse clock tells the tick up to this moment of it
    Stretch stretch;                    // of `limits`, but no word that extends the horizon early
    uint64_t node_bits;                 // of `node`, in their place
    WordShape shape;

    Limits limits;
    uint64_t early_word;                     // past this one, the horizon is to be extended early
    int64_t next_early_us;                   // and not before this moment
    uint64_t cached, cached_end;             // words reserved by flakeid.cache and not issued yet
    int64_t cached_from_us, cached_until_us; // when they may be

    Lease* lease;                     // of `node`; nullptr: there is no coordinator
    int64_t lease_end_us;             // that `limits` were made from; 0: the lease is not held
    uint64_t lease_first, lease_last; // ticks that lie in the lease as a whole
    uint32_t wanted_node;             // `node`, or any_node
    pg_atomic_uint32* leases_in_force;

    uint32_t first_node, last_node, node; // a span, and where in it this session is
    Oid user;                             // who it was made for
    const char* name;                     // as the user named the layout
    const Preset* preset;
    Layout layout;
};

// The nodes that flakeid.node stands for with this layout, or why it stands for none.
struct NodeSpan {
    uint32_t first;
    uint32_t last;
    const char* problem; // nullptr when there is none
};

NodeSpan configured_span(const Layout& layout);

// The generator of the settings in effect.
extern Generator configured;
void make_configured(Oid function);

inline Generator& configured_generator(Oid function)
{
    if (unlikely(configured.generation != settings.generation)) {
        make_configured(function);
    }
    configured.function = function; // another one after the extension was created again
    return configured;
}

// Makes `generator` for a layout that the user names. An error when the current user may not
// generate with it.
void make_named(Generator& generator, const char* name, size_t length, Oid function);

inline bool still_good(const Generator& generator)
{
    return generator.generation == settings.generation && generator.user == GetUserId();
}

// Brings generator.limits up to date.
void refresh_limits(Generator& generator, int64_t now_us);

// True when the lease is held as generator.limits have it, and the slot is open. To be asked after
// the word was read, so that a word and limits of two leases never come together.
inline bool lease_holds(const Generator& g, uint64_t word)
{
    pg_read_barrier();
    return word != closed_word && g.lease_end_us != 0 &&
           pg_atomic_read_u64(&g.lease->end_us) == static_cast<uint64_t>(g.lease_end_us);
}

// True when leases began after a generator without one was made. To be asked after a word was
// swapped in: then the word counts for nothing.
inline bool leases_began(const Generator& g)
{
    return pg_atomic_read_u32(g.leases_in_force) != 0;
}

// Draws ids: words [word, word + count) of generator.node. It waits, or raises an error, as
// flakeid.when_ahead says.
Draw draw(Generator& generator, Want want);

// True when the clock is in the tick that generator.limits were made for.
inline bool in_tick(const Generator& g)
{
    auto between = [&](int64_t now_us, int64_t end_us) {
        return now_us >= g.tick_start_us && now_us < end_us;
    };
    return (g.coarse_end_us != 0 && between(coarse_wall_us(), g.coarse_end_us)) ||
           between(wall_us(), g.tick_end_us);
}

// Draws one id.
inline uint64_t draw_one(Generator& g)
{
    if (likely(in_tick(g) && pg_atomic_read_u64(&g.horizon->bound[g.kind]) == g.bound)) {
        uint64_t last = pg_atomic_read_u64(&g.slot->word);
        while (likely(in_stretch(g.stretch, last))) {
            const uint64_t word = last + 1;
            if (likely(pg_atomic_compare_exchange_u64(&g.slot->word, &last, word))) {
                if (unlikely(leases_began(g))) {
                    break;
                }
                count_issued(1);
                return word;
            }
        }
    }
    return draw(g, {1, false}).word;
}

// Reserves `count` words for this session, or as many of them as may be issued now.
void draw_cache(Generator& generator, uint32_t count);

// Reserved words serve while a draw could still issue them and they are not older than they may be
// ahead, and not after the floor of the horizon passed them, or the node or the lease changed.
inline bool cached_word_serves(Generator& g)
{
    if (unlikely(pg_atomic_read_u64(&g.horizon->bound[g.kind]) != g.bound)) {
        refresh_limits(g, wall_us());
    }
    auto in_time = [&](int64_t now_us) {
        return now_us >= g.cached_from_us && now_us < g.cached_until_us;
    };
    return g.cached != g.cached_end &&
           (g.lease == nullptr ? !leases_began(g)
                               : lease_holds(g, pg_atomic_read_u64(&g.slot->word))) &&
           (in_time(coarse_wall_us()) || in_time(wall_us()));
}

// The id of a word that was drawn.
inline int64_t id_of_word(const Generator& g, uint64_t word)
{
    const uint64_t raw = raw_of_word(g.layout, g.shape, word) | g.node_bits;
    return static_cast<int64_t>(g.layout.enciphered ? sparx_encrypt(configured_key(), raw) : raw);
}

// The ids of `count` words that were drawn, from `word` on.
void ids_of_words(const Generator& generator, uint64_t word, uint32_t count, uint64_t* ids);

} // namespace flakeid
