#include "leases/holder/worker.hpp"

#include "server/clock.hpp"
#include "core/layout.hpp"
#include "leases/holder/lease.hpp"
#include "settings/lease_settings.hpp"
#include "server/shared.hpp"

extern "C" {
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
}

namespace flakeid {

namespace {

constexpr int64_t start_limit_us =
    10 * us_per_s; // a lease worker that was asked for has begun by then
constexpr int restart_s = 1;

// One that a session starts is not restarted by the server: whatever ends it frees its slot, and
// the next session that needs a lease worker starts one.
BackgroundWorker describe_worker(int restart)
{
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = restart;
    strlcpy(worker.bgw_library_name, "flakeid", sizeof worker.bgw_library_name);
    strlcpy(worker.bgw_function_name, "flakeid_lease_worker_main", sizeof worker.bgw_function_name);
    strlcpy(worker.bgw_name, "flakeid lease worker", sizeof worker.bgw_name);
    strlcpy(worker.bgw_type, "flakeid lease worker", sizeof worker.bgw_type);
    return worker;
}

void detach(int, Datum)
{
    LeaseTable* table = shared_leases();
    locked(LW_EXCLUSIVE, [&] {
        if (table->worker_pid == MyProcPid) {
            table->worker_pid = 0;
            table->worker_latch = nullptr;
            table->worker_asked_at = steady_past;
        }
    });
}

void start()
{
    LeaseTable* table = shared_leases();
    const Steady now = steady_now();
    const bool ours = locked(LW_EXCLUSIVE, [&] {
        const bool free = table->worker_pid == 0 && (table->worker_asked_at == steady_past ||
                                                     // same with >=: a microsecond
                                                     now - table->worker_asked_at > start_limit_us);
        table->worker_asked_at = free ? now : table->worker_asked_at;
        return free;
    });
    BackgroundWorker worker = describe_worker(BGW_NEVER_RESTART);
    if (ours && !RegisterDynamicBackgroundWorker(&worker, nullptr)) {
        locked(LW_EXCLUSIVE, [&] { table->worker_asked_at = steady_past; });
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                errmsg("no worker process is free to take leases"),
                errhint("Raise max_worker_processes, now %d, or put flakeid into "
                        "shared_preload_libraries, so that it has one from the start.",
                        max_worker_processes));
    }
}

Ready wait_for_socket(int socket, bool to_read, bool to_write, Steady until, bool settled)
{
    Assert(!LWLockHeldByMe(AddinShmemInitLock));
    const int events = (to_read ? WL_SOCKET_READABLE : 0) | (to_write ? WL_SOCKET_WRITEABLE : 0);
    for (;;) {
        const int64_t left_us = until - steady_now();
        if (left_us <= 0) { // same with <: a microsecond
            return Ready::late;
        }
        const int happened = WaitLatchOrSocket(
            MyLatch, events | WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, socket,
            static_cast<long>((left_us + us_per_ms - 1) / us_per_ms), PG_WAIT_EXTENSION);
        if ((happened & WL_LATCH_SET) != 0) {
            ResetLatch(MyLatch);
        }
        if (worker_interrupted() && (!settled || ShutdownRequestPending)) {
            return Ready::interrupted;
        }
        if ((happened & events) != 0) {
            return Ready::yes;
        }
    }
}

} // namespace

bool worker_stopping;
const Waiter worker_waiter = {steady_now, wait_for_socket, worker_interrupted};

bool worker_interrupted()
{
    return !worker_stopping && (ShutdownRequestPending || ConfigReloadPending);
}

void worker_sleep(Steady until)
{
    const int64_t left_us = std::max<int64_t>(until - steady_now(), 0);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                    static_cast<long>((left_us + us_per_ms - 1) / us_per_ms), PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
}

bool worker_attach()
{
    LeaseTable* table = shared_leases();
    const bool alone = locked(LW_EXCLUSIVE, [&] {
        if (table->worker_pid != 0) {
            return false;
        }
        table->worker_pid = MyProcPid;
        table->worker_latch = MyLatch;
        return true;
    });
    if (alone) {
        before_shmem_exit(detach, 0);
    }
    return alone;
}

void tenure_call()
{
    const LeaseTable* table = shared_leases();
    const bool kept = locked(LW_SHARED, [&] {
        if (table->worker_pid != 0) {
            SetLatch(table->worker_latch);
        }
        return table->worker_pid != 0;
    });
    if (!kept) {
        start();
    }
}

void tenure_start()
{
    if (process_shared_preload_libraries_in_progress && has_coordinator()) {
        BackgroundWorker worker = describe_worker(restart_s);
        RegisterBackgroundWorker(&worker);
    }
}

} // namespace flakeid
