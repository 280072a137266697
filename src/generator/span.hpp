// The nodes of a span: which of them a session draws from.
//
// Ids rise on one node. Those of different nodes have no order within a tick, and none within
// flakeid.max_ahead where ids run ahead of the clock.
#pragma once

#include "generator/generator.hpp"

namespace flakeid {

// Returns the step from the last word of generator.slot, read before.
Draw next_draw(Generator& generator, Word last, Want want);

// Leaves a node whose next id lies in `tick`, past the level, for the next one of the round; the
// draw tells whether that has an id up to the level. When a whole round has found none, the level
// rises to the smallest tick that was seen, and its node is the one to go on with. So a node is
// looked at when a tick of it is used up, not with every id, and all nodes fill one tick before any
// goes on to the next.
//
// Rejected: keep the level alone, and look at all nodes again for the least tick once none has an
// id up to the level. A round then costs two looks at each node instead of one, and a look costs
// more than an id: with 4 ids to a tick of 77 nodes that ran ahead, 620 to 870 instructions an id
// instead of 580 to 760.
void move_on(Generator& generator, Tick tick);

// Takes another node of the span, whose lease is held, since that of this one is not. False when
// there is none.
bool leave_lease(Generator& generator);

// Goes on to the next node after another session swapped the word first. Where there are other
// nodes to go on with, the two of them need not meet again; a further lease is too much for that.
void step_aside(Generator& generator);

} // namespace flakeid
