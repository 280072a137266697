#include "durable/horizon.hpp"

#include "server/clock.hpp"
#include "durable/clock_watch.hpp"
#include "durable/durable.hpp"
#include "durable/remembered.hpp"
#include "durable/server_horizon.hpp"
#include "server/extension.hpp"
#include "server/messages.hpp"
#include "server/shared.hpp"
#include "settings/settings.hpp"
#include "server/stats.hpp"

namespace flakeid {

namespace {

void raise_stamp(pg_atomic_uint64* shared, Stamp stamp)
{
    raise_to(shared, static_cast<uint64_t>(stamp));
}

// Returns what no id of the kind was stamped after. A floor alone is of all kinds.
Stamp high_water(Horizon* horizon, int kind)
{
    const Stamp bound = published_bound(horizon, kind);
    // same with >=: the next start is past it
    return bound > published_floor(horizon, kind) ? bound : row_stamp(horizon, kind);
}

// The next extension comes a second later.
void remember_extension(Horizon* horizon, int kind)
{
    raise_to(&horizon->extended_at[kind], static_cast<uint64_t>(steady_now()));
}

// What must hold whenever somebody publishes (horizon.hpp): ids may come only where row and file
// say as much. Nothing is said of numbers that moved meanwhile.
[[maybe_unused]] bool holds(Horizon* horizon, int kind)
{
    const uint64_t version = horizon_version(horizon);
    pg_read_barrier();
    const Stamp bound = published_bound(horizon, kind); // first: all that follows only rises
    const Stamp floor = published_floor(horizon, kind);
    const Stamp reserved{pg_atomic_read_u64(&horizon->reserved[kind])};
    // same with <: an assertion
    const bool covered = loaded_row_stamp(horizon, kind) <= floor &&
                         // same with first <, second <: an assertion
                         bound <= row_stamp(horizon, kind) && bound <= reserved &&
                         // same with <: an assertion
                         (bound <= server_bound(kind) || !server_is_repaired());
    pg_read_barrier();
    // same with <: an assertion
    return bound <= floor || covered || horizon_version(horizon) != version;
}

enum class Loaded { yes, replacing, lost };

// Loads the horizon after a start. Where several sessions do this at once, the first one counts:
// what another one has read may be an extension, which is no floor.
Loaded load(Horizon* horizon)
{
    if (is_loaded(horizon)) {
        return Loaded::yes;
    }
    require_known_objects(extension_name);
    Durable durable;
    DurablePage page = durable_open(BUFFER_LOCK_SHARE);
    const bool known = durable_read(page, &durable) && durable.lost == 0;
    durable_flush(page);
    const bool replacing = durable_may_go_back(page);
    if (known && !replacing) {
        const Origin here = server_origin(durable.origin.incarnation != 0);
        const Stamped& row = durable.stamped;
        const bool ours = same_origin(durable.origin, here);
        // Of a database that is new in a server that took another one's place, too: load() of the
        // server, which the lease worker may be the first to call, sees no catalog.
        const int64_t until_us =
            ours && server_knows_roles() ? 0 : server_take_over_at_start(row.most_ahead_us);
        const int64_t lost_until_us = ours ? 0 : until_us;
        server_learn_most_ahead(row.most_ahead_us);
        Assert(durable_is_flushed(page));
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE); // beside whoever raises all floors
        if (!is_loaded(horizon)) {
            const Floors floors = later(server_floors(), floors_at_start(row, lost_until_us));
            // same without: the next extension finds it
            pg_atomic_write_u32(&horizon->file, durable_file(page));
            set(&horizon->nodes, row.nodes);          // same without: written once more
            set(&horizon->least_us, floors.least_us); // same without: the first extension raises it
            for (int kind = 0; kind < horizon_kinds; kind++) {
                const Stamp floor = floors.stamp[kind];
                const Stamp stamp = stamp_of_number(row.stamp[kind]);
                set(&horizon->row[kind], stamp_number(stamp));
                set(&horizon->floor[kind], stamp_number(floor));
                set(&horizon->loaded_row[kind], stamp_number(std::max(stamp, least_stamp)));
                raise_stamp(&horizon->bound[kind], floor); // that of back last, see is_loaded()
            }
        }
        LWLockRelease(AddinShmemInitLock);
    }
    durable_close(page);
    return replacing ? Loaded::replacing : known ? Loaded::yes : Loaded::lost;
}

struct Changed {
    bool published;
    int64_t wait_us; // until the file of the server can reach further; 0: it does
};
static_assert(is_plain<Changed>);

// Reserves what the database relies on from now on: the file of the server says it, and whoever
// repairs another database leaves it there. What lies below a floor is not reserved.
int64_t cover(Horizon* horizon, const Stamped& stamped, bool at_once, int64_t now_us)
{
    Stamped wanted{};
    wanted.most_ahead_us = stamped.most_ahead_us;
    wanted.nodes = stamped.nodes;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        const auto stamp = stamp_of_number(stamped.stamp[kind]);
        if (stamp > published_floor(horizon, kind)) {
            take_stamp(&wanted, kind, stamp);
            raise_stamp(&horizon->reserved[kind], stamp);
        }
    }
    return server_cover(wanted, at_once, now_us, settings.max_ahead_us);
}

// Lets `alter` alter the numbers and the floors, makes them durable, and publishes them as far as
// the file of the server reaches, which `at_once` makes reach all of it. They are not published
// when this transaction replaces the state, or nothing is loaded.
//
// A floor is published before its page is written, because any session that extends publishes the
// bound that it finds on the page.
template <typename Alter>
Changed change(Horizon* horizon, bool at_once, Alter alter)
{
    const bool loaded = is_loaded(horizon);
    Stamp bound[horizon_kinds] = {};
    Oid file = InvalidOid;
    bool other_file = false;
    bool moved = false;
    const Origin here = server_origin(true);
    const DurableChange made = durable_change([&](const DurablePage& page, Durable& durable) {
        const Durable before = durable;
        Stamp floor[horizon_kinds] = {};
        Stamp known[horizon_kinds] = {};
        file = durable_file(page);
        other_file = loaded && pg_atomic_read_u32(&horizon->file) != file;
        for (int kind = 0; kind < horizon_kinds; kind++) {
            bound[kind] = published_bound(horizon, kind);
            known[kind] = high_water(horizon, kind);
            // A file that says more than is known says what a restore put there.
            const auto stamp = stamp_of_number(before.stamped.stamp[kind]);
            // same with >=: a gap
            floor[kind] = other_file && stamp > known[kind] ? stamp : no_stamp;
        }
        alter(durable, floor);
        if (durable.lost != 0) {
            durable = before;
            return;
        }
        if (loaded) {
            raise_to(&horizon->least_us, static_cast<uint64_t>(durable.stamped.least_us));
            durable.stamped.least_us = static_cast<int64_t>(pg_atomic_read_u64(&horizon->least_us));
        }
        for (int kind = 0; kind < horizon_kinds; kind++) {
            // same with min: the row says no less
            Stamp stamp = std::max(stamp_of_number(durable.stamped.stamp[kind]), known[kind]);
            if (floor[kind] != no_stamp) {
                moved = true;
                stamp = std::max(stamp, floor[kind]);
                if (loaded) {
                    raise_stamp(&horizon->floor[kind], floor[kind]);
                }
            }
            Assert(stamp >= known[kind] && stamp >= stamp_of_number(before.stamped.stamp[kind]));
            take_stamp(&durable.stamped, kind, stamp);
            if (loaded && durable.stamped.stamp[kind] > before.stamped.stamp[kind]) {
                remember_extension(horizon, kind); // now, and again when it is flushed
            }
        }
        if (loaded || before.lost != 0) {
            durable.origin = here; // otherwise the next one who loads it allows for what is missed
        }
    });
    if (made.durable.lost != 0) {
        throw_state_lost();
    }
    Changed changed{loaded && !(other_file && durable_may_go_back(made.page)), 0};
    if (changed.published) {
        for (int kind = 0; kind < horizon_kinds; kind++) {
            const auto stamp = stamp_of_number(made.durable.stamped.stamp[kind]);
            if (stamp > row_stamp(horizon, kind)) {
                remember_extension(horizon, kind);
                raise_stamp(&horizon->row[kind], stamp);
            }
        }
        changed.wait_us = cover(horizon, made.durable.stamped, at_once, wall_us());
        for (int kind = 0; kind < horizon_kinds; kind++) {
            const Stamp in_file = server_bound(kind);
            const Stamp reached = std::max(in_file, published_floor(horizon, kind));
            const Stamp stamp =
                std::min(stamp_of_number(made.durable.stamped.stamp[kind]), reached);
            if (stamp > bound[kind]) {
                Assert(durable_is_flushed(made.page));
                raise_stamp(&horizon->bound[kind], stamp);
                moved = true;
            }
        }
        if (moved) {
            horizon_moved(horizon);
        }
        pg_atomic_fetch_or_u64(&horizon->nodes, static_cast<uint64_t>(made.durable.stamped.nodes));
        pg_atomic_write_u32(&horizon->file, file);
    }
    durable_close(made.page);
    if (made.changed) {
        count(Counter::extensions);
    }
    return changed;
}

// Makes ids begin past the stamp that `floor_of` gives for each kind, and past `least_us` whatever
// their back count. A transaction that replaces the state cannot publish a bound for it, so it
// withdraws the one that sessions have: they may go on only when it has ended.
template <typename FloorOf>
void raise(int64_t least_us, FloorOf floor_of)
{
    refuse_in_recovery();
    Horizon* horizon = shared_horizon();
    (void)load(horizon);
    const int64_t most_ahead_us = server_most_ahead_us();
    const Changed changed = change(horizon, true, [&](Durable& durable, Stamp* floor) {
        for (int kind = 0; kind < horizon_kinds; kind++) {
            const Stamp latest = stamp_of_number(durable.stamped.stamp[kind]);
            floor[kind] = std::max(floor[kind], floor_of(kind, latest));
        }
        durable.stamped.least_us = std::max(durable.stamped.least_us, least_us);
        durable.stamped.most_ahead_us = std::max(durable.stamped.most_ahead_us, most_ahead_us);
        durable.lost = 0;
    });
    if (!changed.published && is_loaded(horizon)) {
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

void refuse_where_replaced()
{
    DurablePage page = durable_open(BUFFER_LOCK_SHARE);
    durable_flush(page);
    if (durable_may_go_back(page)) {
        throw_state_replaced();
    }
    durable_close(page);
}

void horizon_moved(Horizon* horizon)
{
    Assert(holds(horizon, plain_horizon) && holds(horizon, back_horizon));
    pg_atomic_fetch_add_u64(&horizon->version, 1); // seldom: a floor changed
}

void withdraw_bounds(Horizon* horizon)
{
    for (int kind = 0; kind < horizon_kinds; kind++) {
        // same without: the bound goes next
        raise_stamp(&horizon->floor[kind], published_bound(horizon, kind));
        // same without: the floor is there already
        pg_atomic_write_u64(&horizon->bound[kind], static_cast<uint64_t>(least_stamp));
    }
    horizon_moved(horizon);
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
    case Loaded::lost: {
        Durable durable;
        (void)durable_look(&durable); // same without: another of two errors
        throw_state_lost(durable.format);
    }
    }
    return horizon;
}

bool horizon_has_node(Horizon* horizon, uint32_t node)
{
    return (pg_atomic_read_u64(&horizon->nodes) & bit_of_node(node)) != 0 && server_has_node(node);
}

void horizon_record_node(Horizon* horizon, uint32_t node)
{
    const Changed changed = change(horizon, true, [&](Durable& durable, Stamp*) {
        durable.stamped.nodes |= static_cast<int64_t>(bit_of_node(node));
    });
    if (!changed.published) {
        throw_state_replaced();
    }
}

int64_t horizon_extend(Horizon* horizon, HorizonKind kind, Stamp needed, int64_t now_us)
{
    observe_clock(); // same without: only the log
    check_leap(now_us);
    needed =
        std::max(needed, stamp_of(stamp_back(published_bound(horizon, kind)), stamp_us(needed)));
    const Stamp wanted =
        wanted_stamp(needed, now_us, settings.max_ahead_us, server_head_start_until_us());
    const int64_t most_ahead_us = server_most_ahead_us();
    int64_t wait_us = 0;
    const Changed changed = change(horizon, false, [&](Durable& durable, Stamp*) {
        const auto last = static_cast<Steady>(pg_atomic_read_u64(&horizon->extended_at[kind]));
        const int64_t since_us = last == steady_past ? -1 : steady_now() - last;
        const Extension next = extension(stamp_of_number(durable.stamped.stamp[kind]),
                                         published_bound(horizon, kind), needed, wanted, since_us);
        take_stamp(&durable.stamped, kind, next.stamp);
        durable.stamped.most_ahead_us = std::max(durable.stamped.most_ahead_us, most_ahead_us);
        wait_us = next.wait_us;
    });
    if (!changed.published) {
        throw_state_replaced();
    }
    // same with <=: only time
    return published_bound(horizon, kind) < needed ? std::max(wait_us, changed.wait_us) : 0;
}

void horizon_raise(int64_t us)
{
    refuse_where_replaced();
    raise(us, [&](int, Stamp latest) { return stamp_of(stamp_back(latest), us); });
}

// A rollback that undoes this undoes the rows that came with it too.
void horizon_restore(HorizonKind kind, Stamp stamp)
{
    raise(stamp_us(stamp), [&](int of, Stamp latest) {
        return of == kind ? stamp : stamp_of(stamp_back(latest), stamp_us(stamp));
    });
}

void horizon_restore_elsewhere(int64_t most_ahead_us)
{
    const int64_t us = server_take_over_now(most_ahead_us);
    raise_all_floors(us);
    raise(us, [&](int, Stamp latest) { return stamp_of(stamp_back(latest), us); });
}

bool horizon_remembered(Stamped* stamped)
{
    Horizon* horizon = shared_horizon();
    for (int kind = 0; kind < horizon_kinds; kind++) {
        take_stamp(stamped, kind, high_water(horizon, kind));
    }
    stamped->least_us =
        // same with min: the server's file says it
        std::max(stamped->least_us, static_cast<int64_t>(pg_atomic_read_u64(&horizon->least_us)));
    stamped->nodes |= static_cast<int64_t>(pg_atomic_read_u64(&horizon->nodes));
    if (!is_loaded(horizon)) {
        return false;
    }
    stamped->most_ahead_us = std::max(stamped->most_ahead_us, server_remembers().most_ahead_us);
    return true;
}

} // namespace flakeid
