#include "lease_clock.hpp"

#include "clock.hpp"
#include "durable.hpp"
#include "horizon.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace flakeid {

namespace {

// The clock is written down when it has gone on by this much.
constexpr int64_t written_every_us = us_per_s;

// System, timeline, files and database. A promotion changes the timeline before the control file
// says so.
int64_t lease_origin_here()
{
    const Origin here = durable_origin_here();
    const uint64_t parts[] = {GetSystemIdentifier(), static_cast<uint64_t>(here.timeline),
                              static_cast<uint64_t>(here.place), MyDatabaseId};
    return static_cast<int64_t>(
        hash_bytes_extended(reinterpret_cast<const unsigned char*>(parts), sizeof parts, 0) >> 1 |
        1);
}

// Lets `alter` alter the numbers and makes them durable. Returns what they are then.
template <typename Alter>
Durable change(Alter alter)
{
    if (RecoveryInProgress()) {
        ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                errmsg("cannot hand out leases during recovery"),
                errhint("Connect to the primary: target_session_attrs=read-write."));
    }
    Durable before;
    const DurablePage page = durable_open(BUFFER_LOCK_EXCLUSIVE);
    const bool known = durable_read(page, &before);
    Durable durable = before;
    if (known) {
        alter(durable);
        if (memcmp(&durable, &before, sizeof durable) != 0) {
            durable_write(page, durable);
        }
    }
    durable_flush(page);
    if (!known) {
        throw_state_lost();
    }
    durable_close(page);
    return durable;
}

// The same as 0.1.0 had it.
int64_t lease_place_of_0_1_0(Oid history)
{
    const char* text = psprintf(UINT64_FORMAT "/%u/%u/%u", GetSystemIdentifier(),
                                GetWALInsertionTimeLine(), MyDatabaseId, history);
    const uint64_t hash = hash_bytes_extended(reinterpret_cast<const unsigned char*>(text),
                                              static_cast<int>(strlen(text)), 0);
    return static_cast<int64_t>(hash & PG_INT64_MAX);
}

} // namespace

void lease_clock_take_over(const OldLeases& old)
{
    const int64_t now_us = wall_us();
    const bool here = old.place == lease_place_of_0_1_0(old.history);
    (void)change([&](Durable& durable) {
        durable.lease_clock_us = Max(durable.lease_clock_us, old.clock_us);
        durable.lease_hold_s = Max(durable.lease_hold_s, old.hold_s);
        if (old.place != 0 || old.dumped) {
            durable.lease_origin = lease_origin_here();
            durable.lease_rest_us = here ? old.rest_us : Max(now_us, old.clock_us);
        }
    });
}

void lease_clock_restored(int64_t hold)
{
    if (hold < 0 || hold > most_lease_hold_s) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("a lease cannot count for " INT64_FORMAT " s", hold));
    }
    const int64_t now_us = wall_us();
    (void)change([&](Durable& durable) {
        durable.lease_rest_us = Max(durable.lease_rest_us, now_us);
        durable.lease_hold_s = Max(durable.lease_hold_s, hold);
    });
}

} // namespace flakeid

using namespace flakeid;

// The moment that leases are reckoned with, and until when none are handed out. Leases of the realm
// that asks may count for so many seconds: a rest lasts as long as the longest ever did.
FLAKEID_FUNCTION(flakeid_lease_now)
{
    TupleDesc row;
    if (get_call_result_type(fcinfo, nullptr, &row) != TYPEFUNC_COMPOSITE) {
        elog(ERROR, "return type must be a row type");
    }
    const int64_t hold = PG_GETARG_INT64(0);
    int64_t now_us = wall_us();
    check_leap(now_us);
    bool moved = false;
    const int64_t here = lease_origin_here();
    const Durable durable = change([&](Durable& at) {
        now_us = Max(now_us, at.lease_clock_us);
        moved = at.lease_origin != here && at.lease_origin != 0;
        if (moved) {
            at.lease_rest_us = now_us;
        }
        at.lease_origin = here;
        at.lease_hold_s = Max(at.lease_hold_s, hold);
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
    Datum values[] = {
        TimestampTzGetDatum(now_us - us_from_1970_to_2000),
        TimestampTzGetDatum(rest_until_us - us_from_1970_to_2000),
    };
    bool nulls[lengthof(values)] = {false, !rests};
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls));
}

// Begins a rest, or ends it.
FLAKEID_FUNCTION(flakeid_lease_rest)
{
    const bool begin = PG_GETARG_BOOL(0);
    const int64_t now_us = wall_us();
    (void)change([&](Durable& durable) {
        durable.lease_rest_us = begin ? Max(now_us, durable.lease_clock_us) : 0;
    });
    PG_RETURN_VOID();
}

// Lets the clock of leases go back to the wall clock; by how many microseconds it was ahead.
FLAKEID_FUNCTION(flakeid_lease_repair_clock)
{
    (void)fcinfo;
    const int64_t now_us = wall_us();
    int64_t ahead_us = 0;
    (void)change([&](Durable& durable) {
        ahead_us = Max(0, durable.lease_clock_us - now_us);
        durable.lease_clock_us = now_us;
    });
    auto* ahead = static_cast<Interval*>(palloc0(sizeof(Interval)));
    ahead->time = ahead_us;
    return IntervalPGetDatum(ahead);
}
