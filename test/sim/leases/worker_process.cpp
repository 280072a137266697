// The functions of PostgreSQL that a background worker calls.
#include "leases/worker_process.hpp"

#include "backend.hpp"
#include "checker.hpp"
#include "leases/manners.hpp"
#include "leases/network.hpp"
#include "leases/truth.hpp"

extern "C" {
#include "common/pg_prng.h"
#include "libpq/pqsignal.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

void flakeid_lease_worker_main(Datum);
}

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace sim {

namespace {

constexpr int most_exits = 4;
constexpr int worker_seat = most_backends - 2;

PROCESS_LOCAL pg_on_exit_callback my_exits[most_exits] = {nullptr};
PROCESS_LOCAL int my_exit_count = 0;

struct Worker {
    Process* process = nullptr;
    bool registered = false; // from the start
    bool closed = false;     // the server stops, and starts none
    int64_t began_us = 0;
};
Worker workers[most_servers];

void worker()
{
    become_backend(worker_seat, 0, {});
    load_library();
    settings_are_read();
    may_connect();
    flakeid_lease_worker_main(0);
    broken_for_good("the lease worker returns");
}

} // namespace

Process* lease_worker(Server& server)
{
    return workers[server.number].process;
}

void start_worker(Server& server, int64_t at)
{
    workers[server.number].began_us = at;
    workers[server.number].process = &spawn(server, "lease worker", worker, server.image, at);
}

int64_t worker_began(Server& server)
{
    return workers[server.number].began_us;
}

bool worker_is_registered(const Server& server)
{
    return workers[server.number].registered;
}

void stop_worker(Server& server)
{
    workers[server.number].closed = true;
    terminate_worker(server);
}

void terminate_worker(Server& server)
{
    if (Process* process = lease_worker(server)) {
        signal_worker(*process, ShutdownRequestPending);
    }
}

void forget_worker(Server& server)
{
    workers[server.number] = Worker{};
}

void signal_worker(Process& process, volatile sig_atomic_t& pending)
{
    of(process, pending) = 1;
    Latch* latch = of(process, MyLatch);
    if (latch != nullptr) {
        SetLatch(latch);
    }
}

} // namespace sim

using namespace sim;

extern "C" {

PROCESS_LOCAL volatile sig_atomic_t ShutdownRequestPending = 0;
PROCESS_LOCAL volatile sig_atomic_t ConfigReloadPending = 0;
int max_worker_processes = 8;
pg_prng_state pg_global_prng_state;
static uint32 wait_event;
uint32* my_wait_event_info = &wait_event;

double pg_prng_double(pg_prng_state*)
{
    return static_cast<double>(running->random.next() >> 11) /
           static_cast<double>(UINT64_C(1) << 53);
}

pqsigfunc pqsignal(int, pqsigfunc)
{
    return nullptr;
}

void SignalHandlerForConfigReload(int) {}
void SignalHandlerForShutdownRequest(int) {}
void BackgroundWorkerUnblockSignals(void) {}

void before_shmem_exit(pg_on_exit_callback callback, Datum)
{
    Assert(my_exit_count < most_exits);
    my_exits[my_exit_count++] = callback;
}

void proc_exit(int)
{
    for (int i = my_exit_count; i > 0; i--) {
        my_exits[i - 1](0, 0);
    }
    worker_ends();
    forget_connections(here().number);
    note("the lease worker ends");
    workers[here().number].process = nullptr;
    end_backend();
    kill(*running);
    abort();
}

void ProcessConfigFile(GucContext)
{
    reload_settings();
    settings_are_read();
    may_connect();
}

MemoryContext AllocSetContextCreateInternal(MemoryContext, const char*, Size, Size, Size)
{
    return CurrentMemoryContext;
}

// What the lease worker took in one turn of its loop.
void MemoryContextReset(MemoryContext)
{
    my_used = 0;
    turn_ends();
}

bool RegisterDynamicBackgroundWorker(BackgroundWorker*, BackgroundWorkerHandle**)
{
    Server& server = here();
    if (lease_worker(server) == nullptr && !workers[server.number].closed) {
        start_worker(server, true_us + running->random.below(running->random.one_in(10) ? 2 * second
                                                                                        : 20 * ms));
    }
    return true;
}

void RegisterBackgroundWorker(BackgroundWorker*)
{
    workers[here().number].registered = true;
}

} // extern "C"
