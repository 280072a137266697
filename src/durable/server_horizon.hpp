// The horizon of the server: no id of any database was ever stamped after it. It stands in the file
// flakeid/horizon of the data directory (records.hpp), because WAL of one database tells nobody of
// another. Its rules are those of core/stamp.hpp and core/record.hpp.
//
// Order: the file is written and flushed, then the bound of the server is raised, and no database
// publishes a bound above it. So a restart needs nothing but the file, and each database's row is
// for what the file cannot tell: a promotion, a dump, an upgrade, a file that was lost.
//
// Locking: all of ServerHorizon is atomic. AddinShmemInitLock is held to publish what was loaded or
// written, and to lower the numbers, so that none comes into the middle of another. Whoever needs
// the file further writes it, at most once a second; others find it far enough meanwhile, and
// nobody waits for him who writes.
// Rejected: one writer under a lock. It would wait for the disk while it holds the lock, and
// whoever stops in it, with SIGSTOP or in a frozen machine, would stop all databases.
#pragma once

#include "core/stamp.hpp"
#include "durable/used.hpp"
#include "server/postgres.hpp"

namespace flakeid {

void server_horizon_init();

// Returns who writes now: the timeline, and the incarnation of this data directory, which a copy
// does not continue. It is in the file when this returns. `used`: flakeid made ids or leases here
// before, so that a file that is missing was lost.
Origin server_origin(bool used);

// Returns where ids of this server begin since its start or a restore, whatever the database.
Floors server_floors();

// Raise the floors of this server to the moment past which no server has stamped that it takes the
// place of, and which stamped up to `most_ahead_us` ahead of the clock: until this incarnation
// began, which knows of the reach of roles only when a session loads a horizon, or until now, when
// a database of another server goes on here. They return that moment; _now() has it in the file.
// No repair takes it back.
int64_t server_take_over_at_start(int64_t most_ahead_us);
int64_t server_take_over_now(int64_t most_ahead_us);

// False where server_take_over_at_start() is still to come, in whatever run of the server.
bool server_knows_roles();

// Returns up to which moment a horizon may be extended at once; 0 where no other server's ids came
// before those of this one.
int64_t server_head_start_until_us();

// Returns how long the first id after a start may have to wait.
int64_t server_longest_wait_us();

// Returns the published bound.
Stamp server_bound(int kind);

// Returns how far ahead of the clock ids of this server may lie, those of this session included.
int64_t server_most_ahead_us();

// False from the moment at which a repair lowers server_bound() until a record that says what is
// left is in the file: the records from before, which say more, count until then.
bool server_is_repaired();

// Takes in how far ahead of the clock sessions of a database may have stamped.
void server_learn_most_ahead(int64_t most_ahead_us);

// Takes in which layout counts set-backs: `counter` tells layouts apart, and is not 0. Where the
// file knows another one, no count serves moments that the other may have used. The file knows this
// one too when it returns: the next start may be of one of them alone.
void server_counted_by(int64_t counter);

// Makes the file say at least `wanted`. Returns 0 when it does, otherwise how many microseconds
// from now it can be written again; `at_once` writes in any case. `now_us` is the wall clock.
int64_t server_cover(const Stamped& wanted, bool at_once, int64_t now_us, int64_t max_ahead_us);

// Returns what the file is to remember.
Stamped server_remembers();

// Claims what a layout may use (used.hpp).
UsedClaim server_claims(const Used& wanted, Tick from);

// Forgets what other layouts have used, in earlier runs of the server, that `layout` soon would.
// False: nothing.
bool server_forgets(const Used& layout, Ticks soon);

// Tells whether the file says that `node` may have made ids.
bool server_has_node(uint32_t node);

// Returns what a repair leaves: no id of a right clock lies past it. It is where the server's
// floors are, and where databases led its horizon since, but no further than sessions may stamp.
Stamped server_right(int64_t now_us);

// Lowers what lies past the moment `right_us` by mistake, but for what databases have reserved
// meanwhile and for the bounds that others have published.
void server_repair(int64_t right_us, Stamped (*reserved_by_others)());

} // namespace flakeid
