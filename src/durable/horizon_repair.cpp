#include "durable/horizon.hpp"

#include "server/clock.hpp"
#include "durable/durable.hpp"
#include "server/messages.hpp"
#include "durable/server_horizon.hpp"
#include "settings/settings.hpp"

#include <algorithm>

namespace flakeid {

namespace {

[[noreturn]] void throw_same_node(uint32_t node, uint64_t nodes, uint32_t max_node)
{
    uint32_t other = 0;
    while (other < 64 && (nodes & bit_of_node(other)) != 0) { // same with <=: only a hint
        other++;
    }
    const char* give = other >= 64 || other > max_node // same with >, >=: only a hint
                           ? ""
                           : "Give the server a node N that made no ids here and that no other "
                             "server has, and repair again in a new session: LOAD 'flakeid'; ALTER "
                             "SYSTEM SET flakeid.node = N; SELECT pg_reload_conf(); ";
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("node %u may have made the ids that lie ahead of the clock", node),
            errdetail("With a lower horizon it would make them again."),
            errhint("%sIf none of those ids was stored or given away: SELECT "
                    "flakeid.repair_horizon(none_kept => true);",
                    give));
}

// Says why a repaired horizon still lies ahead of the clock, if it does.
void tell_of_rest(int64_t right_us, int64_t now_us)
{
    const int64_t ahead_us = right_us - now_us;
    if (ahead_us <= assumed_ahead_us) { // same with <: only a notice
        return;                         // any session waits as long for the first id after a start
    }
    ereport(
        NOTICE,
        errmsg("the horizon of database \"%s\" stays %s ahead of the clock",
               get_database_name(MyDatabaseId), duration_text(ahead_us)),
        errdetail("Sessions of this server with a larger flakeid.max_ahead may have made ids "
                  "up to %s, which no repair forgets.",
                  moment_text(right_us)),
        errhint("Wait until then, or make ids ahead of the clock: SET flakeid.max_ahead = '%s';",
                duration_text(ahead_us + us_per_s)));
}

} // namespace

bool horizon_repair(int64_t now_us, uint32_t first_node, uint32_t last_node, uint32_t max_node,
                    bool none_kept)
{
    Horizon* horizon = horizon_attach();
    forget_dropped();
    const Stamped server = server_remembers();
    int64_t right_us = std::max(now_us + least_max_ahead_us, server_right(now_us).latest_us);
    // What other databases reserved is theirs to lower.
    // same with <: it leaves what is reserved
    const bool held = server.latest_us <= reserved_by_others().latest_us;
    const int64_t latest_us =
        std::max({held ? 0 : server.latest_us, server.least_us, published_us(horizon)});
    // same with <: lowered or left
    if (latest_us <= right_us + extension_interval_us) { // as the file may reach for it
        tell_of_rest(right_us, now_us);
        return false;
    }
    refuse_where_replaced();
    const uint64_t nodes =
        static_cast<uint64_t>(server.nodes) | pg_atomic_read_u64(&horizon->nodes);
    for (uint32_t node = first_node; node <= last_node && node - first_node < 64; node++) {
        if (!none_kept && (nodes & bit_of_node(node)) != 0) {
            throw_same_node(node, nodes, max_node);
        }
    }
    // Shuts out whoever extends; nobody else has a lock on the state.
    const DurableChange made = durable_change(
        [&](const DurablePage&, Durable& durable) {
            Stamped& stamped = durable.stamped;
            const Stamp back_before = stamp_of_number(stamped.stamp[back_horizon]);
            withdraw_bounds(horizon);
            // Ids that were made since another repair are not forgotten.
            const Stamped right = server_right(wall_us());
            right_us = std::max({right_us, wall_us() + least_max_ahead_us, right.latest_us});
            for (int kind = 0; durable.lost == 0 && kind < horizon_kinds; kind++) {
                const Stamp stamp = stamp_of_number(stamped.stamp[kind]);
                stamped.stamp[kind] =
                    std::max(stamp_number(repaired_stamp(stamp, right_us)), right.stamp[kind]);
            }
            stamped.latest_us = std::min(stamped.latest_us, right_us);
            const Stamp back = stamp_of_number(stamped.stamp[back_horizon]);
            // Ids from before have a count that is gone now.
            // same with <=: one wait more
            stamped.least_us = stamp_back(back) < stamp_back(back_before)
                                   ? right_us
                                   : std::min(stamped.least_us, right_us);
        },
        AccessExclusiveLock);
    if (made.durable.lost != 0) {
        throw_state_lost();
    }
    Assert(durable_is_flushed(made.page));
    // Before another repair asks for it, which comes after this one.
    for (pg_atomic_uint64& reserved : horizon->reserved) {
        const Stamp stamp = repaired_stamp(Stamp{pg_atomic_read_u64(&reserved)}, right_us);
        pg_atomic_write_u64(&reserved, static_cast<uint64_t>(stamp));
    }
    server_repair(right_us, reserved_by_others);
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE); // beside whoever raises all floors
    const Floors floors = server_floors();
    pg_atomic_write_u64(&horizon->least_us, static_cast<uint64_t>(made.durable.stamped.least_us));
    for (int kind = 0; kind < horizon_kinds; kind++) {
        const Stamp stamp = stamp_of_number(made.durable.stamped.stamp[kind]);
        const Stamp loaded_row = std::min(stamp, loaded_row_stamp(horizon, kind));
        pg_atomic_write_u64(&horizon->loaded_row[kind], static_cast<uint64_t>(loaded_row));
        pg_atomic_write_u64(&horizon->row[kind], static_cast<uint64_t>(stamp));
        // same without: the next session publishes it
        pg_atomic_write_u64(&horizon->bound[kind], static_cast<uint64_t>(stamp));
        const Stamp floor = std::max(stamp, floors.stamp[kind]);
        pg_atomic_write_u64(&horizon->floor[kind], static_cast<uint64_t>(floor));
    }
    horizon_moved(horizon);
    LWLockRelease(AddinShmemInitLock);
    // same without: the next extension finds it
    pg_atomic_write_u32(&horizon->file, durable_file(made.page));
    durable_close(made.page, AccessExclusiveLock);
    tell_of_rest(right_us, now_us);
    return true;
}

} // namespace flakeid
