#include "generator/span.hpp"

#include "generator/leased.hpp"

namespace flakeid {

namespace {

uint32_t node_after(const Generator& g, uint32_t node)
{
    return node >= g.span.last ? g.span.first : node + 1;
}

void begin_round(Generator& g)
{
    g.round.least = no_tick;
    g.round.unvisited = g.span.last - g.span.first;
}

// Takes a further node of the span. False when there is no slot for it, or its lease is not held.
bool take_further(Generator& g, uint32_t node)
{
    const bool taken = set_node(g, node);
    if (!taken && !leased_singly(g)) {
        g.span.last = node - 1; // nor is there one for those after it
        // same with max: some are looked at twice
        g.round.unvisited = std::min(g.round.unvisited, g.span.last - g.span.first);
    }
    return taken;
}

} // namespace

Draw next_draw(Generator& g, Word last, Want want)
{
    if (unlikely(g.shape.has_back)) {
        pg_read_barrier();
        g.limits.others_ahead = pg_atomic_read_u64(&g.slot->most_ahead);
    }
    return step(last, g.shape, g.limits, want);
}

void move_on(Generator& g, Tick tick)
{
    const uint32_t start = g.node;
    SpanRound& round = g.round;
    if (tick < round.least) { // same with <=: the last serves as well
        round.least = tick;
        round.best = start;
    }
    uint32_t node = start;
    while (round.unvisited > 0) {
        round.unvisited--;
        node = node_after(g, node);
        if (take_further(g, node)) {
            return;
        }
    }
    const bool none = round.least == no_tick;
    (void)set_node(g, none ? start : round.best); // same without: more looks
    round.level = none ? Tick{0} : round.least;
    begin_round(g);
}

bool leave_lease(Generator& g)
{
    const uint32_t node = g.node;
    if (is_span(g) && leased_singly(g)) {
        move_on(g, no_tick);
    }
    return g.node != node;
}

void step_aside(Generator& g)
{
    if (is_span(g) && !leased_singly(g) && take_further(g, node_after(g, g.node))) {
        begin_round(g);
    }
}

} // namespace flakeid
