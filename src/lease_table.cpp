#include "lease_table.hpp"

#include "shared.hpp"

namespace flakeid {

namespace {

void create(LeaseTable* table)
{
    pg_atomic_init_u32(&table->in_force, 0);
    for (LeaseText& text : table->texts) {
        text.lease = -1;
    }
    for (Lease& lease : table->leases) {
        pg_atomic_init_u64(&lease.end_us, 0);
        pg_atomic_init_u64(&lease.used_at, 0);
    }
}

Shared<LeaseTable, create> shared;

} // namespace

void lease_table_init()
{
    shared.add();
}

LeaseTable* shared_leases()
{
    return shared.get();
}

} // namespace flakeid
