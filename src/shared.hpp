// What all sessions and databases of the server share.
//
// Locking: AddinShmemInitLock is held to create the memory, to take a slot, a horizon or a secret's
// mark, and never longer: nothing waits, reads a file or writes under it. Keys are read without a
// lock below the counts, which are raised last; they do not change once taken, but for a horizon of
// a dropped database, which may become another's. Everything else is atomic.
#pragma once

#include "core/layout.hpp"
#include "core/stamp.hpp"
#include "lease.hpp"
#include "server.hpp"
#include "stats.hpp"

namespace flakeid {

// What tells one generator from another. Fields' names and the cipher are left out, and so is the
// width of the time where it is the highest field: such ids are the same.
struct SlotKey {
    uint64_t node; // in its place in the raw id
    int64_t tick_us;
    int64_t epoch_us;
    uint8_t time_bits, time_shift;
    uint8_t sequence_bits, sequence_shift;
    uint8_t back_bits, back_shift;
    uint8_t unused[2];
};

// The state of one generator: one cache line.
struct alignas(64) Slot {
    pg_atomic_uint64 word; // issued last; 0: none since the server's start; or closed_word
    SlotKey key;
    uint32_t node;
    uint64_t word_before; // of a closed slot: `word` before. AddinShmemInitLock guards it
};

// Nothing is issued from a slot whose word this is (lease.hpp). It is no word of any layout but, as
// the very last one, of those without a node.
constexpr uint64_t closed_word = UINT64_MAX;

static_assert(sizeof(Slot) == 64, "a slot is one cache line");

// The durable bound of one database, as far as it is published (horizon.hpp).
struct alignas(64) Horizon {
    Oid database;
    pg_atomic_uint32 file; // that the bound was flushed to
    pg_atomic_uint64 bound[horizon_kinds];
    pg_atomic_uint64 floor[horizon_kinds];
    pg_atomic_uint64 extended_at[horizon_kinds]; // steady clock, microseconds
};
static_assert(sizeof(Horizon) == 64, "a horizon is one cache line");

constexpr int max_slots = 256;
constexpr int spare_slots = 64; // kept from the further nodes of spans
constexpr int max_horizons = 256;

// A slot is never taken back while the server runs. Raises an error when all are taken, or, for
// `keep_spare`, returns nullptr when only the spare ones are left.
Slot* shared_slot(const SlotKey& key, uint32_t node, bool keep_spare);

// All that were taken.
Slot* shared_slots(uint32_t* count);

SlotKey slot_key(const Layout& layout, uint32_t node);

// The entry of the current database.
Horizon* shared_horizon();

// True when `mark` is the mark of the file of that name since the server's start.
bool shared_secret_mark(const char* file, uint64_t mark);

// Wall clock minus uptime clock when the server started, or as flake_accept_clock() set it.
pg_atomic_uint64* shared_clock_offset();

Stats* shared_stats();

LeaseTable* shared_leases();

// How far the word that is furthest ahead of the wall clock lies before it.
int64_t shared_ahead_us(int64_t now_us);

// Makes it at least `value`.
inline void raise_to(pg_atomic_uint64* shared, uint64_t value)
{
    uint64_t seen = pg_atomic_read_u64(shared);
    while (seen < value && !pg_atomic_compare_exchange_u64(shared, &seen, value)) {
    }
}

void shared_init();

} // namespace flakeid
