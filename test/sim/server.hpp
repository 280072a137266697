// A server of PostgreSQL, as far as the glue sees it: what is lost with it (shared memory, locks,
// transactions), what outlives it (directory, WAL), its machine (clock, identity). postgres.cpp has
// the functions by which the glue gets at it.
#pragma once

#include "machine.hpp"

#include "durable/durable.hpp"

extern "C" {
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapshot.h"
}
#undef printf
#undef fprintf
#undef snprintf
#undef vsnprintf

#include <map>
#include <set>
#include <string>
#include <vector>

namespace sim {

constexpr int most_databases = 4;
constexpr Oid first_database = 16384;
constexpr int files_each = 4; // of flakeid.state, in use at the same time in one database
constexpr int most_backends = 24;
constexpr int most_prepared = 4;
constexpr size_t row_size = sizeof(flakeid::Durable); // of flakeid.state, without its header

// ---- Locks of any kind. Who waits is woken when one is released.
struct Lock {
    int shared = 0;
    int exclusive = -1; // number of the process
    std::vector<int> waiting;
};
void acquire(Lock& lock, bool exclusive);
void release(Lock& lock, bool exclusive);

// ---- What outlives a server

// A file of the data directory that WAL does not carry. files.cpp has the functions that get at it.
struct DiskFile {
    uint64_t number = 0;                         // inode
    int64_t born = 0, modified = 0, changed = 0; // wall clock of the machine
    std::string bytes;                           // as everybody reads them
    std::string flushed;                         // as they are safe from a power failure
    bool other_date = false;                     // than a record that counts, by who wrote last
    bool torn = false;                           // a sector was left half written
    int64_t flushed_page = -1;                   // where the last one of several sectors begins
    bool unsure = false;                         // it was one of these when the server started
};

// A file of flakeid.state, with its row as it stands on the page.
struct StateFile {
    Oid number = InvalidOid; // InvalidOid: this place is free
    bool has_row = false;
    unsigned char row[row_size] = {};
};

struct DatabaseFiles {
    Oid dropped = 0; // so many databases had this place before
    StateFile files[files_each];
    Oid current = InvalidOid; // which of them is that of flakeid.state
};

// A transaction that was prepared.
struct Prepared {
    uint64_t xid;
    int database;
    int transaction; // as the checkers count them
    bool ending;     // a session is at it
};

// What a copy takes with it.
struct Directory {
    int64_t timeline = 1;
    uint64_t system = 0; // system identifier
    uint64_t next_xid = 1000;
    Oid next_file = 2000;
    std::vector<Prepared> prepared;
    uint64_t checkpoint = 1; // a number of the latest one, as the control file has it
    std::map<std::string, DiskFile> files;
    DatabaseFiles databases[most_databases];
};

enum class WalKind { page, commit, catalog };

struct WalRecord {
    WalKind kind;
    uint64_t lsn;
    int64_t flushed_at; // true time; 0: it is not
    int database;
    StateFile file; // page: as it stands after that
    Oid current;    // catalog: which file is current, after a commit
    uint64_t xid;   // commit
};

// ---- The machine of a server
struct Clock {
    int64_t offset = 0;    // ahead of the true time
    int64_t still_at = -1; // the wall clock stands still there; -1: it goes
};
constexpr int64_t true_epoch_us = INT64_C(1800000000) * second; // true_us 0, since 1970

// A transaction that replaces the file of flakeid.state.
struct Replacing {
    int process = -1;
    uint64_t xid = 0;
    Oid file = InvalidOid; // the new one
};

// Names and values
using Settings = std::map<std::string, std::string>;

struct Server {
    int number = 0;
    bool up = false;
    uint64_t life = 0; // how often it was started
    bool panicked = false;
    int64_t start_us = 0; // wall clock at its start

    // Its machine
    Clock clock;
    int64_t booted_us = 0; // true time
    uint64_t machine = 0;  // its identity
    uint64_t next_inode = 1;

    // Its configuration file, and what ALTER DATABASE and ALTER ROLE set
    Settings configuration;
    Settings of_database[most_databases];
    int configuration_version = 0; // raised with each reload
    bool preload = false;
    int64_t fastest_flush = 0, slowest_flush = 3 * ms;
    int failing_writes = 0; // one of so many writes and flushes of a file fails; 0: none does
    bool wal_fails = true;  // with them, which ends the server
    int database_count = 1;
    int64_t max_ahead_of_roles_us = 0;

    // Lost with it
    std::map<std::string, void*> memory; // by name
    std::vector<void*> segments;
    std::multimap<size_t, void*> spare_memory; // of earlier lives, to be used again
    std::map<void*, size_t> memory_sizes;
    LWLockPadded lwlocks[64];
    Lock locks[64];
    Settings of_session[most_backends]; // what its database and role set when it began
    PROC_HDR proc_header;
    PGPROC procs[most_backends + most_prepared];
    VariableCacheData variables;
    std::set<uint64_t> running_xids;
    uint64_t ended_xids; // of transactions that had one, in this life
    Lock relation_locks[most_databases]; // of flakeid.state
    Replacing replacing[most_databases];
    Lock page_locks[most_databases * files_each];
    RelationData relations[most_databases * files_each];
    FormData_pg_class relation_forms[most_databases * files_each];
    std::vector<char> blocks; // the pages themselves
    bool in_recovery = false;
    Image image; // what its processes begin with
    int next_pid = 1000;
    uint32_t next_local_xid = 1;

    // Outlives it
    Directory base;             // as of the last start
    std::vector<WalRecord> wal; // since then
    uint64_t inserted = 0, flushed = 0;
    Directory now;                          // files and state as they are now
    StateFile flushed_rows[most_databases]; // of flakeid.state, as they are flushed
};

constexpr int most_servers = 6;
extern Server servers[most_servers];

// Of the process that runs.
inline Server& here()
{
    return *running->server;
}

int64_t wall_clock(const Server& server);
int64_t flush_time(const Server& server); // of the next flush
int64_t steady_clock(const Server& server);

// ---- Directories

// The directory of a server as its WAL up to `lsn` makes it.
Directory replayed(const Server& server, uint64_t lsn);
// What a crash leaves: any part of the WAL that was not flushed.
Directory crashed(const Server& server);
// The same where the machine stops too: of each file any sectors that were not flushed are lost, or
// are left half written.
void lose_power(Directory& directory);
// What is flushed.
Directory flushed(const Server& server);
// As a standby has it that has replayed what was flushed before that time.
Directory standby_at(const Server& server, int64_t at);

// The system identifier of a server that initdb makes just now.
uint64_t new_system(const Server& server);
// A file gets a number and date of its own from the machine.
void make_file(Server& server, Directory& directory, const std::string& name,
               const std::string& bytes);
// As cp -a and the like: every file is a new one.
Directory copied(Server& to, const Directory& from);
// As rsync -a: files with the contents of one that is there stay the same file; of the others, that
// are changed, too when `in_place`.
Directory synchronised(Server& to, const Directory& there, const Directory& from, bool in_place);

Oid oid_of(const Directory& directory, int database);
// A database is dropped, in which nobody is, and another takes its place.
void drop_database(Server& server, int database, const flakeid::Durable& row);

StateFile current_file(const DatabaseFiles& database);
// What a row of flakeid.state says; zeros where there is none.
flakeid::Durable durable_of(const StateFile& file);
void set_durable(StateFile& file, flakeid::Durable durable);

// ---- Life of a server

// Everything that is lost with it is gone, and it stands on that directory. `begin` runs once, as
// the postmaster loads the libraries.
void start_server(Server& server, const Directory& directory);
// All of its processes and its memory are gone.
void stop_server(Server& server);

// ---- Processes of a server

// What a process has of its own.
int my_database();              // the number of its database among the server's
extern int my_seat;             // its place among the server's processes
extern uint64_t my_xid;         // of its transaction; 0: it has none
extern char my_message[512];    // of the last error
extern int my_error;            // its SQLSTATE
extern bool my_end;             // the error ends the process
extern int64_t my_clock_error;  // in its transaction the wall clock is ahead by that
// The first and the latest moment that it read from the wall clock.
extern int64_t my_lowest_wall, my_highest_wall;
extern bool cancel_pending, terminate_pending;
extern bool my_parallel;     // it is in parallel mode
extern bool my_commits_wait; // synchronous_commit
extern int my_place;         // my_seat, that of the leader in a worker; -1: none
extern bool my_ending;       // the transaction has ended for all others
extern uint64_t my_waits;    // how often it waited, took a lock or wrote WAL

// Makes the running process the one in that place of its server, in a database. `role`: the
// settings that ALTER ROLE set.
void become_backend(int seat, int database, const Settings& role);
void end_backend(); // the running process leaves
void close_files(); // that it left open

// Loads the library, as the first call of one of its functions does.
void load_library();

// As SET does; false when it is refused.
bool set_setting(const char* name, const char* value);
// Takes over what the configuration says now, as after a reload.
void reload_settings();

void begin_transaction();
uint64_t assign_xid();
void end_transaction(bool commit);
// The same where an error ended it: locks too.
void abort_transaction();

// ROLLBACK TO SAVEPOINT, after an error.
void abort_subtransaction();

// Workers draw for the running transaction: until `my_parallel` is false again.
void lead_workers();
// The running process is a worker of the one in that place; its part ends, in an error or not.
void follow_leader(int place);
void end_worker(bool good);

// The running transaction becomes a prepared one. An error when there are too many.
void prepare_transaction(int transaction);
// Ends a prepared one of this database; false when there is none.
bool end_prepared(bool commit);
// As VACUUM FULL flakeid.state: a new file of it, until the transaction ends for this one alone.
// `anew`: what its row says instead of what it said.
void replace_state(flakeid::Durable (*anew)());

// Runs `body`; false when an error ended it.
template <typename Body>
bool survives_error(Body body)
{
    sigjmp_buf here_we_are;
    sigjmp_buf* volatile before = PG_exception_stack;
    volatile bool good = false;
    if (sigsetjmp(here_we_are, 0) == 0) {
        PG_exception_stack = &here_we_are;
        body();
        good = true;
    }
    PG_exception_stack = before;
    return good;
}

// What transactions see now; valid until the next call.
SnapshotData& take_snapshot();

// Asks a process to stop what it does, or to end, as soon as it looks.
void send_cancel(Process& process);
void send_terminate(Process& process);

// The running transaction ends for all others; or one that was prepared does.
extern void (*on_transaction_end)(bool committed);
extern void (*on_prepared_end)(int transaction, bool committed);

// A line that the server logged; the world may listen.
// Called before the row of a database is taken for flushed.
extern void (*on_row_flushed)(Server& server, int database, const StateFile& before,
                              const StateFile& after);
extern void (*on_log)(Server& server, const char* message);

} // namespace sim
