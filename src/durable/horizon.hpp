// The durable horizon: what a crash must not lose is how far ids have gone. Three places know it,
// and they are written in this order:
//
//   row    flakeid.state, one of each database    WAL, flushed   outlives a promotion, an upgrade
//   file   flakeid/horizon, one of the server     fsync          outlives a crash
//   bound  shared memory, one of each database    an atomic      what draws look at
//
// All are stamps (core/stamp.hpp): a larger one is later. Always, of each database and kind
// (holds() of horizon.cpp asserts what it can, but for the moments in which a repair lowers them):
//
//   floor < id <= bound                                 no id where bound <= floor
//   loaded_row <= floor                                 server's floor <= floor, once it is loaded
//   floor < bound => bound <= row, in_file, reserved    whatever is lost, later ids lie past it
//   in_file <= pending                                  the next record says no less than the last
//
//   floor       low-water mark of ids. Raised by a start and by who raises the horizon
//   bound       high-water mark of ids. Raised last by who extends
//   row         what flakeid.state says, as far as it is flushed
//   loaded_row  the row as the start found it
//   reserved    what the database asked of the file, before it looked whether the file says it
//   in_file     what flakeid/horizon says, as far as it is flushed (server_horizon.hpp)
//   pending     what the next record of it says
//
// One extension from R to N, where the file says F; `=` is unchanged. After a crash this database
// begins past the fifth column, the others past the last:
//
//   after                             row     in_file    bound   begins past     others past
//   0 nothing                         R       F          <= R    later(R, F)     F
//   1 WAL record, page unlocked       R or N  =          =       later(row, F)   F
//   2 row flushed                     N       =          =       later(N, F)     F
//   3 reserved and pending raised     =       =          =       later(N, F)     F
//   4 record written                  =       F or N+    =       later(N, file)  file
//   5 record flushed                  =       N+         =       N+              N+
//   6 bound published                 =       =          N       N+              N+
//   7 version moved                   =       =          =       N+              N+
//
// N+ is up to a second past N, as far as max_ahead allows, so 3 to 5 are left out where the file
// says N already. In each line bound is no later than what either begins past. Rejected: publish
// the bound before 5, and other databases make its ids again after a crash; before 2, this one does
// after a promotion.
//
// A start reads the file. Where it is the server's own (core/record.hpp), the server goes on in its
// incarnation; otherwise a new one begins, with floors past takeover_us(). The first id of a
// database reads its row; one that another incarnation or timeline wrote is that of a lost server.
//
// Locking: AddinShmemInitLock is held to take an entry, and to publish what was loaded or repaired,
// with the floor of the server, which is raised under it (server_horizon.hpp).
// Who alters the row holds the lock of its page (durable.hpp), which orders those who extend. No
// lock: all of Horizon is atomic. What is published moves `version` last, and a draw goes by
// numbers that it read while `version` stood still. A raise moves `least_us` before `floor`, which
// are read in the other order: no draw goes by a floor that is raised and a moment that is not,
// which look like a clock that was set back. Rejected: look at `bound` alone, and let every raise
// move it. After a repair it may come back to a number that a session remembers.
//
// A bound is good for the file of flakeid.state that it was flushed to. Whoever extends looks at
// it. Another one, as after VACUUM FULL, is taken over first. One that a rollback would take away
// again is written but not relied on, as long as an older state may come back in its place.
#pragma once

#include "core/stamp.hpp"
#include "server/postgres.hpp"

namespace flakeid {

// The durable bound of one database, as far as it is published.
struct alignas(64) Horizon {
    pg_atomic_uint32 database; // InvalidOid: it was dropped, and the entry is free
    pg_atomic_uint32 file;     // that the bound was flushed to
    pg_atomic_uint64 version;  // never 0, never twice the same
    pg_atomic_uint64 bound[horizon_kinds];
    pg_atomic_uint64 floor[horizon_kinds];
    pg_atomic_uint64 extended_at[horizon_kinds]; // Steady
    pg_atomic_uint64 nodes;                      // Stamped::nodes, as far as it is durable
    pg_atomic_uint64 least_us;                   // Stamped::least_us
    pg_atomic_uint64 row[horizon_kinds];         // what flakeid.state says, as far as it is flushed
    pg_atomic_uint64 loaded_row[horizon_kinds];  // `row` as it was loaded
    pg_atomic_uint64 reserved[horizon_kinds];    // asked of the server's file, whatever came of it
    pg_atomic_uint64 assigned; // Durable::assigned, where a session has read it (assigned.cpp)
    pg_atomic_uint64 assigned_changes; // of the row's, begun so far
};
static_assert(sizeof(Horizon) == 192, "a horizon is whole cache lines");

void horizon_init();

// Returns a number that moves when anything does that a draw goes by.
inline uint64_t horizon_version(Horizon* horizon)
{
    return pg_atomic_read_u64(&horizon->version);
}

// Moves the version, after what was published.
void horizon_moved(Horizon* horizon);

inline Stamp published_bound(Horizon* horizon, int kind)
{
    return Stamp{pg_atomic_read_u64(&horizon->bound[kind])};
}

inline Stamp published_floor(Horizon* horizon, int kind)
{
    return Stamp{pg_atomic_read_u64(&horizon->floor[kind])};
}

inline bool is_loaded(Horizon* horizon)
{
    return published_bound(horizon, back_horizon) != no_stamp;
}

// Frees the entries of databases that were dropped, and so forgets what they have reserved in the
// file of the server.
void forget_dropped();

// Makes ids of all databases that are loaded begin after the moment `us`, which is the floor of the
// server already: whoever loads or repairs another one meanwhile takes it from there.
void raise_all_floors(int64_t us);

// Returns what other databases have reserved in the file of the server since the start. A floor
// that is raised over a bound takes nothing back.
Stamped reserved_by_others();

// Returns the latest moment that sessions of the database may have to begin after.
int64_t published_us(Horizon* horizon);

// Returns what outlives even a promotion: ids of the database go no further, and none that comes
// later, on whatever server, lies below it.
inline Stamp row_stamp(Horizon* horizon, int kind)
{
    return Stamp{pg_atomic_read_u64(&horizon->row[kind])};
}

// All ids of the database since the start lie past it. A floor says more, but not durably, and one
// that was raised since nothing of draws that are under way.
inline Stamp loaded_row_stamp(Horizon* horizon, int kind)
{
    return Stamp{pg_atomic_read_u64(&horizon->loaded_row[kind])};
}

// Returns the moment before which no id of a layout with back is stamped, whatever its count.
int64_t published_least_us(Horizon* horizon);

// Raises an error where ids cannot be made because the server is a standby.
void refuse_in_recovery();

// Raises an error in a transaction that replaces the state of the database.
void refuse_where_replaced();

// Nothing can be issued any more until whoever extends publishes a bound, and then every session
// looks at the floor. Ids begin past the bound that was good until now, which state_now() may need.
void withdraw_bounds(Horizon* horizon);

// Returns the entry of the current database, loaded or not.
Horizon* shared_horizon();

// Returns the entry of the current database with its floor and bound loaded. An error during
// recovery.
Horizon* horizon_attach();

// Tells whether it is remembered durably that `node` makes ids here. Nothing is issued from it
// before.
bool horizon_has_node(Horizon* horizon, uint32_t node);

// Remembers it durably. Who only tries to draw does not come here: a repair takes the node for a
// used one.
void horizon_record_node(Horizon* horizon, uint32_t node);

// Extends the bound so that `needed` may be issued; `now_us` is the wall clock. Returns 0 when the
// bound may have moved, or how many microseconds from now an extension is possible again.
int64_t horizon_extend(Horizon* horizon, HorizonKind kind, Stamp needed, int64_t now_us);

// Makes ids begin after the moment `us`, and a lost horizon known again.
void horizon_raise(int64_t us);

// Makes ids begin after `stamp`, which a dump carries.
void horizon_restore(HorizonKind kind, Stamp stamp);

// Makes ids begin past all that the server can have stamped which a dump comes from. It may have
// made ids after the dump, up to `most_ahead_us` ahead of the clock.
void horizon_restore_elsewhere(int64_t most_ahead_us);

// Lowers a horizon that lies ahead of the clock, but not below what sessions may have stamped with
// a right clock (server_right()), which a notice tells; false when there is nothing to lower.
// What was stamped after it is forgotten, which is right when the nodes that make ids from now on
// made none meanwhile, or when `none_kept`: an error where neither is known, which names another
// node up to `max_node`.
bool horizon_repair(int64_t now_us, uint32_t first_node, uint32_t last_node, uint32_t max_node,
                    bool none_kept);

// Raises `stamped` to what the server remembers of this database; false when it remembers nothing.
bool horizon_remembered(Stamped* stamped);

static_assert(is_plain<Horizon>);

} // namespace flakeid
