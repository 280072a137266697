// What administrators say about clocks and horizons that went wrong.
#include "server/clock.hpp"
#include "durable/clock_watch.hpp"
#include "durable/horizon.hpp"
#include "durable/server_horizon.hpp"
#include "server/extension.hpp"
#include "server/messages.hpp"
#include "settings/node.hpp"
#include "settings/settings.hpp"

using namespace flakeid;

namespace {

// How far a layout must come without an id of another one, for nothing to be forgotten.
constexpr int64_t forgotten_within_us = 60 * us_per_s;

// Forgets what other layouts have made of the ids that flakeid.layout comes to soon.
bool forget_others(uint32_t first_node, uint32_t last_node)
{
    const Layout& layout = settings.layout;
    const int64_t tick = tick_of_us(layout, wall_us());
    if (tick < 0) {
        return false;
    }
    const Used used =
        used_by(layout, id_bits(layout, first_node, bits_of_span(first_node, last_node)));
    const Tick now{static_cast<uint64_t>(tick)};
    const auto ticks = static_cast<uint64_t>(forgotten_within_us / layout.tick_us);
    return server_forgets(used, {now, now + ticks});
}

} // namespace

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
    const bool known = span.problem == nullptr;
    const uint32_t first = known ? span.first : 0;
    const uint32_t last = known ? span.last : UINT32_MAX;
    const bool repaired = horizon_repair(wall_us(), first, last, max_node, none_kept);
    return BoolGetDatum((none_kept && forget_others(first, last)) || repaired);
}

FLAKEID_FUNCTION(flakeid_accept_clock)
{
    require_superuser(fcinfo);
    accept_clock();
    PG_RETURN_VOID();
}
