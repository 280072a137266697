#include "durable/horizon.hpp"

#include "durable/server_horizon.hpp"
#include "server/shared.hpp"

#include <algorithm>

namespace flakeid {

namespace {

using HorizonTable = SharedTable<Horizon, max_databases>;

void create(HorizonTable* table)
{
    pg_atomic_init_u32(&table->count, 0);
}

Shared<HorizonTable, create> shared;

void make_entry(Horizon& fresh)
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    pg_atomic_init_u32(&fresh.file, InvalidOid);
    for (int kind = 0; kind < horizon_kinds; kind++) {
        pg_atomic_init_u64(&fresh.bound[kind], 0);
        pg_atomic_init_u64(&fresh.floor[kind], 0);
        pg_atomic_init_u64(&fresh.extended_at[kind], 0);
        pg_atomic_init_u64(&fresh.row[kind], 0);
        pg_atomic_init_u64(&fresh.loaded_row[kind], 0);
        pg_atomic_init_u64(&fresh.reserved[kind], 0);
    }
    pg_atomic_init_u64(&fresh.version, 1);
    pg_atomic_init_u64(&fresh.nodes, 0);
    pg_atomic_init_u64(&fresh.least_us, 0);
    pg_atomic_init_u64(&fresh.assigned, 0);
    pg_atomic_init_u64(&fresh.assigned_changes, 0);
    pg_write_barrier();
    pg_atomic_write_u32(&fresh.database, MyDatabaseId);
}

bool is_mine(Horizon& horizon)
{
    return pg_atomic_read_u32(&horizon.database) == MyDatabaseId;
}

bool is_free(Horizon& horizon)
{
    return pg_atomic_read_u32(&horizon.database) == InvalidOid;
}

} // namespace

void horizon_init()
{
    shared.add();
    server_horizon_init();
}

int64_t published_least_us(Horizon* horizon)
{
    const auto least_us = static_cast<int64_t>(pg_atomic_read_u64(&horizon->least_us));
    return std::max(least_us, server_floors().least_us);
}

int64_t published_us(Horizon* horizon)
{
    int64_t us = static_cast<int64_t>(pg_atomic_read_u64(&horizon->least_us));
    for (int kind = 0; kind < horizon_kinds; kind++) {
        us = std::max({us, stamp_us(published_bound(horizon, kind)),
                       stamp_us(published_floor(horizon, kind))});
    }
    return us;
}

void forget_dropped()
{
    HorizonTable* table = shared.get();
    const uint32_t count = pg_atomic_read_u32(&table->count);
    pg_read_barrier();
    for (uint32_t i = 0; i < count; i++) {
        pg_atomic_uint32* owner = &table->entries[i].database;
        Oid database = pg_atomic_read_u32(owner);
        if (!SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(database))) {
            (void)pg_atomic_compare_exchange_u32(owner, &database, InvalidOid);
        }
    }
}

void raise_all_floors(int64_t us)
{
    HorizonTable* table = shared.get();
    const uint32_t count = pg_atomic_read_u32(&table->count);
    pg_read_barrier();
    for (uint32_t i = 0; i < count; i++) {
        Horizon& horizon = table->entries[i];
        if (is_free(horizon) || !is_loaded(&horizon)) {
            continue; // whoever loads it takes the floor of the server
        }
        for (int kind = 0; kind < horizon_kinds; kind++) {
            const Stamp begins =
                std::max(published_bound(&horizon, kind), published_floor(&horizon, kind));
            raise_to(&horizon.floor[kind], static_cast<uint64_t>(stamp_of(stamp_back(begins), us)));
        }
        horizon_moved(&horizon);
    }
}

Stamped reserved_by_others()
{
    Stamped reserved{};
    HorizonTable* table = shared.get();
    const uint32_t count = pg_atomic_read_u32(&table->count);
    pg_read_barrier();
    for (uint32_t i = 0; i < count; i++) {
        Horizon& other = table->entries[i];
        if (is_mine(other) || is_free(other)) {
            continue;
        }
        for (int kind = 0; kind < horizon_kinds; kind++) {
            take_stamp(&reserved, kind, Stamp{pg_atomic_read_u64(&other.reserved[kind])});
        }
    }
    return reserved;
}

Horizon* shared_horizon()
{
    HorizonTable* table = shared.get();
    Horizon* horizon = table->find_or_take(is_mine, make_entry, is_free);
    if (horizon == nullptr) {
        forget_dropped();
        horizon = table->find_or_take(is_mine, make_entry, is_free);
    }
    if (horizon == nullptr) {
        ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("ids were generated in %d databases already", max_databases),
                errdetail("Every database that generated ids since the server's start counts, "
                          "unless it was dropped."),
                errhint("Restart the server, or spread the databases over several servers."));
    }
    return horizon;
}

} // namespace flakeid
