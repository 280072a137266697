// Leases, as generators see them: with a coordinator, ids of a node are stamped inside its lease
// only.
//
// The keeper (keeper.cpp) takes and renews leases; sessions say which nodes they want, and read
// from when until when they may stamp. All of a table and of its leases is guarded by
// AddinShmemInitLock, but for the atomics. Order of a grant: start, node and token, and then the
// end. Of a release: end 0, close the slots of the node, so that a swap in flight fails, read the
// last stamp, then tell the coordinator. A closed slot is opened for a lease that is held, under
// the lock, at the first word of the lease or the one after the last word, whichever is larger: no
// word comes again, also of those that were drawn without a lease or under that of another realm,
// and a swap from before the release fails for ever.
#pragma once

#include "server.hpp"

namespace flakeid {

struct Slot;

constexpr int max_leases = 64;
constexpr uint32_t any_node = UINT32_MAX;
constexpr int lease_error_count = 8; // a lease's is that of its place modulo this
constexpr int lease_error_size = 240;
constexpr int coordinator_name_size = 128;

struct Lease {
    pg_atomic_uint64 end_us;  // exclusive; 0: not held. A renewal raises it
    pg_atomic_uint64 used_at; // steady clock: when a session last looked at it
    int64_t start_us;
    int64_t last_end_us; // of the lease held last; when it was given back, if that was earlier
    uint32_t wanted;     // node, or any_node
    uint32_t max_node;   // that any_node may become
    uint32_t node;       // that is or was held
    bool in_use;
    bool failing; // the last attempt to take or renew it failed
    unsigned char token[16];
};

struct LeaseTable {
    int keeper_pid; // 0: there is none
    Latch* keeper_latch;
    int64_t keeper_asked_at;   // steady clock: when a session began to start one; 0: none does
    pg_atomic_uint32 in_force; // not 0: slots are opened for leases only
    char coordinator[coordinator_name_size];
    char errors[lease_error_count][lease_error_size];
    Lease leases[max_leases];
};

struct LeaseView {
    bool same; // false: nobody wanted it for long, and it is another one now
    bool held;
    uint32_t node; // that is or was held
    int64_t start_us, end_us;
    int64_t last_end_us; // 0: none was held
};

// The lease of a node, or for any_node of any node up to max_node. When all are taken an error, or
// with `or_none` nullptr.
Lease* lease_want(uint32_t node, uint32_t max_node, bool or_none);

// The lease as it is now.
LeaseView lease_view(Lease* lease, uint32_t wanted);

// Opens the slot of a lease that was viewed as held. False when it is not held any more: view
// again.
bool lease_open(Lease* lease, const LeaseView& view, Slot* slot, uint64_t first_word);

// Asks the keeper to take the lease, and starts a keeper if there is none.
void lease_call(Lease* lease);

// Lets the keeper look at the settings, and starts one if there is none.
void keeper_call();

// Why a lease is not held or not renewed; palloc'ed. Empty when no attempt failed.
const char* lease_error(const Lease* lease);
bool lease_failing(const Lease* lease);

// The coordinator as messages name it: hosts and database, never the whole connection string.
const char* lease_coordinator();

// The keeper's part.

// From now on slots are opened for leases only; all are closed.
void lease_begin_force();
// Slots are open to everyone again.
void lease_end_force();
void lease_grant(Lease* lease, uint32_t node, const unsigned char* token, int64_t start_us,
                 int64_t end_us);
void lease_extend(Lease* lease, int64_t end_us);
// Ends a lease here: no id is stamped any more. Returns the last moment that one was stamped in, or
// the start.
int64_t lease_close(Lease* lease);
// Nobody wants it any more.
void lease_forget(Lease* lease);
// Remembers why it is not held or not renewed, until it is.
void lease_set_error(Lease* lease, const char* error);

// Once a session, when this database takes part in logical replication with the default node.
void warn_of_replication();

constexpr char coordinator_hint[] = "Write a connection string such as host=ids.example.com "
                                    "dbname=ids user=shop, and keep the password "
                                    "in a passfile.";

// Reads a connection string. False with a reason when it is none or holds a password; otherwise
// `name` gets what messages call it.
bool read_coordinator(const char* conninfo, char* name, size_t size, const char** reason);

// Starts the keeper; an error when all worker processes are taken.
void keeper_start();
void keeper_init();

} // namespace flakeid
