// The lease of a generator's node: a node that flakeid.node names has one of its own; under auto
// one lease brings all nodes of the span.
#pragma once

#include "generator/generator.hpp"
#include "settings/node.hpp"

namespace flakeid {

inline bool leased_singly(const Generator& generator)
{
    return generator.tenure.entry != nullptr && generator.tenure.wanted_node != any_node;
}

// Tells whether one lease has all nodes of the span.
inline bool leased_together(const Generator& generator)
{
    return generator.tenure.entry != nullptr && generator.tenure.wanted_node == any_node;
}

// Wants the lease of a node, or of any_node. False when `or_none` and all are taken.
bool set_lease(Generator& generator, uint32_t node, bool or_none);

// Reads the lease anew, takes the nodes of another one, and opens the slot. g.tenure.end_us is 0
// when it is not held.
void view_lease(Generator& generator);

// Tells whether a draw that would be issued lies outside the lease.
bool outside_lease(const Generator& generator, const Draw& draw);

// Tells whether a draw that is not issued waits for the lease.
bool is_past_lease(const Generator& generator, const Draw& draw);

// Takes one node of the span; false when only spare slots are left for it, or its lease is not held
// yet.
bool set_node(Generator& generator, uint32_t node);

// With auto, sets a span without a problem to the nodes that are leased; false while none are.
bool nodes_in_use(const Layout& layout, NodeSpan* span);

} // namespace flakeid
