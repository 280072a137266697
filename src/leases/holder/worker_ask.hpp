// What the lease worker asks the coordinator for one lease, and what it makes of the answer.
#pragma once

#include "leases/rules/backoff.hpp"
#include "leases/holder/lease.hpp"
#include "leases/holder/worker.hpp"

namespace flakeid {

// What the lease worker remembers of one lease.
struct Care {
    Attempts attempts;
    bool refused;   // the coordinator said that it is not to be renewed
    uint64_t words; // lease_words() at the last look
};

// The way to the coordinator.
struct Asking {
    Coordinator coordinator;
    const char* realm; // that the leases are of
    Attempts connecting;
    Attempts telling;     // what was given back
    bool away;            // the log says so already
    Steady patient_until; // till then a node in use is one just given back
    Care cares[max_leases];
};
extern Asking asking;

// Plans the next attempt after a failed one.
void try_later(Attempts& attempts);

// For a while, a node in use is one just given back.
void be_patient();

// A connection is left, and nothing of the last one counts.
void leave_coordinator();

// Tells whether a held lease begins so far ahead of this server's clock that another one may begin
// earlier: the coordinator's clock was wrong, or this one was, and is right again.
bool begins_too_late(int64_t start_us);

void acquire(Lease* lease, Care& care);
void renew(Lease* lease, Care& care);

// Gives a node back whose ids lie ahead of the clock, so that another one comes. False where the
// coordinator cannot be asked for one.
bool leave_node(Lease* lease);

// Gives a lease back that is closed, and tells the coordinator its last moment.
void release(const Lease* lease, int64_t last_us);

// Tells the coordinator again what was given back, until it has answered: when a lease has ended,
// it alone knows. Returns when the next attempt is due.
Steady tell_again();

// Closes all leases, and gives them back. Those of which the coordinator cannot be told now are
// kept for whoever goes on in this data directory and realm.
void release_all();

static_assert(is_plain<Care, Asking>);

} // namespace flakeid
