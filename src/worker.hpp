// The process that the keeper of leases runs in: started when it is needed, one at a time.
#pragma once

#include "coordinator.hpp"
#include "postgres.hpp"

namespace flakeid {

struct Lease;

// Asks the keeper to take a lease, and starts a keeper if there is none; an error when all worker
// processes are taken.
void lease_call(Lease* lease);

// Lets the keeper look at the settings, and starts one if there is none.
void keeper_call();

// In a preloaded server with a coordinator the keeper starts with it.
void worker_init();

// The keeper's part.

// Makes this process the keeper; false when there is one already.
bool worker_attach();

// While the keeper gives everything back, nothing interrupts it.
extern bool worker_stopping;

// True when the keeper is to stop or to read the settings anew.
bool worker_interrupted();

// Until that moment, or until the latch is set.
void worker_sleep(Steady until);

// Waits on the latch too; sessions that set it do not end a wait.
extern const Waiter worker_waiter;

// Does something in which an error of the server is no more than a line in its log: then it is
// false. `action` holds nothing that a jump out of it would leak.
template <typename Action>
bool survives(Action action)
{
    MemoryContext context = CurrentMemoryContext;
    volatile bool good = false;
    PG_TRY();
    {
        action();
        good = true;
    }
    PG_CATCH();
    {
        LWLockReleaseAll();
        EmitErrorReport();
        MemoryContextSwitchTo(context);
        FlushErrorState();
        pgstat_report_wait_end();
    }
    PG_END_TRY();
    return good;
}

} // namespace flakeid
