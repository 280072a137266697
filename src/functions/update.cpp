// What older SQL objects need of this library: the version, what 0.1.0 kept, and the functions that
// only 0.1.0 has.
#include "durable/durable.hpp"
#include "durable/horizon.hpp"
#include "durable/lease_clock.hpp"

using namespace flakeid;

namespace {

// 0.1.0 kept the later moment of both horizons and the back count in a copy, for dumps. A copy that
// a restore brought, which leaves no timeline, counts for both.
Stamp kept_by_0_1_0(Stamp stamp, Stamp copy, bool restored, HorizonKind kind)
{
    const Stamp of_copy = kind == back_horizon ? copy : stamp_of(0, stamp_us(copy));
    return restored ? std::max(stamp, of_copy) : stamp;
}

} // namespace

FLAKEID_FUNCTION(flakeid_version)
{
    (void)fcinfo;
    return CStringGetTextDatum(FLAKEID_VERSION);
}

// Takes over the sequences of 0.1.0.
FLAKEID_FUNCTION(flakeid_take_over)
{
    const Stamp stamp[horizon_kinds] = {stamp_of_number(PG_GETARG_INT64(0)),
                                        stamp_of_number(PG_GETARG_INT64(1))};
    const Stamp copy = stamp_of_number(PG_GETARG_INT64(2));
    const int64_t timeline = PG_GETARG_INT64(3);
    for (int i = 0; i < horizon_kinds; i++) {
        const auto kind = static_cast<HorizonKind>(i);
        const Stamp kept = kept_by_0_1_0(stamp[kind], copy, timeline == 0, kind);
        if (kept != no_stamp) {
            horizon_take_over(kind, kept, timeline);
        }
    }
    lease_clock_take_over({PG_GETARG_INT64(4), PG_GETARG_INT64(5), PG_GETARG_INT64(6),
                           PG_GETARG_INT64(7) != 0, PG_GETARG_OID(8), PG_GETARG_INT64(9)});
    PG_RETURN_VOID();
}

// Functions that only the SQL objects of 0.1.0 call.
FLAKEID_FUNCTION(flakeid_lease_clock)
{
    (void)fcinfo;
    throw_state_missing("0.1.0");
}
