// The counters behind the view flake_stats.
#include "clock.hpp"
#include "slots.hpp"
#include "stats.hpp"

using namespace flakeid;

FLAKEID_FUNCTION(flakeid_stats)
{
    TupleDesc row;
    if (get_call_result_type(fcinfo, nullptr, &row) != TYPEFUNC_COMPOSITE) {
        elog(ERROR, "return type must be a row type");
    }
    stats_add_up();
    Stats* stats = shared_stats();
    auto read = [&](Counter counter) {
        return static_cast<int64_t>(pg_atomic_read_u64(stats->of(counter)));
    };
    auto count = [&](Counter counter) { return Int64GetDatum(read(counter)); };
    auto interval = [](int64_t us) {
        auto* span = static_cast<Interval*>(palloc0(sizeof(Interval)));
        span->time = us;
        return IntervalPGetDatum(span);
    };
    Datum values[] = {
        count(Counter::issued),
        interval(Max(0, furthest_ahead_us(wall_us()))),
        interval(read(Counter::largest_ahead_us)),
        count(Counter::waits),
        interval(read(Counter::waited_us)),
        count(Counter::set_backs),
        interval(read(Counter::largest_set_back_us)),
        count(Counter::extensions),
        TimestampTzGetDatum(static_cast<int64_t>(pg_atomic_read_u64(&stats->reset_at))),
    };
    if (row->natts != lengthof(values)) {
        elog(ERROR, "flake_stats has %d columns, the library %d", row->natts,
             static_cast<int>(lengthof(values)));
    }
    bool nulls[lengthof(values)] = {};
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls));
}

FLAKEID_FUNCTION(flakeid_lease_stats)
{
    TupleDesc row;
    if (get_call_result_type(fcinfo, nullptr, &row) != TYPEFUNC_COMPOSITE) {
        elog(ERROR, "return type must be a row type");
    }
    Stats* stats = shared_stats();
    auto count = [&](Counter counter) {
        return Int64GetDatum(static_cast<int64_t>(pg_atomic_read_u64(stats->of(counter))));
    };
    Datum values[] = {count(Counter::lease_grants), count(Counter::lease_renewals),
                      count(Counter::lease_failures)};
    bool nulls[lengthof(values)] = {};
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls));
}

FLAKEID_FUNCTION(flakeid_stats_reset)
{
    (void)fcinfo;
    stats_reset();
    PG_RETURN_VOID();
}
