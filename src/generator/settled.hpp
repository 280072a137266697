// The settled mark of a generator: its transactions' pins as the generator's sessions set them,
// and the lowest id that somebody may still add.
//
// Locking: AddinShmemInitLock is held to read the words of the layout's slots and to write
// Slot::settled, so that no slot is opened meanwhile. No lock: the pins (pins.hpp), which are read
// after the words.
#pragma once

#include "generator/generator.hpp"
#include "slots/pins.hpp"

extern "C" {
#include "utils/snapshot.h"
}

namespace flakeid {

// Tells whether this transaction has no pin yet that covers the generator.
inline bool needs_pin(const Generator& g)
{
    return g.pinned < transaction_number; // same with <=: that pin changes nothing
}

// Promises that this transaction will draw no word of g.node below `word`. To be called before the
// swap.
void pin_words(Generator& g, Word word);

// Gives reserved words a pin of this transaction. False when somebody has asked for a settled mark
// since they were reserved: then they do not serve it.
bool pin_reserved(Generator& g);

inline bool reserved_are_pinned(Generator& g)
{
    return likely(g.cache.transaction == transaction_number) || pin_reserved(g);
}

// Returns how often a settled mark was asked for: to be read before words are reserved.
uint64_t polls_so_far();

// An error when the generator's ids can have no settled mark, or this server knows none.
void require_settling(const Generator& g);

// Returns the settled mark: each id below the result that this database drew from the generator
// belongs to a transaction that has ended: the snapshot sees all that will ever be seen of it. No
// id is drawn below the result any more. The ids of all nodes of the layout on this server count.
int64_t settled_id(Generator& g, const SnapshotData& snapshot);

// Returns the id of a word of one of the layout's nodes, whose place in the layout `key` has.
int64_t id_of_pin(const SlotKey& key, Word word);

} // namespace flakeid
