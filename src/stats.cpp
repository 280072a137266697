#include "stats.hpp"

#include "clock.hpp"
#include "messages.hpp"
#include "shared.hpp"

extern "C" {
#include "access/xact.h"
}

using namespace flakeid;

namespace flakeid {

uint64_t issued_here;

namespace {

// Less is the noise of reading two clocks one after the other, or a clock being slewed.
constexpr int64_t least_set_back_us = 500;
constexpr int64_t least_leap_us = us_per_s;

// Set-backs that follow each other faster than this are counted, and the first is logged.
constexpr int64_t log_interval_us = us_per_s;

void add_up()
{
    if (issued_here > 0) {
        pg_atomic_fetch_add_u64(&shared_stats()->issued, static_cast<int64>(issued_here));
        issued_here = 0;
    }
}

void at_transaction_end(XactEvent, void*)
{
    add_up();
}

} // namespace

void stats_create(Stats* stats)
{
    pg_atomic_init_u64(&stats->issued, 0);
    pg_atomic_init_u64(&stats->largest_ahead_us, 0);
    pg_atomic_init_u64(&stats->waits, 0);
    pg_atomic_init_u64(&stats->waited_us, 0);
    pg_atomic_init_u64(&stats->set_backs, 0);
    pg_atomic_init_u64(&stats->largest_set_back_us, 0);
    pg_atomic_init_u64(&stats->extensions, 0);
    pg_atomic_init_u64(&stats->reset_at, static_cast<uint64_t>(GetCurrentTimestamp()));
    pg_atomic_init_u64(&stats->latest_offset, static_cast<uint64_t>(wall_us() - uptime_us()));
    pg_atomic_init_u64(&stats->logged_at, 0);
}

void stats_begin()
{
    static bool begun;
    if (!begun) {
        RegisterXactCallback(at_transaction_end, nullptr);
        begun = true;
    }
}

void count_ahead(int64_t us)
{
    raise_to(&shared_stats()->largest_ahead_us, static_cast<uint64_t>(us));
}

void count_wait(int64_t us)
{
    pg_atomic_fetch_add_u64(&shared_stats()->waits, 1);
    pg_atomic_fetch_add_u64(&shared_stats()->waited_us, us);
}

void count_extension()
{
    pg_atomic_fetch_add_u64(&shared_stats()->extensions, 1);
}

void observe_clock()
{
    const int64_t before = uptime_us();
    const int64_t now_us = wall_us();
    const int64_t offset = now_us - before;
    if (uptime_us() - before >= least_set_back_us / 2) {
        return; // interrupted between the two clocks: the next look tells
    }
    Stats* stats = shared_stats();
    uint64_t seen = pg_atomic_read_u64(&stats->latest_offset);
    const int64_t change = offset - static_cast<int64_t>(seen);
    if (!pg_atomic_compare_exchange_u64(&stats->latest_offset, &seen,
                                        static_cast<uint64_t>(offset))) {
        return; // another session sees the same event
    }
    if (change <= -least_set_back_us) {
        pg_atomic_fetch_add_u64(&stats->set_backs, 1);
        raise_to(&stats->largest_set_back_us, static_cast<uint64_t>(-change));
        const int64_t steady = steady_us();
        if (steady - static_cast<int64_t>(pg_atomic_read_u64(&stats->logged_at)) <
            log_interval_us) {
            return;
        }
        pg_atomic_write_u64(&stats->logged_at, static_cast<uint64_t>(steady));
        ereport(LOG, errmsg("the clock was set back by %s", duration_text(-change)),
                errdetail("It says %s now. Ids go on in order as long as flakeid.max_ahead allows.",
                          moment_text(now_us)));
    } else if (change >= least_leap_us) {
        ereport(LOG, errmsg("the clock leapt forward by %s", duration_text(change)),
                errdetail("It says %s now.", moment_text(now_us)));
    }
}

} // namespace flakeid

FLAKEID_FUNCTION(flakeid_stats)
{
    TupleDesc row;
    if (get_call_result_type(fcinfo, nullptr, &row) != TYPEFUNC_COMPOSITE) {
        elog(ERROR, "return type must be a row type");
    }
    add_up();
    Stats* stats = shared_stats();
    auto count = [](pg_atomic_uint64* counter) {
        return Int64GetDatum(static_cast<int64_t>(pg_atomic_read_u64(counter)));
    };
    auto interval = [](int64_t us) {
        auto* span = static_cast<Interval*>(palloc0(sizeof(Interval)));
        span->time = us;
        return IntervalPGetDatum(span);
    };
    auto interval_of = [&](pg_atomic_uint64* counter) {
        return interval(static_cast<int64_t>(pg_atomic_read_u64(counter)));
    };
    Datum values[] = {
        count(&stats->issued),
        interval(Max(0, furthest_ahead_us(wall_us()))),
        interval_of(&stats->largest_ahead_us),
        count(&stats->waits),
        interval_of(&stats->waited_us),
        count(&stats->set_backs),
        interval_of(&stats->largest_set_back_us),
        count(&stats->extensions),
        TimestampTzGetDatum(static_cast<int64_t>(pg_atomic_read_u64(&stats->reset_at))),
    };
    bool nulls[lengthof(values)] = {};
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls));
}

FLAKEID_FUNCTION(flakeid_stats_reset)
{
    (void)fcinfo;
    Stats* stats = shared_stats();
    issued_here = 0;
    pg_atomic_uint64* const counters[] = {
        &stats->issued,    &stats->largest_ahead_us,    &stats->waits,     &stats->waited_us,
        &stats->set_backs, &stats->largest_set_back_us, &stats->extensions};
    for (pg_atomic_uint64* counter : counters) {
        pg_atomic_write_u64(counter, 0);
    }
    pg_atomic_write_u64(&stats->reset_at, static_cast<uint64_t>(GetCurrentTimestamp()));
    PG_RETURN_VOID();
}
