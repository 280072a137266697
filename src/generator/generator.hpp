// What ids are drawn from: made of the settings, and kept up to date with clock, horizon and lease.
#pragma once

#include "server/clock.hpp"
#include "core/layout.hpp"
#include "core/presets.hpp"
#include "core/step.hpp"
#include "core/used.hpp"
#include "durable/horizon.hpp"
#include "server/postgres.hpp"
#include "settings/settings.hpp"
#include "slots/slots.hpp"
#include "slots/tenure.hpp"
#include "server/stats.hpp"

namespace flakeid {

// The tick Limits::now, as moments.
struct TickNow {
    int64_t start_us, end_us;
    int64_t coarse_end_us; // the coarse clock tells the tick up to this moment of it
};

// When the horizon is to be extended before its end.
struct EarlyExtension {
    Word word;       // past this one
    int64_t next_us; // and not before this moment
};

// Words that flakeid.cache reserved and that have not been issued yet.
struct Cache {
    Word next, end;
    int64_t from_us, until_us; // when they may be issued
    uint64_t transaction;      // that reserved them, or set a pin for them
    uint64_t polls;            // of settled marks, when they were reserved
};

// The nodes to draw from.
struct Span {
    uint32_t first, last;
};

// A session's way round the nodes of a span. The session stays with a node as long as the node has
// ids in ticks up to `level`. No node was seen with ids left in an earlier tick.
struct SpanRound {
    Tick level;
    Tick least;         // of the next ticks that were seen since the level was raised
    uint32_t best;      // where that was
    uint32_t unvisited; // nodes that were not looked at since
};

// Generator::pinned where ids can have no settled mark.
constexpr uint64_t never_pinned = UINT64_MAX;

// What a session keeps of one layout and node between draws: everything decoded, so that a draw
// looks nothing up. Plain data. What the common case needs stands first.
struct Generator {
    uint64_t draw_version; // of the settings that it draws by; 0: not made yet
    HorizonKind kind;
    Slot* slot; // of `node`
    Horizon* horizon;
    uint64_t version; // of the horizon that `limits` were made from; 0: of none
    Stamp bound;      // that they were made from
    TickNow tick;
    Stretch stretch;    // of `limits`, but no word that extends the horizon early
    uint64_t node_bits; // of `node`, in their place
    WordShape shape;
    uint64_t pinned; // transaction_number of the one that set a pin for `slot`, or never_pinned

    Limits limits;
    Ticks clear; // round `limits`: no other layout has used its numbers; empty: there are none
    Tick asked;  // it is to be looked at next; 0: the next one is
    Used used;   // what is used from `limits` on
    EarlyExtension early;
    Cache cache;
    HeldTenure tenure;
    bool node_recorded; // `node`, so that ids of it may be issued
    Span granted;       // by flakeid.node; before auto has a lease, as if that began with node 0
    Span span;          // that, or the one node that the caller named
    uint32_t node;      // of the span, where this session is
    SpanRound round;

    uint64_t settings_version; // of the settings it was made from; 0: not made yet

    Oid user;         // who it was made for
    bool of_settings; // flakeid.layout, rather than a layout that was named
    const char* name; // as the user named the layout
    const Preset* preset;
    Layout layout;
};

// Tells whether a generator follows the settings: where only those of draws have changed since it
// was made, its limits are made anew.
bool follow_settings(Generator& generator);

inline bool follows_settings(Generator& generator)
{
    return likely(generator.draw_version == settings.draw_version) || follow_settings(generator);
}

// The generator of the settings in effect.
extern Generator configured;
void make_configured();

inline Generator& configured_generator()
{
    if (unlikely(!follows_settings(configured))) {
        make_configured();
    }
    return configured;
}

// Makes `generator` for a layout that the user names. An error when the current user may not
// generate with it.
void make_named(Generator& generator, const char* name, size_t length);

// Makes `generator` for one node of flakeid.layout. An error when flakeid.node does not have it.
void make_of_node(Generator& generator, const char* name, size_t length, int32_t node);

// Changes to another node of flakeid.layout.
void change_node(Generator& generator, int32_t node);

inline bool still_good(Generator& generator)
{
    return follows_settings(generator) && generator.user == GetUserId();
}

// Brings generator.limits up to date.
void refresh_limits(Generator& generator, int64_t now_us);

// Returns the slot of one node; nullptr when only spare slots are left for it. An error when
// another layout's slots are in its way.
Slot* find_slot(const Generator& generator, uint32_t node);

// Goes over to a node, of which this is the slot, or to `unleased_slot`.
void set_slot(Generator& generator, uint32_t node, Slot* slot);
extern Slot unleased_slot; // of a generator whose node is not leased yet

inline void drop_cache(Generator& generator)
{
    generator.cache.next = generator.cache.end = no_word;
}

inline void reset_round(Generator& generator)
{
    const Span& span = generator.span;
    generator.round = {Tick{0}, no_tick, span.first, span.last - span.first};
}

inline bool is_span(const Generator& generator)
{
    return generator.span.first != generator.span.last;
}

// Returns the first moment of a word's tick, and its stamp.
inline int64_t word_start_us(const Generator& g, Word word)
{
    int64_t us = INT64_MAX;
    (void)tick_start_us(g.layout, word_tick(g.shape, word), &us);
    return us;
}

inline Stamp stamp_of_word(const Generator& g, Word word)
{
    return stamp_of(word_back(g.shape, word), word_start_us(g, word));
}

// Returns the tick, or the first or last one that the layout has.
inline Tick clamp_tick(const WordShape& shape, int64_t tick)
{
    // same with <=: 0 either way
    return tick < 0 ? Tick{0} : std::min(static_cast<Tick>(tick), shape.max_tick);
}

// Returns the last word of the tick that a stamp lies in. Of one from before the epoch that is the
// word before the first tick: the stamp allows no word of its count.
inline Word last_word_at(const Generator& g, Stamp stamp)
{
    // Another layout of the database may have counted further back than this one can.
    if (stamp_back(stamp) > g.shape.max_back) {
        return last_of_tick(g.shape, g.shape.max_back, g.shape.max_tick);
    }
    const int64_t tick = tick_of_us(g.layout, stamp_us(stamp));
    if (tick < 0) { // same with <=: no bound ends there
        const Word first = word_of(g.shape, stamp_back(stamp), Tick{0}, 0);
        return first == no_word ? no_word : first - 1;
    }
    return last_of_tick(g.shape, stamp_back(stamp), clamp_tick(g.shape, tick));
}

// Returns the last word, of a count of set-backs, whose numbers no other layout has used.
inline Word last_clear_word(const Generator& g, uint64_t back)
{
    return last_of_tick(g.shape, back, std::min(g.clear.last, g.shape.max_tick));
}

static_assert(is_plain<TickNow, EarlyExtension, Cache, Span, SpanRound, Generator>);

} // namespace flakeid
