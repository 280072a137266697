// What all sessions and databases of the server share.
//
// A small header has a name for ever. The rest stands in the server's main memory when the library
// is preloaded, and otherwise in a segment of its own that the first session makes: other
// extensions need the little that the main memory has to spare.
//
// Locking: AddinShmemInitLock is held to create the memory, to take a slot, a horizon or a secret's
// mark, and never longer: nothing waits, reads a file or writes under it, but that the segment is
// made. Keys are read without a lock below the counts, which are raised last; they do not change
// once taken, but for a horizon of a dropped database, which may become another's. Everything else
// is atomic.
#pragma once

#include "core/stamp.hpp"
#include "lease_table.hpp"
#include "postgres.hpp"
#include "slots.hpp"
#include "stats.hpp"

namespace flakeid {

// The durable bound of one database, as far as it is published (horizon.hpp).
struct alignas(64) Horizon {
    Oid database;
    pg_atomic_uint32 file; // that the bound was flushed to
    pg_atomic_uint64 bound[horizon_kinds];
    pg_atomic_uint64 floor[horizon_kinds];
    pg_atomic_uint64 extended_at[horizon_kinds]; // steady clock, microseconds
};
static_assert(sizeof(Horizon) == 64, "a horizon is one cache line");

constexpr int max_horizons = 256;

SlotTable* shared_slots();

// The entry of the current database.
Horizon* shared_horizon();

// True when `mark` is the mark of the file of that name since the server's start.
bool shared_secret_mark(const char* file, uint64_t mark);

// Wall clock minus uptime clock when the server started, or as flake_accept_clock() set it.
pg_atomic_uint64* shared_clock_offset();

Stats* shared_stats();

LeaseTable* shared_leases();

// Makes it at least `value`.
inline void raise_to(pg_atomic_uint64* shared, uint64_t value)
{
    uint64_t seen = pg_atomic_read_u64(shared);
    while (seen < value && !pg_atomic_compare_exchange_u64(shared, &seen, value)) {
    }
}

void shared_init();

} // namespace flakeid
