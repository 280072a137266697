// The durable horizon: no id of a database was ever stamped after it, so that whatever is lost in a
// crash, a restart, a failover or a restore, the ids that follow begin after it.
//
// It stands in flakeid.state (durable.hpp); its rules are those of core/stamp.hpp. Order of an
// extension: WAL record, unlock the page, flush, and only then raise the shared bound. Whoever
// reads the page flushes up to its LSN before trusting it.
//
// A bound is good for the file that it was flushed to. Whoever extends looks at the file. Another
// one, as after VACUUM FULL, is taken over first. One that a rollback would take away again is
// written but not relied on, as long as an older state may come back in its place.
#pragma once

#include "core/stamp.hpp"
#include "server/postgres.hpp"

namespace flakeid {

// The durable bound of one database, as far as it is published. The database changes only when it
// was dropped; everything else is atomic.
struct alignas(64) Horizon {
    Oid database;
    pg_atomic_uint32 file; // that the bound was flushed to
    pg_atomic_uint64 bound[horizon_kinds];
    pg_atomic_uint64 floor[horizon_kinds];
    pg_atomic_uint64 extended_at[horizon_kinds]; // Steady
};
static_assert(sizeof(Horizon) == 64, "a horizon is one cache line");

void horizon_init();

inline Stamp published_bound(Horizon* horizon, int kind)
{
    return Stamp{pg_atomic_read_u64(&horizon->bound[kind])};
}

inline Stamp published_floor(Horizon* horizon, int kind)
{
    return Stamp{pg_atomic_read_u64(&horizon->floor[kind])};
}

// An error where ids cannot be made because the server is a standby.
void refuse_in_recovery();

// The entry of the current database, loaded or not.
Horizon* shared_horizon();

// The entry of the current database with its floor and bound loaded. An error during recovery.
Horizon* horizon_attach();

// Extends the bound so that `needed` may be issued. Returns 0 when the bound may have moved, or how
// many microseconds from now an extension is possible again.
int64_t horizon_extend(Horizon* horizon, HorizonKind kind, Stamp needed, int64_t now_us);

// Makes ids begin after that moment. It also makes a lost horizon known again.
void horizon_raise(int64_t us);

// The same for a stamp that a dump carries.
void horizon_restore(HorizonKind kind, Stamp stamp);

// Lowers a horizon that lies further ahead than flakeid.max_ahead to just that; false when none
// does. What was stamped after it is forgotten.
bool horizon_repair(int64_t now_us);

// Raises the stamps to what the server remembers of them; false when it remembers nothing.
bool horizon_remembered(int64_t* stamp);

static_assert(is_plain<Horizon>);

} // namespace flakeid
