// The nodes of a span: which of them a session draws from.
//
// Ids rise on one node. Those of different nodes have no order within a tick, and none within
// flakeid.max_ahead where ids run ahead of the clock.
#pragma once

#include "generator/generator.hpp"

namespace flakeid {

// The step from the last word of generator.slot, read before.
Draw next_draw(Generator& generator, Word last, Want want);

// Takes the first node after generator.node whose next id lies in no later tick than
// generator.level. Where none is, takes the one whose next id lies in the earliest tick, and raises
// the level to that tick. `tick` is that of the next id of generator.node, past the level.
//
// So all nodes fill one tick before any goes on to the next, and a node is looked at when a tick of
// it is used up. Without the level every id that lies ahead of the clock would need a look at every
// node.
void move_on(Generator& generator, Want want, Tick tick);

// Another session swapped the word first. Where there are other nodes to go on with, the two of
// them need not meet again; a further lease is too much for that.
void step_aside(Generator& generator);

} // namespace flakeid
