// What the SQL functions of a coordinator of leases ask of its clock.
#include "server/clock.hpp"
#include "functions/row.hpp"
#include "durable/lease_clock.hpp"

using namespace flakeid;

FLAKEID_FUNCTION(flakeid_lease_now)
{
    const LeaseNow now = lease_clock_now(PG_GETARG_INT64(0));
    Datum values[] = {
        TimestampTzGetDatum(now.now_us - us_from_1970_to_2000),
        TimestampTzGetDatum(now.rest_until_us - us_from_1970_to_2000),
    };
    bool nulls[lengthof(values)] = {false, now.rest_until_us == 0};
    return row_datum(fcinfo, values, nulls);
}

FLAKEID_FUNCTION(flakeid_lease_rest)
{
    lease_clock_rest(PG_GETARG_BOOL(0));
    PG_RETURN_VOID();
}

FLAKEID_FUNCTION(flakeid_lease_repair_clock)
{
    (void)fcinfo;
    return interval_datum(lease_clock_repair());
}
