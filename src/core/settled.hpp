// The rules of the settled mark: whose ids still hold it, and up to where idle nodes are skipped.
// Pure: transactions and the clock are arguments.
#pragma once

#include "layout.hpp"
#include "step.hpp"

#include <cstddef>
#include <cstdint>

namespace flakeid {

// Tells whether ids can have a settled mark: those of one node rise with their words, and an id of
// a later tick is larger, whatever its node.
bool can_settle(const Layout& layout);

// What a snapshot sees of other transactions. Their ids have 64 bits, and so never begin anew.
struct SnapshotView {
    uint64_t oldest;         // all below have ended
    uint64_t next;           // none from here on has ended, and the one below has
    const uint32_t* running; // low halves of those between that have not
    size_t running_count;
};
static_assert(is_plain<SnapshotView>);

// Returns the full id of a transaction that lies within 2^31 of `near`.
uint64_t full_transaction(uint32_t low, uint64_t near);

// Tells whether the snapshot sees nothing of the transaction, because that had not ended. For
// transactions themselves, not for their savepoints.
bool unfinished(const SnapshotView& view, uint64_t transaction);

// Tells whether the snapshot was surely taken after `completed` was the latest transaction that had
// ended.
inline bool taken_after(const SnapshotView& view, uint64_t completed)
{
    return view.next > completed + 1;
}

// Where a layout's ids come from several nodes, the one that draws least would hold the mark. So
// each node is skipped up to this word: to the end of the last tick that is over by the clock, but
// to no later tick than that of `furthest`, the last word of all nodes.
Word skipped_word(const WordShape& shape, Word furthest, Tick now);

// Returns the last word that a node which draws its first id after a mark at `mark` may not use:
// all of that tick, but nothing of a count of set-backs, which only a clock that was set back
// begins.
Word used_up(const WordShape& shape, Word mark);

// Returns `word`, or the last one of the layout where it lies past that. For layouts that can
// settle: none of their counts of set-backs ends before its ticks do.
Word within_layout(const WordShape& shape, Word word);

} // namespace flakeid
