#include "durable/horizon.hpp"

#include "server/clock.hpp"
#include "durable/clock_watch.hpp"
#include "durable/durable.hpp"
#include "server/messages.hpp"
#include "server/shared.hpp"
#include "settings/settings.hpp"
#include "server/stats.hpp"

extern "C" {
#include "commands/extension.h"
}

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
    }
    pg_write_barrier();
    fresh.database = MyDatabaseId;
}

bool is_mine(const Horizon& horizon)
{
    return horizon.database == MyDatabaseId;
}

void raise_stamp(pg_atomic_uint64* shared, Stamp stamp)
{
    raise_to(shared, static_cast<uint64_t>(stamp));
}

// No id was stamped after it in this life of the server.
Stamp known_stamp(Horizon* horizon, int kind)
{
    return std::max(published_bound(horizon, kind), published_floor(horizon, kind));
}

bool is_loaded(Horizon* horizon)
{
    return published_bound(horizon, back_horizon) != no_stamp;
}

// flakeid.max_ahead of the database or the configuration, not what this session has set.
int64_t reach_us()
{
    return strtol(GetConfigOptionResetString("flakeid.max_ahead"), nullptr, 10) * us_per_ms;
}

void tell_of_copy(const Durable& durable, const Origin& here)
{
    if (durable.stamp[plain_horizon] + durable.stamp[back_horizon] != 0 &&
        durable.origin.timeline == here.timeline && durable.origin.place != here.place) {
        ereport(LOG,
                errmsg("the files of database \"%s\" were copied or moved since it made ids",
                       get_database_name(MyDatabaseId)),
                errdetail("Ids begin past its horizon and flakeid.max_ahead ahead of the clock."),
                errhint("If the server that they come from goes on making ids, give this one "
                        "another flakeid.node."));
    }
}

enum class Loaded { yes, replacing, lost };

// Loads the horizon after a start. Where several sessions do this at once, the first one counts: it
// extends the horizon only after its floor is published, so that no other one mistakes that
// extension for the floor.
Loaded load(Horizon* horizon)
{
    if (is_loaded(horizon)) {
        return Loaded::yes;
    }
    Durable durable;
    DurablePage page = durable_open(BUFFER_LOCK_SHARE);
    const bool known = durable_read(page, &durable) && durable.lost == 0;
    durable_flush(page);
    const bool replacing = durable_may_go_back(page);
    if (known && !replacing) {
        const Origin here = durable_origin_here();
        tell_of_copy(durable, here);
        Assert(durable_is_flushed(page));
        pg_atomic_write_u32(&horizon->file, durable_file(page));
        for (int kind = 0; kind < horizon_kinds; kind++) {
            const Stamp floor = floor_at_start(stamp_of_number(durable.stamp[kind]), durable.origin,
                                               here, wall_us(), reach_us());
            uint64_t unloaded = 0;
            pg_atomic_compare_exchange_u64(&horizon->floor[kind], &unloaded,
                                           static_cast<uint64_t>(floor));
            uint64_t bound = 0;
            pg_atomic_compare_exchange_u64(&horizon->bound[kind], &bound,
                                           pg_atomic_read_u64(&horizon->floor[kind]));
        }
    }
    durable_close(page);
    return replacing ? Loaded::replacing : known ? Loaded::yes : Loaded::lost;
}

// Lets `alter` alter the numbers and the floors, makes them durable, and publishes them. False when
// they are not published, because this transaction replaces the state, or nothing is loaded.
//
// A floor is published before its page is written, because any session that extends publishes the
// bound that it finds on the page; and it moves the bound in any case, because sessions look at the
// floor only when the bound has moved.
template <typename Alter>
bool change(Horizon* horizon, Alter alter)
{
    const bool loaded = is_loaded(horizon);
    Stamp bound[horizon_kinds] = {};
    Oid file = InvalidOid;
    bool other_file = false;
    const Origin here = durable_origin_here();
    const DurableChange made = durable_change([&](const DurablePage& page, Durable& durable) {
        const Durable before = durable;
        Stamp floor[horizon_kinds] = {};
        Stamp known[horizon_kinds] = {};
        file = durable_file(page);
        other_file = loaded && pg_atomic_read_u32(&horizon->file) != file;
        for (int kind = 0; kind < horizon_kinds; kind++) {
            bound[kind] = published_bound(horizon, kind);
            known[kind] = known_stamp(horizon, kind);
            // A file that says more than is known says what a restore put there.
            const auto stamp = stamp_of_number(before.stamp[kind]);
            floor[kind] = other_file && stamp > known[kind] ? stamp : no_stamp;
        }
        alter(durable, floor);
        if (durable.lost != 0) {
            durable = before;
            return;
        }
        for (int kind = 0; kind < horizon_kinds; kind++) {
            Stamp stamp = std::max(stamp_of_number(durable.stamp[kind]), known[kind]);
            if (floor[kind] != no_stamp) {
                stamp = raised_stamp(stamp, known[kind], floor[kind]);
                if (loaded) {
                    raise_stamp(&horizon->floor[kind], floor[kind]);
                }
            }
            Assert(stamp >= known[kind] && stamp >= stamp_of_number(before.stamp[kind]));
            durable.stamp[kind] = stamp_number(stamp);
        }
        if (loaded || before.lost != 0) {
            durable.origin = here; // otherwise the next one who loads it allows for what is missed
        }
    });
    if (made.durable.lost != 0) {
        throw_state_lost();
    }
    const bool published = loaded && !(other_file && durable_may_go_back(made.page));
    for (int kind = 0; published && kind < horizon_kinds; kind++) {
        const auto stamp = stamp_of_number(made.durable.stamp[kind]);
        if (stamp > bound[kind]) {
            Assert(durable_is_flushed(made.page));
            raise_to(&horizon->extended_at[kind], static_cast<uint64_t>(steady_now()));
            raise_stamp(&horizon->bound[kind], stamp);
        }
    }
    if (published) {
        pg_atomic_write_u32(&horizon->file, file);
    }
    durable_close(made.page);
    if (made.changed) {
        count(Counter::extensions);
    }
    return published;
}

void refuse_where_replaced()
{
    DurablePage page = durable_open(BUFFER_LOCK_SHARE);
    durable_flush(page);
    if (durable_may_go_back(page)) {
        throw_state_replaced();
    }
    durable_close(page);
}

// Nothing can be issued any more until whoever extends publishes a bound, and then every session
// looks at the floor. Ids begin past the bound that was good until now, which state_now() may need.
void withdraw_bounds(Horizon* horizon)
{
    for (int kind = 0; kind < horizon_kinds; kind++) {
        raise_stamp(&horizon->floor[kind], published_bound(horizon, kind));
        pg_write_barrier();
        pg_atomic_write_u64(&horizon->bound[kind], static_cast<uint64_t>(least_stamp));
    }
}

// Makes ids begin past the stamp that `floor_of` gives for each kind. A transaction that replaces
// the state cannot publish a bound for it, so it withdraws the one that sessions have: they may go
// on only when it has ended.
template <typename FloorOf>
void raise(FloorOf floor_of)
{
    refuse_in_recovery();
    Horizon* horizon = shared_horizon();
    (void)load(horizon);
    const bool published = change(horizon, [&](Durable& durable, Stamp* floor) {
        for (int kind = 0; kind < horizon_kinds; kind++) {
            const Stamp latest =
                std::max(stamp_of_number(durable.stamp[kind]), known_stamp(horizon, kind));
            floor[kind] = std::max(floor[kind], floor_of(kind, latest));
        }
        durable.lost = 0;
    });
    if (!published && is_loaded(horizon)) {
        withdraw_bounds(horizon);
    }
}

} // namespace

void refuse_in_recovery()
{
    if (RecoveryInProgress()) {
        ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                errmsg("cannot generate ids during recovery"),
                errhint("Generate ids on the primary, or promote this server."));
    }
}

void horizon_init()
{
    shared.add();
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

Horizon* horizon_attach()
{
    refuse_in_recovery();
    Horizon* horizon = shared_horizon();
    switch (load(horizon)) {
    case Loaded::yes:
        break;
    case Loaded::replacing:
        throw_state_replaced();
    case Loaded::lost:
        throw_state_lost();
    }
    return horizon;
}

int64_t horizon_extend(Horizon* horizon, HorizonKind kind, Stamp needed, int64_t now_us)
{
    observe_clock();
    check_leap(now_us);
    const Stamp wanted = wanted_stamp(needed, now_us, settings.max_ahead_us);
    int64_t wait_us = 0;
    const bool published = change(horizon, [&](Durable& durable, Stamp*) {
        const auto last = static_cast<Steady>(pg_atomic_read_u64(&horizon->extended_at[kind]));
        const Extension next =
            extension(stamp_of_number(durable.stamp[kind]), published_bound(horizon, kind), needed,
                      wanted, last == steady_past ? -1 : steady_now() - last);
        durable.stamp[kind] = stamp_number(next.stamp);
        wait_us = next.wait_us;
    });
    if (!published) {
        throw_state_replaced();
    }
    return wait_us;
}

void horizon_raise(int64_t us)
{
    refuse_where_replaced();
    raise([&](int, Stamp latest) { return stamp_of(stamp_back(latest), us); });
}

void horizon_restore(HorizonKind kind, Stamp stamp)
{
    // A rollback that undoes this undoes the rows that came with it too.
    raise([&](int of, Stamp) { return of == kind ? stamp : no_stamp; });
}

bool horizon_repair(int64_t now_us)
{
    Horizon* horizon = horizon_attach();
    const int64_t right_us = now_us + settings.max_ahead_us;
    bool ahead = false;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        ahead = ahead || stamp_us(known_stamp(horizon, kind)) > right_us;
    }
    if (!ahead) {
        return false;
    }
    refuse_where_replaced();
    // Shuts out whoever extends; nobody else has a lock on the state.
    const DurableChange made = durable_change(
        [&](const DurablePage&, Durable& durable) {
            for (int kind = 0; durable.lost == 0 && kind < horizon_kinds; kind++) {
                const Stamp stamp =
                    std::max(stamp_of_number(durable.stamp[kind]), known_stamp(horizon, kind));
                durable.stamp[kind] = stamp_number(repaired_stamp(stamp, right_us));
            }
        },
        AccessExclusiveLock);
    if (made.durable.lost != 0) {
        throw_state_lost();
    }
    Assert(durable_is_flushed(made.page));
    for (int kind = 0; kind < horizon_kinds; kind++) {
        const auto stamp = static_cast<uint64_t>(made.durable.stamp[kind]);
        pg_atomic_write_u64(&horizon->floor[kind], stamp);
        pg_atomic_write_u64(&horizon->bound[kind], stamp);
    }
    pg_atomic_write_u32(&horizon->file, durable_file(made.page));
    durable_close(made.page, AccessExclusiveLock);
    return true;
}

bool horizon_remembered(int64_t* stamp)
{
    Horizon* horizon = shared_horizon();
    for (int kind = 0; kind < horizon_kinds; kind++) {
        stamp[kind] = std::max(stamp[kind], stamp_number(known_stamp(horizon, kind)));
    }
    return is_loaded(horizon);
}

} // namespace flakeid
