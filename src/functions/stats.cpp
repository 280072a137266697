// The counters behind the view flakeid.stats.
#include "server/clock.hpp"
#include "server/row.hpp"
#include "slots/slots.hpp"
#include "server/stats.hpp"

using namespace flakeid;

namespace {

Datum number(Counter counter)
{
    return Int64GetDatum(counted(counter));
}

Datum length(Counter counter)
{
    return interval_datum(counted(counter));
}

} // namespace

FLAKEID_FUNCTION(flakeid_stats_now)
{
    stats_add_up();
    uint32_t generators;
    taken_slots(&generators);
    Datum values[] = {
        number(Counter::issued),
        interval_datum(std::max<int64_t>(0, furthest_ahead_us(wall_us()))),
        length(Counter::largest_ahead_us),
        number(Counter::waits),
        length(Counter::waited_us),
        number(Counter::set_backs),
        length(Counter::largest_set_back_us),
        number(Counter::extensions),
        TimestampTzGetDatum(stats_reset_at()),
        number(Counter::lease_grants),
        number(Counter::lease_renewals),
        number(Counter::lease_failures),
        Int64GetDatum(generators),
        Int64GetDatum(max_slots),
    };
    return row_datum(fcinfo, values);
}

FLAKEID_FUNCTION(flakeid_stats_reset)
{
    (void)fcinfo;
    stats_reset();
    PG_RETURN_VOID();
}
