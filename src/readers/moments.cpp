#include "readers/moments.hpp"

extern "C" {
#include "utils/date.h"
#include "utils/typcache.h"
}

using namespace flakeid;

namespace {

TypeCacheEntry* range_info(Oid type)
{
    return lookup_type_cache(type, TYPECACHE_RANGE_INFO);
}

// Returns the same bound in the zone of the session.
RangeBound moment_of(RangeBound bound, PGFunction to_moment)
{
    if (!bound.infinite) {
        bound.val = DirectFunctionCall1(to_moment, bound.val);
    }
    return bound;
}

// Returns the range between two bounds of an hour that the zone may lack or have twice.
RangeType* moments_between(RangeBound lower, RangeBound upper, bool empty)
{
    TypeCacheEntry* type = range_info(TSTZRANGEOID);
    const bool nothing = empty || range_cmp_bounds(type, &lower, &upper) > 0;
    return make_range(type, &lower, &upper, nothing, nullptr);
}

} // namespace

RangeType* flakeid::moments_of(const RangeType* range)
{
    const Oid type = RangeTypeGetOid(range);
    const PGFunction to_moment = type == DATERANGEOID ? date_timestamptz : timestamp_timestamptz;
    RangeBound lower, upper;
    bool empty;
    range_deserialize(range_info(type), range, &lower, &upper, &empty);
    return moments_between(moment_of(lower, to_moment), moment_of(upper, to_moment), empty);
}

FLAKEID_FUNCTION(flakeid_moments)
{
    return RangeTypePGetDatum(moments_of(PG_GETARG_RANGE_P(0)));
}

RangeType* flakeid::moments_of(const MultirangeType* ranges)
{
    TypeCacheEntry* type = range_info(TSTZRANGEOID);
    return ranges->rangeCount == 0 ? make_empty_range(type)
                                   : multirange_get_union_range(type, ranges);
}

FLAKEID_FUNCTION(flakeid_multirange_moments)
{
    return RangeTypePGetDatum(moments_of(PG_GETARG_MULTIRANGE_P(0)));
}
