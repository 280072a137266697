// Which transactions hold the settled mark: for each one the lowest word that it may have drawn
// from each generator.
//
// A transaction's pins stand in the place of the process that leads it, and parallel workers set
// theirs there. A pin is set before the swap of the word, and taken back after the transaction has
// ended for all others. Before it is taken back, a copy of it is kept among the latest that the
// process ended if the transaction may have written something: a snapshot from before its end does
// not see that. A prepared transaction has a place of its own from PREPARE TRANSACTION on.
//
// Nobody pays for the settled mark with more than plain stores into a cache line of his own
// process, at the first id of a transaction and at its end, until somebody asks for a mark: what
// ends is kept from then on, until the server stops. A process that ends its transaction asks
// whether it is to keep it without a barrier: it has left the running ones under ProcArrayLock, and
// watch_from_now() holds that while it begins. Whatever ends for others after that is kept.
//
// Locking: a process sets its pins without a lock, and a holder's lock is held where a parallel
// worker may set one at the same time. The leader alone takes them back, and alone adds to the
// latest that its process ended. Pins.lock is held to take the place of a prepared transaction,
// and to add to the latest prepared that ended. Readers take none: they read the generators'
// words, then the holders, then the prepared, then the latest ended, so that they meet whatever
// goes from one place to the next (doc/dev/memory_order.md). AddinShmemInitLock is held to look
// for the prepared transactions of an earlier run.
#pragma once

#include "core/step.hpp"
#include "server/postgres.hpp"

namespace flakeid {

constexpr uint32_t pins_each = 8;

// Stands in the place of a slot, for all generators that the other pins have no room for. No
// word was drawn whose tick begins before the moment that such a pin has.
constexpr uint32_t further_slots = UINT32_MAX;

struct Pin {
    pg_atomic_uint32 slot;   // its number
    pg_atomic_uint64 lowest; // Word; of further_slots: microseconds since 1970
};

// What a transaction holds. Whoever reads pins while `running` and `xid` stay what they are has
// those of one transaction, or none.
struct alignas(64) Holder {
    pg_atomic_uint32 count; // of `pins`; while it is above 0, the rest is the transaction's
    slock_t lock;
    // Of the process that takes the pins back; InvalidPid: others may have set them for one that
    // does not know of them, and they end with `running`. A place that is free has process 0.
    pg_atomic_uint32 pid;
    pg_atomic_uint64 running; // running_transaction()
    pg_atomic_uint64 xid;     // of a prepared transaction, in 64 bits
    Oid database;
    bool unknown; // prepared before the server was started: nobody knows what it drew
    TimestampTz since;
    Pin pins[pins_each + 1]; // the last one is of further_slots
};

// A pin of a transaction that has ended.
struct Ended {
    pg_atomic_uint64 xid; // in 64 bits
    pg_atomic_uint64 lowest;
    pg_atomic_uint32 slot;
    pg_atomic_uint32 database;
};

// How many are kept of each process. A snapshot is asked about soon after it was taken, and what a
// process ended since must be among them.
constexpr uint64_t ended_kept = 1024;

// The latest that one process ended, each later than the one before it. Nobody else's push them
// out.
struct alignas(64) LatestEnded {
    pg_atomic_uint64 count; // all that were ever added
    Ended ended[ended_kept];
};

// One of a prepared transaction, whose place went to another.
struct EndedPrepared {
    Ended ended;
    pg_atomic_uint64 completed; // the latest transaction that had ended, 64 bits
};
constexpr uint64_t prepared_kept = 4096;

struct Pins {
    pg_atomic_uint64
        polls; // calls of flake_settled(): each revokes what flakeid.cache has reserved
    slock_t lock;
    pg_atomic_uint32 looked; // 1: prepared transactions of an earlier run were looked for
    // The latest transaction that had ended when processes began to keep what they end; 0: they do
    // not.
    pg_atomic_uint64 watched_since;
    uint32_t prepared_places;
    pg_atomic_uint32 prepared_used;  // places from here on were never used
    pg_atomic_uint64 prepared_count; // all that were ever added to `prepared`
    EndedPrepared prepared[prepared_kept];
    Holder
        holders[FLEXIBLE_ARRAY_MEMBER]; // of MaxBackends processes, then of prepared transactions
};
static_assert(is_plain<Pin, Holder, Ended, LatestEnded, EndedPrepared, Pins>);

// Returns the latest that the process of a holder ended. They stand behind the holders.
LatestEnded& latest_ended(Pins& pins, int process);

// Returns the pins, among them the prepared transactions of an earlier run, unless this is a
// standby.
Pins* pins_begin();

// From now on all processes keep what they end. Returns the latest transaction that had ended when
// that began.
uint64_t watch_from_now(Pins& pins);

// The number of this session's transaction, from 1.
extern uint64_t transaction_number;

// Promises that this transaction will draw no word below `word` from the slot of that number, and
// none whose tick begins before `moment`. To be called before the swap that draws it.
void set_pin(uint32_t slot, Word word, uint64_t moment);

// Tells whether the pins of the holder of process `proc` count.
inline bool is_held(Holder& holder, const PGPROC* proc)
{
    return pg_atomic_read_u32(&holder.count) > 0 && // same with >=: only faster
           (pg_atomic_read_u32(&holder.pid) == static_cast<uint32_t>(proc->pid) ||
            pg_atomic_read_u64(&holder.running) == running_transaction(proc));
}

void pins_init();

} // namespace flakeid
