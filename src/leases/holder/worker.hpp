// The process that the lease worker runs in: started when it is needed, one at a time.
#pragma once

#include "leases/remote/coordinator.hpp"
#include "server/postgres.hpp"

namespace flakeid {

// The lease worker's part.

// What the library flakeid_libpq has; it is there whenever has_coordinator().
extern const Client* client;

inline void disconnect(Coordinator& c)
{
    if (c.connection != nullptr) {
        client->disconnect(c);
    }
}

// Makes this process the lease worker; false when there is one already.
bool worker_attach();

// While the lease worker gives everything back, nothing interrupts it.
extern bool worker_stopping;

// Tells whether the lease worker is to stop or to read the settings anew.
bool worker_interrupted();

// Sleeps until that moment, or until the latch is set.
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
