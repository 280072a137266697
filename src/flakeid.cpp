#include "clock_watch.hpp"
#include "guc.hpp"
#include "horizon.hpp"
#include "lease_settings.hpp"
#include "lease_table.hpp"
#include "marks.hpp"
#include "node.hpp"
#include "secret.hpp"
#include "settings.hpp"
#include "shared.hpp"
#include "slots.hpp"
#include "stats.hpp"
#include "worker.hpp"

extern "C" {
#include "access/xact.h"
}

FLAKEID_EXPORT(PG_MODULE_MAGIC; void _PG_init(void);)

using namespace flakeid;

namespace {

// A query that runs in parallel may be the first that needs the library, to print an id. The server
// would drop what the settings were set to before, since it lets nobody set any then.
void leave_parallel_mode()
{
    ExitParallelMode();
    if (IsInParallelMode()) {
        EnterParallelMode();
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the flakeid library cannot be loaded in a parallel query"),
                errdetail("The settings flakeid.* would be lost."),
                errhint("Run LOAD 'flakeid' first, or add flakeid to shared_preload_libraries and "
                        "restart the server."));
    }
}

} // namespace

void _PG_init(void)
{
    const bool parallel = IsInParallelMode();
    if (parallel) {
        leave_parallel_mode();
    }
    guc_begin();
    settings_init();
    node_init();
    lease_settings_init();
    secret_init();
    guc_end();
    if (parallel) {
        EnterParallelMode();
    }
    clock_watch_init();
    lease_table_init();
    slots_init();
    horizon_init();
    stats_init();
    marks_init();
    shared_init();
    worker_init();
}
