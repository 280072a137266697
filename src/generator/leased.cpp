#include "generator/leased.hpp"

#include "durable/assigned.hpp"
#include "generator/refusals.hpp"
#include "server/clock.hpp"

namespace flakeid {

namespace {

// The first word of a lease in a closed slot.
Word first_word(const Generator& g)
{
    return word_of(g.shape, word_back(g.shape, g.slot->word_before), g.tenure.first_tick, 0);
}

// Takes the nodes of a lease of any node that is held: as many of them as flakeid.node says.
void set_leased_span(Generator& g, const Tenure& view)
{
    const uint32_t further = g.granted.last - g.granted.first;
    if (further >= view.nodes) {
        throw_lease_too_small(further + 1, view.nodes);
    }
    if (view.node + further > g.layout.max_node) {
        throw_leased_node_out_of_range(view.node + further, g.layout, g.name);
    }
    if (view.node != g.granted.first || g.slot == &unleased_slot) {
        g.granted = g.span = {view.node, view.node + further};
        reset_round(g);
        set_slot(g, view.node, find_slot(g, view.node));
    }
}

// Opens the slot for a lease, if that is held.
void open_slot(Generator& g, const Tenure& view)
{
    bool open = view.held;
    if (open) {
        g.tenure.first_tick =
            clamp_tick(g.shape, tick_of_us(g.layout, view.start_us + g.layout.tick_us - 1));
        const int64_t last = tick_of_us(g.layout, view.end_us) - 1;
        g.tenure.last_tick = clamp_tick(g.shape, last);
        // same with >: a lease in the second tick of all
        open = last >= 0 && tenure_open(g.tenure.entry, view, g.slot, first_word(g));
    }
    g.tenure.end = view.end;
    g.tenure.end_us = open ? view.end_us : 0;
    g.version = 0; // makes the limits anew
}

} // namespace

bool set_lease(Generator& g, uint32_t node, bool or_none)
{
    Lease* lease = tenure_want(node, g.tenure.max_node, or_none);
    if (lease == nullptr) {
        return false;
    }
    g.tenure.wanted_node = node;
    g.tenure.entry = lease;
    g.tenure.end_us = 0;
    return true;
}

void view_lease(Generator& g)
{
    drop_cache(g);
    Tenure view = tenure_view(g.tenure.entry, g.tenure.wanted_node, g.tenure.max_node);
    if (!view.same) {
        g.tenure.entry = tenure_want(g.tenure.wanted_node, g.tenure.max_node, false);
        view = tenure_view(g.tenure.entry, g.tenure.wanted_node, g.tenure.max_node);
    }
    if (view.held && leased_together(g)) {
        set_leased_span(g, view);
    } else if (view.held && view.node > g.layout.max_node) {
        throw_leased_node_out_of_range(view.node, g.layout, g.name);
    }
    open_slot(g, view);
    if (g.tenure.end_us != 0) {
        remember_assigned();
    }
}

bool set_node(Generator& g, uint32_t node)
{
    const bool leased = leased_singly(g) && node != g.tenure.wanted_node;
    Slot* slot = find_slot(g, node);
    if (slot == nullptr || (leased && !set_lease(g, node, node != g.span.first))) {
        return false;
    }
    set_slot(g, node, slot);
    if (leased) {
        view_lease(g);
        if (g.tenure.end_us == 0) {
            tenure_call(); // same without: the worker's next turn
            return false;
        }
    }
    return true;
}

bool outside_lease(const Generator& g, const Draw& d)
{
    return word_tick(g.shape, d.word) < g.tenure.first_tick || // same with <=: one tick of waiting
                                                               // same with >=: one tick of waiting
           word_tick(g.shape, d.word + d.count - 1) > g.tenure.last_tick;
}

bool is_past_lease(const Generator& g, const Draw& d)
{
    return g.tenure.entry != nullptr &&
           (d.verdict == Verdict::issue ||
            // same with >=: one tick of waiting
            (d.verdict == Verdict::extend && word_tick(g.shape, d.word) > g.tenure.last_tick));
}

bool nodes_in_use(const Layout& layout, NodeSpan* span)
{
    if (node_setting.source == NodeSource::any) {
        Lease* lease = tenure_want(any_node, layout.max_node, true);
        const Tenure view =
            lease == nullptr ? Tenure{} : tenure_view(lease, any_node, layout.max_node);
        const uint32_t further = span->last - span->first;
        span->first = view.node;
        span->last = view.node + further;
        return view.held && further < view.nodes;
    }
    return true;
}

} // namespace flakeid
