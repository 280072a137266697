// Order and equality of sealed ids: those of the plain ids. These are bigint's functions, written
// once more: to use its own under other names, the server would compare names at every statement.
#include "server/postgres.hpp"

#define SEALED_COMPARISON(name, operation)                                                         \
    FLAKEID_FUNCTION(flakeid_sealed_##name)                                                        \
    {                                                                                              \
        return BoolGetDatum(PG_GETARG_INT64(0) operation PG_GETARG_INT64(1));                      \
    }

SEALED_COMPARISON(lt, <)
SEALED_COMPARISON(le, <=)
SEALED_COMPARISON(eq, ==)
SEALED_COMPARISON(ne, !=)
SEALED_COMPARISON(ge, >=)
SEALED_COMPARISON(gt, >)

FLAKEID_FUNCTION(flakeid_sealed_cmp)
{
    const int64_t a = PG_GETARG_INT64(0);
    const int64_t b = PG_GETARG_INT64(1);
    return Int32GetDatum(a < b ? -1 : static_cast<int32_t>(a > b));
}

FLAKEID_FUNCTION(flakeid_sealed_smaller)
{
    return Int64GetDatum(std::min(PG_GETARG_INT64(0), PG_GETARG_INT64(1)));
}

FLAKEID_FUNCTION(flakeid_sealed_larger)
{
    return Int64GetDatum(std::max(PG_GETARG_INT64(0), PG_GETARG_INT64(1)));
}

FLAKEID_FUNCTION(flakeid_sealed_hash)
{
    return hashint8(fcinfo);
}

FLAKEID_FUNCTION(flakeid_sealed_hash_extended)
{
    return hashint8extended(fcinfo);
}
