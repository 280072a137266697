#include "generator/generator.hpp"

#include "server/clock.hpp"
#include "durable/clock_watch.hpp"
#include "durable/clone.hpp"
#include "durable/fingerprints.hpp"
#include "durable/given.hpp"
#include "core/settled.hpp"
#include "settings/lease_settings.hpp"
#include "server/messages.hpp"
#include "settings/node.hpp"
#include "settings/settings.hpp"
#include "settings/shared_node.hpp"
#include "lease/worker.hpp"
#include "durable/server_horizon.hpp"
#include "lease/report.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace flakeid {

Generator configured{};

namespace {

// The coarse clock is late by up to a timer interrupt, 10 ms; short ticks need the wall clock.
constexpr int64_t coarse_lag_us = 50 * us_per_ms;
constexpr int64_t least_coarse_tick_us = 10 * coarse_lag_us;

// The slot of a generator whose node is not leased yet.
Slot no_slot{
    {word_number(closed_word)}, {0}, {}, any_node, InvalidOid, no_word, no_word, false, false, ""};

void drop_cache(Generator& g)
{
    g.cache.next = g.cache.end = no_word;
}

// Narrows the limits to the ticks of the lease. A back field leaves them wider: draw() looks again.
void limit_to_lease(Generator& g)
{
    if (g.lease.end_us == 0 || g.lease.first_tick > g.lease.last_tick) {
        g.limits.last = no_word;
        return;
    }
    g.limits.first = std::max(g.limits.first, word_of(g.shape, 0, g.lease.first_tick, 0));
    g.limits.last =
        std::min(g.limits.last, last_of_tick(g.shape, g.shape.max_back, g.lease.last_tick));
}

// Decodes what the horizon publishes.
void set_limits(Generator& g)
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
    } while (horizon_version(g.horizon) != g.version);
    // The first tick that begins after the floor; no count of set-backs that none explains.
    const Word before = last_word_at(g, floor);
    const Word next = before == highest_word ? before : before + 1;
    auto last_at = [&](int64_t us) { return last_word_at(g, stamp_of(stamp_back(g.bound), us)); };
    g.limits.first = word_back(g.shape, next) == word_back(g.shape, before) ? next : before;
    if (g.shape.has_back) {
        const int64_t least = tick_of_us(g.layout, least_us) + 1;
        g.limits.least = least <= 0 ? Tick{0} : static_cast<Tick>(least);
    }
    g.limits.last = last_word_at(g, g.bound);
    g.limits.reserved = last_at(stamp_us(g.bound) - spared_us);
    g.early.word = last_at(stamp_us(g.bound) - early_extension_us);
    g.early.next_us = 0;
    if (g.cache.next < g.limits.first || word_tick(g.shape, g.cache.next) < g.limits.least) {
        drop_cache(g);
    }
    if (g.lease.entry != nullptr) {
        limit_to_lease(g);
    }
    if (!g.admitted) {
        g.limits.last = no_word;
    }
}

void set_clock(Generator& g, int64_t now_us)
{
    if (now_us < g.tick.start_us) {
        observe_clock();
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
        g.layout.tick_us < least_coarse_tick_us ? 0 : g.tick.end_us - coarse_lag_us;
}

void set_slot(Generator& g, uint32_t node, Slot* slot)
{
    Assert(node <= g.layout.max_node && (slot->node == node || slot == &no_slot));
    const bool admitted = slot == &no_slot || horizon_admits(g.horizon, node);
    g.version = admitted && g.admitted ? g.version : 0; // 0 makes the limits anew
    g.admitted = admitted;
    g.slot = slot;
    g.node = node;
    g.node_bits = place_node(g.layout, node);
    g.pinned = g.pinned == never_pinned ? never_pinned : 0;
    drop_cache(g);
}

// The first word of a lease in a closed slot.
Word first_word(const Generator& g)
{
    return word_of(g.shape, word_back(g.shape, g.slot->word_before), g.lease.first_tick, 0);
}

// Tells layouts apart that count set-backs.
int64_t counter_of(const Layout& layout)
{
    const SlotKey key = slot_key(layout, 0);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&key);
    return static_cast<int64_t>(hash_bytes_extended(bytes, sizeof key, 0) >> 1 | 1);
}

// Wants the lease of a node. False when `or_none` and all are taken.
bool set_lease(Generator& g, uint32_t node, bool or_none)
{
    Lease* lease = lease_want(node, g.lease.max_node, or_none);
    if (lease == nullptr) {
        return false;
    }
    g.lease.wanted_node = node;
    g.lease.entry = lease;
    g.lease.end_us = 0;
    return true;
}

void set_span(Generator& g, const int32_t* of_node)
{
    const NodeSpan span = configured_span(g.layout);
    if (span.problem != nullptr) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("this host has no node number"), errdetail("%s", span.problem),
                errhint("%s", span.hint));
    }
    // Further nodes serve flakeid.layout only, so that nobody takes generators from it.
    g.granted = {span.first, same_layout(g.layout, settings.layout) ? span.last : span.first};
    if (g.granted.last > g.layout.max_node) {
        throw_node_out_of_range(g.granted.last, g.layout, g.name);
    }
    g.span = g.granted;
    if (of_node != nullptr) {
        require_granted(g.layout, g.name, span, *of_node);
        g.span.first = g.span.last = static_cast<uint32_t>(*of_node);
    }
    g.round = {Tick{0}, no_tick, g.span.first, g.span.last - g.span.first};
}

// Ids of flakeid.layout come first: an error where ids of `g` can be the same.
void refuse_ids_of_settings(const Generator& g)
{
    const Layout& layout = settings.layout;
    const NodeSpan span = configured_span(layout);
    const bool any = node_setting.source == NodeSource::any;
    if (span.problem != nullptr || span.last > layout.max_node || same_slots(g.layout, layout)) {
        return; // flakeid.layout makes none, or the same from the same slots
    }
    const uint32_t any_of = any ? UINT32_MAX : bits_of_span(span.first, span.last);
    if (can_overlap(id_bits(layout, span.first, any_of),
                    id_bits(g.layout, g.span.first, any ? UINT32_MAX : 0))) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("layout \"%s\" can make the same ids as flakeid.layout", g.name),
                errdetail("flakeid.layout is \"%s\".", settings.layout_text),
                errhint("Use flake_next() without a layout, or a layout whose epoch lies at least "
                        "a year away."));
    }
}

// The caller has set g.layout, g.name and g.preset. It sets g.generation last, so that an error
// leaves the generator unmade, and to the one from before, since looking into catalogs may raise
// it. `of_node`: the node that the user named, or nullptr.
void make(Generator& g, const int32_t* of_node = nullptr)
{
    require_good_settings();
    require_good_node();
    if (g.layout.tick_us > max_generated_tick_us) {
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("cannot generate ids with layout \"%s\"", g.name),
                errdetail("Its ticks are longer than one second; such ids can only be read."),
                errhint("Use ticks of at most 1s."));
    }
    g.shape = word_shape(g.layout);
    g.limits.ahead = static_cast<uint64_t>(settings.max_ahead_us / g.layout.tick_us);
    g.pinned = can_settle(g.layout) ? 0 : never_pinned;
    g.kind = g.shape.has_back ? back_horizon : plain_horizon;
    if (wall_us() >= end_us(g.layout)) {
        throw_exhausted(g.layout, g.name, g.preset);
    }
    set_span(g, of_node);
    if (!g.of_settings) {
        refuse_ids_of_settings(g);
    }
    g.horizon = horizon_attach();
    refuse_clone();
    if (g.shape.has_back) {
        server_counted_by(counter_of(g.layout));
    }
    g.limits.least = Tick{0};
    g.limits.start_ahead = static_cast<uint64_t>(server_longest_wait_us() / g.layout.tick_us);
    g.version = 0;
    g.tick = TickNow{};
    g.stretch = Stretch{};
    if (g.layout.enciphered) {
        (void)configured_key();
        remember_enciphering();
    }
    g.lease.in_force = leases_in_force();
    g.lease.entry = nullptr;
    g.lease.max_node = settings.layout.max_node;
    if (lease_settings.coordinator_problem != nullptr) {
        throw_coordinator_refused();
    }
    if (lease_settings.coordinator[0] != '\0') {
        (void)set_lease(g, node_setting.source == NodeSource::any ? any_node : g.span.first, false);
    } else {
        refuse_shared_node();
    }
    remember_given();
    if (g.lease.entry != nullptr && g.lease.wanted_node == any_node) {
        set_slot(g, g.span.first, &no_slot);
    } else {
        if (find_slot(g, g.span.first) == nullptr) {
            throw_no_room_for_span();
        }
        set_slot(g, g.span.first, find_slot(g, g.span.first));
    }
    warn_near_end(g.layout, g.name);
}

void begin_named(Generator& g, const char* name, size_t length, bool of_settings)
{
    g.generation = 0;
    g.of_settings = of_settings;
    g.name = name;
    const LayoutError error = parse_layout_or_preset(name, length, &g.layout, &g.preset);
    if (error.status != LayoutStatus::ok) {
        throw_bad_layout(error, name, length);
    }
}

bool anybody_may_use(const Layout& layout)
{
    if (same_layout(layout, settings.layout)) {
        return true;
    }
    for (int i = 0; i < preset_count; i++) {
        Layout preset;
        parse_layout(presets[i].text, strlen(presets[i].text), &preset);
        if (same_layout(layout, preset)) {
            return true;
        }
    }
    return false;
}

} // namespace

Slot* find_slot(const Generator& g, uint32_t node)
{
    return take_slot({&g.layout, g.name, node, g.of_settings, node != g.granted.first});
}

void view_lease(Generator& g)
{
    drop_cache(g);
    LeaseView view = lease_view(g.lease.entry, g.lease.wanted_node, g.lease.max_node);
    if (!view.same) {
        g.lease.entry = lease_want(g.lease.wanted_node, g.lease.max_node, false);
        view = lease_view(g.lease.entry, g.lease.wanted_node, g.lease.max_node);
    }
    if (view.held) {
        if (view.node > g.layout.max_node) {
            throw_leased_node_out_of_range(view.node, g.layout, g.name);
        }
        if (g.lease.wanted_node == any_node && (view.node != g.node || g.slot == &no_slot)) {
            g.span.first = g.span.last = view.node;
            set_slot(g, view.node, find_slot(g, view.node));
        }
        g.lease.first_tick =
            clamp_tick(g.shape, tick_of_us(g.layout, view.start_us + g.layout.tick_us - 1));
        const int64_t last = tick_of_us(g.layout, view.end_us) - 1;
        g.lease.last_tick = clamp_tick(g.shape, last);
        view.held = last >= 0 && lease_open(g.lease.entry, view, g.slot, first_word(g));
    }
    g.lease.end_us = view.held ? view.end_us : 0;
    g.version = 0; // makes the limits anew
}

bool set_node(Generator& g, uint32_t node)
{
    const bool leased =
        g.lease.entry != nullptr && node != g.lease.wanted_node && g.lease.wanted_node != any_node;
    Slot* slot = find_slot(g, node);
    if (slot == nullptr || (leased && !set_lease(g, node, node != g.span.first))) {
        return false;
    }
    set_slot(g, node, slot);
    if (leased) {
        view_lease(g);
        if (g.lease.end_us == 0) {
            worker_call();
            return false;
        }
        refresh_limits(g, wall_us());
    }
    return true;
}

void make_configured()
{
    const uint64_t generation = settings.generation;
    configured.generation = 0;
    configured.layout = settings.layout;
    configured.name = settings.layout_text;
    configured.of_settings = true;
    configured.preset = find_preset(settings.layout_text, strlen(settings.layout_text));
    make(configured);
    configured.generation = generation;
}

void make_named(Generator& g, const char* name, size_t length)
{
    const uint64_t generation = settings.generation;
    begin_named(g, name, length, false);
    if (g.preset == nullptr && !anybody_may_use(g.layout) && !superuser()) {
        ereport(
            ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("permission denied to generate ids with layout \"%s\"", name),
            errdetail("Only superusers may generate with a layout that is neither a preset nor "
                      "flakeid.layout."),
            errhint("Have a superuser make a function for it: %s", function_of_layout_line(name)));
    }
    make(g);
    g.user = GetUserId();
    g.generation = generation;
}

void make_of_node(Generator& g, const char* name, size_t length, int32_t node)
{
    const uint64_t generation = settings.generation;
    begin_named(g, name, length, true);
    make(g, &node);
    g.user = GetUserId();
    g.generation = generation;
}

void change_node(Generator& g, int32_t node)
{
    require_granted(g.layout, g.name, {g.granted.first, g.granted.last, nullptr, nullptr}, node);
    g.span.first = g.span.last = static_cast<uint32_t>(node);
    if (!set_node(g, g.span.first) && g.lease.entry == nullptr) {
        throw_no_room_for_span();
    }
}

void refresh_limits(Generator& g, int64_t now_us)
{
    const bool other_tick = now_us < g.tick.start_us || now_us >= g.tick.end_us;
    const bool other_version = horizon_version(g.horizon) != g.version;
    if (other_tick) {
        set_clock(g, now_us);
    }
    if (other_version) {
        set_limits(g);
    }
    if (other_tick || other_version) {
        Limits limits = g.limits;
        limits.last = std::min(limits.last, g.early.word);
        // A lease is looked at with every word.
        g.stretch = g.lease.entry != nullptr ? Stretch{} : stretch_of(g.shape, limits);
    }
}

} // namespace flakeid
