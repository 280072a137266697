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

FLAKEID_EXPORT(PG_MODULE_MAGIC; void _PG_init(void);)

using namespace flakeid;

void _PG_init(void)
{
    guc_begin();
    settings_init();
    node_init();
    lease_settings_init();
    secret_init();
    guc_end();
    clock_watch_init();
    lease_table_init();
    slots_init();
    horizon_init();
    stats_init();
    marks_init();
    shared_init();
    worker_init();
}
