#include "leases/coordinator/lease_clock.hpp"

#include "server/clock.hpp"
#include "durable/clock_watch.hpp"
#include "durable/durable.hpp"
#include "slots/tenure.hpp"
#include "durable/server_horizon.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace flakeid {

namespace {

constexpr int64_t most_term = INT64_C(253402300799) * us_per_s; // the year 9999

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
    // A file that was lost has another incarnation, which the leases' origin tells.
    const Origin here = server_origin(false);
    const uint64_t parts[] = {GetSystemIdentifier(), static_cast<uint64_t>(here.timeline),
                              static_cast<uint64_t>(here.incarnation), MyDatabaseId};
    return static_cast<int64_t>(
        hash_bytes_extended(reinterpret_cast<const unsigned char*>(parts), sizeof parts, 0) >> 1 |
        1);
}

LeaseClock clock_of(const Durable& durable)
{
    return {durable.lease_clock_us, durable.lease_rest_us, durable.lease_origin,
            durable.lease_hold_s, durable.lease_term};
}

// Lets `alter` alter the clock of leases, and makes it durable. Returns what it is then.
template <typename Alter>
LeaseClock change(Alter alter)
{
    refuse_in_recovery();
    return clock_of(durable_alter([&](Durable& durable) {
        const LeaseClock clock = alter(clock_of(durable));
        durable.lease_clock_us = clock.clock_us;
        durable.lease_rest_us = clock.rest_us;
        durable.lease_origin = clock.origin;
        durable.lease_hold_s = clock.hold_s;
        durable.lease_term = clock.term;
    }));
}

} // namespace

LeaseNow lease_clock_now(int64_t hold_s)
{
    const int64_t now_us = wall_us();
    check_leap(now_us);
    LeaseClockRead read{};
    const int64_t here = lease_origin_here();
    (void)change([&](const LeaseClock& clock) {
        read = read_lease_clock(clock, now_us, here, hold_s);
        return read.clock;
    });
    if (read.moved) {
        ereport(LOG, errmsg("the coordinator of leases was promoted, copied or upgraded"),
                errdetail(
                    "Leases and renewals may be missing, so it hands out nothing for " INT64_FORMAT
                    " s.",
                    read.clock.hold_s));
    }
    return {read.moment, read.clock.term, here};
}

void lease_clock_rest(bool begin)
{
    const int64_t now_us = wall_us();
    (void)change([&](const LeaseClock& clock) {
        return begin ? begin_lease_rest(clock, now_us) : end_lease_rest(clock);
    });
}

int64_t lease_clock_repair()
{
    const int64_t now_us = wall_us();
    int64_t ahead_us = 0;
    (void)change([&](const LeaseClock& clock) {
        ahead_us = std::max<int64_t>(0, clock.clock_us - now_us);
        return repair_lease_clock(clock, now_us);
    });
    return ahead_us;
}

void tenure_restore_hold(int64_t hold_s)
{
    if (hold_s < 0 || hold_s > most_lease_hold_s) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("a lease cannot count for " INT64_FORMAT " s", hold_s));
    }
    const int64_t now_us = wall_us();
    (void)change(
        [&](const LeaseClock& clock) { return restored_lease_clock(clock, now_us, hold_s); });
}

void tenure_restore_term(int64_t number)
{
    if (number < 0 || number > most_term) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("" INT64_FORMAT " is no term of leases", number));
    }
    (void)change([&](LeaseClock clock) {
        clock.term = std::max(clock.term, number + 1);
        return clock;
    });
}

} // namespace flakeid
