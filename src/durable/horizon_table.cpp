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
        pg_atomic_init_u64(&fresh.kept[kind], 0);
        pg_atomic_init_u64(&fresh.begun[kind], 0);
        pg_atomic_init_u64(&fresh.relied[kind], 0);
    }
    pg_atomic_init_u64(&fresh.version, 1);
    pg_atomic_init_u64(&fresh.nodes, 0);
    pg_atomic_init_u64(&fresh.least_us, 0);
    pg_write_barrier();
    fresh.database = MyDatabaseId;
}

bool is_mine(const Horizon& horizon)
{
    return horizon.database == MyDatabaseId;
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
        Horizon& other = table->entries[i];
        const Oid database = other.database;
        if (SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(database))) {
            continue;
        }
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        if (other.database == database) {
            for (pg_atomic_uint64& relied : other.relied) {
                pg_atomic_write_u64(&relied, 0);
            }
        }
        LWLockRelease(AddinShmemInitLock);
    }
}

void raise_all_floors(int64_t us)
{
    HorizonTable* table = shared.get();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const uint32_t count = pg_atomic_read_u32(&table->count);
    for (uint32_t i = 0; i < count; i++) {
        Horizon& horizon = table->entries[i];
        if (!is_loaded(&horizon)) {
            continue; // whoever loads it takes the floor of the server
        }
        for (int kind = 0; kind < horizon_kinds; kind++) {
            const Stamp begins =
                std::max(published_bound(&horizon, kind), published_floor(&horizon, kind));
            raise_to(&horizon.floor[kind], static_cast<uint64_t>(stamp_of(stamp_back(begins), us)));
        }
        horizon_moved(&horizon);
    }
    LWLockRelease(AddinShmemInitLock);
}

Stamped relied_by_others()
{
    Stamped relied{};
    HorizonTable* table = shared.get();
    const uint32_t count = pg_atomic_read_u32(&table->count);
    pg_read_barrier();
    for (uint32_t i = 0; i < count; i++) {
        Horizon& other = table->entries[i];
        if (other.database == MyDatabaseId) {
            continue;
        }
        for (int kind = 0; kind < horizon_kinds; kind++) {
            take_stamp(&relied, kind, Stamp{pg_atomic_read_u64(&other.relied[kind])});
        }
    }
    return relied;
}

Horizon* shared_horizon()
{
    HorizonTable* table = shared.get();
    Horizon* horizon = table->find_or_take(is_mine, make_entry);
    // When all are taken, the entry of a dropped database is: no session of it is left.
    for (int i = 0; horizon == nullptr && i < max_databases; i++) {
        Horizon& other = table->entries[i];
        const Oid database = other.database;
        if (SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(database))) {
            continue;
        }
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        horizon = table->find(is_mine);
        if (horizon == nullptr && other.database == database) {
            make_entry(other);
            horizon = &other;
        }
        LWLockRelease(AddinShmemInitLock);
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
