// What SQL functions return besides numbers and texts.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

// Returns the one row of a function with OUT arguments, as many as there are values.
template <size_t n>
Datum row_datum(FunctionCallInfo fcinfo, Datum (&values)[n], bool (&nulls)[n])
{
    TupleDesc row;
    if (get_call_result_type(fcinfo, nullptr, &row) != TYPEFUNC_COMPOSITE ||
        row->natts != static_cast<int>(n)) {
        elog(ERROR, "return type must be a row of %d columns", static_cast<int>(n));
    }
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls));
}

template <size_t n>
Datum row_datum(FunctionCallInfo fcinfo, Datum (&values)[n])
{
    bool nulls[n] = {};
    return row_datum(fcinfo, values, nulls);
}

inline Datum interval_datum(int64_t us)
{
    auto* interval = static_cast<Interval*>(palloc0(sizeof(Interval)));
    interval->time = us;
    return IntervalPGetDatum(interval);
}

} // namespace flakeid
