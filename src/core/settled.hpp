// The rules of the settled mark: whose ids still hold it, and up to where idle nodes are skipped.
// Pure: transactions and the clock are arguments.
#pragma once

#include "layout.hpp"
#include "step.hpp"

#include <cstddef>
#include <cstdint>

namespace flakeid {

// True when ids can have a settled mark: those of one node rise with their words, and an id of a
// later tick is larger, whatever its node.
bool can_settle(const Layout& layout);

// What a snapshot sees of other transactions. Their ids are counted in 64 bits, and so never again
// from the beginning.
struct SnapshotView {
    uint64_t oldest;         // all below have ended
    uint64_t next;           // none from here on has ended, and the one below has
    const uint32_t* running; // low halves of those between that have not
    size_t running_count;
};
static_assert(is_plain<SnapshotView>);

// The full id of a transaction that lies within 2^31 of `near`.
uint64_t full_transaction(uint32_t low, uint64_t near);

// True when the snapshot sees nothing of the transaction, because it had not ended. Of a
// transaction itself, not of its savepoints.
bool unfinished(const SnapshotView& view, uint64_t transaction);

// True when the snapshot was surely taken after `completed` was the latest transaction that had
// ended.
inline bool taken_after(const SnapshotView& view, uint64_t completed)
{
    return view.next > completed + 1;
}

// Where a layout's ids come from several nodes, the one that draws least would hold the mark. Up to
// this word each node is skipped, when `furthest` is the last word of all: to the end of the tick
// before the clock's, but no tick further than `furthest`.
uint64_t skipped_word(const WordShape& shape, uint64_t furthest, uint64_t now);

// The word, or the layout's last one before it where there is no such word.
uint64_t within_layout(const WordShape& shape, uint64_t word);

// The last word of the tick of `word`.
inline uint64_t last_of_tick(const WordShape& shape, uint64_t word)
{
    return word | max_sequence(shape);
}

} // namespace flakeid
