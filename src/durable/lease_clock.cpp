#include "durable/lease_clock.hpp"

#include "server/clock.hpp"
#include "durable/clock_watch.hpp"
#include "durable/durable.hpp"
#include "durable/server_horizon.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace flakeid {

namespace {

// The clock is written down when it has gone on by this much.
constexpr int64_t written_every_us = us_per_s;

void refuse_in_recovery()
{
    if (RecoveryInProgress()) {
        ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                errmsg("cannot hand out leases during recovery"),
                errhint("Connect to the primary: target_session_attrs=read-write."));
    }
}

// A number for system, timeline, files and database. A promotion changes the timeline before the
// control file says so.
int64_t lease_origin_here()
{
    refuse_in_recovery();
    // A file that was lost has another life, which the leases' origin tells.
    const Origin here = server_origin(false);
    const uint64_t parts[] = {GetSystemIdentifier(), static_cast<uint64_t>(here.timeline),
                              static_cast<uint64_t>(here.life), MyDatabaseId};
    return static_cast<int64_t>(
        hash_bytes_extended(reinterpret_cast<const unsigned char*>(parts), sizeof parts, 0) >> 1 |
        1);
}

// Lets `alter` alter the numbers and makes them durable. Returns what they are then.
template <typename Alter>
Durable change(Alter alter)
{
    refuse_in_recovery();
    return durable_alter(alter);
}

} // namespace

LeaseNow lease_clock_now(int64_t hold_s)
{
    int64_t now_us = wall_us();
    check_leap(now_us);
    bool moved = false;
    const int64_t here = lease_origin_here();
    const Durable durable = change([&](Durable& at) {
        now_us = std::max(now_us, at.lease_clock_us);
        moved = at.lease_origin != here && at.lease_origin != 0;
        if (moved) {
            at.lease_rest_us = now_us;
        }
        at.lease_origin = here;
        at.lease_hold_s = std::max(at.lease_hold_s, hold_s);
        if (now_us - at.lease_clock_us >= written_every_us) {
            at.lease_clock_us = now_us;
        }
    });
    if (moved) {
        ereport(LOG, errmsg("the coordinator of leases was promoted, copied or upgraded"),
                errdetail(
                    "Leases and renewals may be missing, so it hands out nothing for " INT64_FORMAT
                    " s.",
                    durable.lease_hold_s));
    }
    // Whole seconds, as everything about leases.
    const int64_t rest_until_us =
        (durable.lease_rest_us / us_per_s + durable.lease_hold_s + 1) * us_per_s;
    const bool rests = durable.lease_rest_us != 0 && rest_until_us > now_us;
    return {now_us, rests ? rest_until_us : 0};
}

void lease_clock_rest(bool begin)
{
    const int64_t now_us = wall_us();
    (void)change([&](Durable& durable) {
        durable.lease_rest_us = begin ? std::max(now_us, durable.lease_clock_us) : 0;
    });
}

int64_t lease_clock_repair()
{
    const int64_t now_us = wall_us();
    int64_t ahead_us = 0;
    (void)change([&](Durable& durable) {
        ahead_us = std::max<int64_t>(0, durable.lease_clock_us - now_us);
        durable.lease_clock_us = now_us;
    });
    return ahead_us;
}

void lease_clock_restored(int64_t hold_s)
{
    if (hold_s < 0 || hold_s > most_lease_hold_s) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("a lease cannot count for " INT64_FORMAT " s", hold_s));
    }
    const int64_t now_us = wall_us();
    (void)change([&](Durable& durable) {
        durable.lease_rest_us = std::max(durable.lease_rest_us, now_us);
        durable.lease_hold_s = std::max(durable.lease_hold_s, hold_s);
    });
}

} // namespace flakeid
