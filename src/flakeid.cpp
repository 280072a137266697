// What the server calls when it loads the library: each room declares its settings and adds its
// part of the shared memory. Settings come first, since what follows looks at them; the memory is
// asked for when all parts are known, and the lease worker is started in it.
#include "durable/clock_watch.hpp"
#include "server/guc.hpp"
#include "durable/horizon.hpp"
#include "settings/lease_settings.hpp"
#include "slots/pins.hpp"
#include "settings/node.hpp"
#include "settings/secret.hpp"
#include "settings/settings.hpp"
#include "server/shared.hpp"
#include "slots/slots.hpp"
#include "slots/tenure.hpp"
#include "server/stats.hpp"

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
    tenure_init();
    slots_init();
    horizon_init();
    stats_init();
    pins_init();
    shared_init();
    tenure_start();
}
