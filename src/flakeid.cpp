#include "settings.hpp"
#include "shared.hpp"
#include "worker.hpp"

FLAKEID_EXPORT(PG_MODULE_MAGIC; void _PG_init(void);)

void _PG_init(void)
{
    flakeid::settings_init();
    flakeid::shared_init();
    flakeid::worker_init();
}
