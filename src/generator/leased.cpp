#include "generator/leased.hpp"

#include "durable/given.hpp"
#include "lease/report.hpp"
#include "lease/worker.hpp"

namespace flakeid {

namespace {

// The first word of a lease in a closed slot.
Word first_word(const Generator& g)
{
    return word_of(g.shape, word_back(g.shape, g.slot->word_before), g.lease.first_tick, 0);
}

// Takes the nodes of a lease of any node that is held: as many of them as flakeid.node says.
void set_leased_span(Generator& g, const LeaseView& view)
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
void open_slot(Generator& g, const LeaseView& view)
{
    bool open = view.held;
    if (open) {
        g.lease.first_tick =
            clamp_tick(g.shape, tick_of_us(g.layout, view.start_us + g.layout.tick_us - 1));
        const int64_t last = tick_of_us(g.layout, view.end_us) - 1;
        g.lease.last_tick = clamp_tick(g.shape, last);
        open = last >= 0 && lease_open(g.lease.entry, view, g.slot, first_word(g));
    }
    g.lease.end_us = open ? view.end_us : 0;
    g.version = 0; // makes the limits anew
}

} // namespace

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

void view_lease(Generator& g)
{
    drop_cache(g);
    LeaseView view = lease_view(g.lease.entry, g.lease.wanted_node, g.lease.max_node);
    if (!view.same) {
        g.lease.entry = lease_want(g.lease.wanted_node, g.lease.max_node, false);
        view = lease_view(g.lease.entry, g.lease.wanted_node, g.lease.max_node);
    }
    if (view.held && leased_together(g)) {
        set_leased_span(g, view);
    } else if (view.held && view.node > g.layout.max_node) {
        throw_leased_node_out_of_range(view.node, g.layout, g.name);
    }
    open_slot(g, view);
    if (g.lease.end_us != 0) {
        remember_given();
    }
}

bool set_node(Generator& g, uint32_t node)
{
    const bool leased = leased_singly(g) && node != g.lease.wanted_node;
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
    }
    return true;
}

bool outside_lease(const Generator& g, const Draw& d)
{
    return word_tick(g.shape, d.word) < g.lease.first_tick ||
           word_tick(g.shape, d.word + d.count - 1) > g.lease.last_tick;
}

bool is_past_lease(const Generator& g, const Draw& d)
{
    return g.lease.entry != nullptr &&
           (d.verdict == Verdict::issue ||
            (d.verdict == Verdict::extend && word_tick(g.shape, d.word) > g.lease.last_tick));
}

} // namespace flakeid
