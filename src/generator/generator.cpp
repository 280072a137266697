#include "generator/generator.hpp"

#include "durable/clock_watch.hpp"
#include "durable/server_horizon.hpp"
#include "server/messages.hpp"

namespace flakeid {

Slot unleased_slot{
    {word_number(closed_word)}, {0}, {}, any_node, InvalidOid, no_word, no_word, false, false, ""};

namespace {

// The coarse clock is late by up to a timer interrupt, 10 ms; short ticks need the wall clock.
constexpr int64_t coarse_lag_us = 50 * us_per_ms;
constexpr int64_t least_coarse_tick_us = 10 * coarse_lag_us;

[[noreturn]] void throw_all_used()
{
    ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
            errmsg("%d layouts make ids on this server already", max_used),
            errdetail("It remembers no more, so that none makes ids of another one again."),
            errhint("Use fewer layouts, and restart the server."));
}

// Narrows the limits to the ticks of the lease. A back field leaves them wider: draw() looks again.
void limit_to_lease(Generator& g)
{
    // same with >=: no lease is that short
    if (g.tenure.end_us == 0 || g.tenure.first_tick > g.tenure.last_tick) {
        g.limits.last = no_word;
        return;
    }
    g.limits.first = std::max(g.limits.first, word_of(g.shape, 0, g.tenure.first_tick, 0));
    g.limits.last =
        std::min(g.limits.last, last_of_tick(g.shape, g.shape.max_back, g.tenure.last_tick));
}

// Keeps to ticks in which no other layout has made the same ids, round those that come next.
void limit_to_clear(Generator& g, int64_t now_us)
{
    Tick from = std::max(clamp_tick(g.shape, tick_of_us(g.layout, now_us)), g.limits.least);
    if (!g.shape.has_back) {
        from = std::max(from, word_tick(g.shape, g.limits.first));
    }
    from = std::min(from, g.shape.max_tick);
    (void)tick_start_us(g.layout, from, &g.used.first_us);
    g.used.last_us = g.used.first_us;
    const Word last{pg_atomic_read_u64(&g.slot->word)};
    if (last != closed_word) {
        from = std::max(from, word_tick(g.shape, last + 1));
    }
    from = std::max(from, g.asked);
    g.asked = Tick{0};
    const UsedClaim claim = server_claims(g.used, from);
    if (claim.version == 0) {
        throw_all_used();
    }
    g.clear = claim.clear;
    const bool none = g.clear.first > g.clear.last || g.clear.first > g.shape.max_tick;
    g.limits.least = none ? no_tick : std::max(g.limits.least, g.clear.first);
    if (none || !used_is_filed(claim.version)) {
        g.limits.last = no_word;
    } else {
        g.limits.last =
            std::min(g.limits.last, last_clear_word(g, word_back(g.shape, g.limits.last)));
    }
}

// Decodes what the horizon publishes.
void set_limits(Generator& g, int64_t now_us)
{
    Stamp floor;
    int64_t least_us;
    do {
        g.version = horizon_version(g.horizon);
        pg_read_barrier();
        g.bound = published_bound(g.horizon, g.kind);
        floor = published_floor(g.horizon, g.kind);
        pg_read_barrier();
        least_us = published_least_us(g.horizon);
        pg_read_barrier();
    } while (horizon_version(g.horizon) != g.version); // same once: the next draw reads again
    // The first tick that begins after the floor and its tick in other layouts; no count of
    // set-backs that none explains.
    const int64_t floor_us = used_through(g.used, stamp_us(floor));
    const Word before = last_word_at(g, stamp_of(stamp_back(floor), floor_us));
    const Word next = before == highest_word ? before : before + 1;
    auto last_at = [&](int64_t us) { return last_word_at(g, stamp_of(stamp_back(g.bound), us)); };
    g.limits.first = word_back(g.shape, next) == word_back(g.shape, before) ? next : before;
    g.limits.least = Tick{0};
    if (g.shape.has_back) {
        const int64_t least = tick_of_us(g.layout, used_through(g.used, least_us)) + 1;
        // same with <: 0 either way
        g.limits.least = least <= 0 ? Tick{0} : static_cast<Tick>(least);
    }
    g.limits.last = last_word_at(g, g.bound);
    g.limits.reserved = last_at(stamp_us(g.bound) - headroom_us);
    g.early.word = last_at(stamp_us(g.bound) - early_extension_us);
    g.early.next_us = 0;
    limit_to_clear(g, now_us);
    // same with <=: a gap
    if (g.cache.next < g.limits.first || word_tick(g.shape, g.cache.next) < g.limits.least) {
        drop_cache(g);
    }
    if (g.tenure.entry != nullptr) {
        limit_to_lease(g);
    }
    if (!g.node_recorded) {
        g.limits.last = no_word;
    }
}

void set_clock(Generator& g, int64_t now_us)
{
    if (now_us < g.tick.start_us) { // same with <=: now lies outside
        observe_clock();            // same without: the next extension looks
    }
    const int64_t tick = tick_of_us(g.layout, now_us);
    if (tick < 0) {
        ereport(
            ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("the clock lies before the epoch of layout \"%s\"", g.name),
            errdetail("The clock says %s, the epoch is %s.", moment_text(now_us),
                      moment_text(g.layout.epoch_us)),
            errhint("Correct the clock, or set flakeid.layout to a layout with an earlier epoch."));
    }
    g.limits.now = static_cast<Tick>(tick);
    g.tick.start_us = g.layout.epoch_us + tick * g.layout.tick_us;
    g.tick.end_us = g.tick.start_us + g.layout.tick_us;
    Assert(now_us >= g.tick.start_us && now_us < g.tick.end_us);
    g.tick.coarse_end_us =
        // same with <=: either clock tells that tick
        g.layout.tick_us < least_coarse_tick_us ? 0 : g.tick.end_us - coarse_lag_us;
}

} // namespace

void set_slot(Generator& g, uint32_t node, Slot* slot)
{
    Assert(node <= g.layout.max_node && (slot->node == node || slot == &unleased_slot));
    const bool node_recorded = slot == &unleased_slot || horizon_has_node(g.horizon, node);
    g.version = node_recorded && g.node_recorded ? g.version : 0; // 0 makes the limits anew
    g.node_recorded = node_recorded;
    g.slot = slot;
    g.node = node;
    g.node_bits = place_node(g.layout, node);
    g.pinned = g.pinned == never_pinned ? never_pinned : 0;
    drop_cache(g);
}

Slot* find_slot(const Generator& g, uint32_t node)
{
    return take_slot({&g.layout, g.name, node, g.of_settings, node != g.granted.first});
}

void refresh_limits(Generator& g, int64_t now_us)
{
    // same with <=, >: the same numbers
    const bool other_tick = now_us < g.tick.start_us || now_us >= g.tick.end_us;
    const bool set_back = now_us < g.tick.start_us;
    const bool other_version = set_back || horizon_version(g.horizon) != g.version;
    if (other_tick) {
        set_clock(g, now_us);
    }
    if (set_back) {
        reset_round(g); // its nodes may be far ahead by then, and others not
    }
    if (other_version) {
        set_limits(g, now_us);
    }
    if (other_tick || other_version) {
        Limits limits = g.limits;
        limits.last = std::min(limits.last, g.early.word); // same with max: only time
        // A lease is looked at with every word.
        g.stretch = g.tenure.entry != nullptr ? Stretch{} : stretch_of(g.shape, limits);
    }
}

} // namespace flakeid
