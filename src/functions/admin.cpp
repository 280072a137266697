// What administrators say about clocks and horizons that went wrong.
#include "server/clock.hpp"
#include "durable/clock_watch.hpp"
#include "durable/horizon.hpp"
#include "server/extension.hpp"
#include "server/messages.hpp"
#include "settings/node.hpp"
#include "settings/settings.hpp"

using namespace flakeid;

FLAKEID_FUNCTION(flakeid_raise_horizon)
{
    require_superuser(fcinfo);
    const TimestampTz moment = PG_GETARG_TIMESTAMPTZ(0);
    if (TIMESTAMP_NOT_FINITE(moment) || us_since_1970(moment) > last_stamp_us) {
        ereport(
            ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
            errmsg("the horizon must be a finite moment before %s", moment_text(last_stamp_us)));
    }
    horizon_raise(us_since_1970(moment));
    PG_RETURN_VOID();
}

FLAKEID_FUNCTION(flakeid_repair_horizon)
{
    require_superuser(fcinfo);
    require_good_settings();
    require_good_node();
    const NodeSpan span = configured_span(settings.layout);
    const bool none_kept = PG_GETARG_BOOL(0);
    const uint32_t max_node = settings.layout.max_node;
    // Where nobody knows the node, all may have been in use.
    return BoolGetDatum(span.problem == nullptr
                            ? horizon_repair(wall_us(), span.first, span.last, max_node, none_kept)
                            : horizon_repair(wall_us(), 0, UINT32_MAX, max_node, none_kept));
}

FLAKEID_FUNCTION(flakeid_accept_clock)
{
    require_superuser(fcinfo);
    accept_clock();
    PG_RETURN_VOID();
}
