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
    stats_reset();
    PG_RETURN_VOID();
}
