#include "generator/leased.hpp"
#include "generator/refusals.hpp"

#include "core/settled.hpp"
#include "durable/clone.hpp"
#include "durable/fingerprints.hpp"
#include "durable/assigned.hpp"
#include "durable/server_horizon.hpp"
#include "server/messages.hpp"
#include "settings/lease_settings.hpp"
#include "settings/node.hpp"
#include "settings/shared_node.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace flakeid {

Generator configured{};

namespace {

// Tells layouts apart that count set-backs.
int64_t counter_of(const Layout& layout)
{
    const SlotKey key = slot_key(layout, 0);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&key);
    return static_cast<int64_t>(hash_bytes_extended(bytes, sizeof key, 0) >> 1 | 1);
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
    reset_round(g);
}

// Ids of flakeid.layout come first: an error where ids of `g` can be the same.
void refuse_ids_of_settings(const Generator& g)
{
    const Layout& layout = settings.layout;
    const NodeSpan span = configured_span(layout);
    const bool any = node_setting.source == NodeSource::any;
    // same with >=: as if it was set after that
    if (!makes_ids(layout) || span.problem != nullptr || span.last > layout.max_node ||
        same_slots(g.layout, layout)) {
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

// Takes over flakeid.max_ahead and flakeid.cache. What was reserved is dropped: it may lie further
// ahead than it may now, and below what was drawn one by one meanwhile. The stretch lies in the
// tick of the clock, whatever max_ahead is.
void set_ahead(Generator& g)
{
    g.limits.ahead = static_cast<uint64_t>(settings.max_ahead_us / g.layout.tick_us);
    g.limits.start_ahead = static_cast<uint64_t>(server_longest_wait_us() / g.layout.tick_us);
    drop_cache(g);
}

// The versions of settings that a generator is made of: those from before it was made, since
// looking into catalogs may raise them.
struct Versions {
    uint64_t settings, draw;
};
static_assert(is_plain<Versions>);

constexpr Versions not_made{0, 0};

Versions versions_now()
{
    return {settings.version, settings.draw_version};
}

// To be set to `not_made` first, so that an error leaves the generator unmade.
void set_versions(Generator& g, Versions versions)
{
    g.settings_version = versions.settings;
    g.draw_version = versions.draw;
}

// The caller has set g.layout, g.name and g.preset. `of_node`: the node that the user named, or
// nullptr.
void make(Generator& g, const int32_t* of_node = nullptr)
{
    require_good_settings();
    require_good_node();
    if (!makes_ids(g.layout)) {
        const bool counts = g.layout.sequence_bits > 0;
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("cannot generate ids with layout \"%s\"", g.name),
                counts
                    ? errdetail("Its ticks are longer than one second; such ids can only be read.")
                    : errdetail("It has no sequence field; such ids can only be read."),
                counts ? errhint("Use ticks of at most 1s.")
                       : errhint("Use a layout with a field such as sequence:12."));
    }
    g.shape = word_shape(g.layout);
    g.pinned = can_settle(g.layout) ? 0 : never_pinned;
    g.kind = g.shape.has_back ? back_horizon : plain_horizon;
    if (wall_us() >= end_us(g.layout)) { // same with >: the draw itself says it
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
    set_ahead(g);
    const bool any = node_setting.source == NodeSource::any;
    const uint32_t any_of = any ? UINT32_MAX : bits_of_span(g.granted.first, g.granted.last);
    g.used = used_by(g.layout, id_bits(g.layout, any ? 0 : g.granted.first, any_of));
    g.asked = Tick{0};
    g.version = 0;
    g.tick = TickNow{};
    g.stretch = Stretch{};
    if (g.layout.enciphered) {
        (void)configured_key();
        remember_enciphering();
    }
    g.tenure.in_force = leases_in_force();
    g.tenure.entry = nullptr;
    g.tenure.max_node = settings.layout.max_node;
    if (coordinator_refused()) {
        throw_coordinator_refused();
    }
    if (lease_settings.coordinator[0] != '\0') {
        (void)set_lease(g, node_setting.source == NodeSource::any ? any_node : g.span.first, false);
    } else {
        refuse_shared_node();
    }
    if (g.tenure.entry == nullptr) {
        remember_assigned(); // otherwise once there is a lease
    }
    if (g.tenure.entry != nullptr && g.tenure.wanted_node == any_node) {
        set_slot(g, g.span.first, &unleased_slot);
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
    set_versions(g, not_made);
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

bool follow_settings(Generator& g)
{
    const bool same = g.settings_version == settings.version;
    if (same) {
        set_ahead(g);
        g.draw_version = settings.draw_version;
    }
    return same;
}

void make_configured()
{
    const Versions versions = versions_now();
    set_versions(configured, not_made);
    configured.layout = settings.layout;
    configured.name = settings.layout_text;
    configured.of_settings = true;
    configured.preset = find_preset(settings.layout_text, strlen(settings.layout_text));
    make(configured);
    set_versions(configured, versions);
}

void make_named(Generator& g, const char* name, size_t length)
{
    const Versions versions = versions_now();
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
    set_versions(g, versions); // same without: made anew by the next call
}

void make_of_node(Generator& g, const char* name, size_t length, int32_t node)
{
    const Versions versions = versions_now();
    begin_named(g, name, length, true);
    make(g, &node);
    g.user = GetUserId();
    set_versions(g, versions); // same without: made anew by the next call
}

void change_node(Generator& g, int32_t node)
{
    require_granted(g.layout, g.name, {g.granted.first, g.granted.last, nullptr, nullptr}, node);
    g.span.first = g.span.last = static_cast<uint32_t>(node);
    if (!set_node(g, g.span.first) && g.tenure.entry == nullptr) {
        throw_no_room_for_span();
    }
}

} // namespace flakeid
