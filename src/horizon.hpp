// The durable horizon: no id of a database was ever stamped after it, so that whatever is lost in a
// crash, a restart, a failover or a restore, the ids that follow begin after it.
//
// It stands in two sequences of the extension, changed by generic WAL records: flakeid.horizon, which
// is the truth and is never dumped, and flakeid.horizon_copy, which pg_dump carries and a restore
// sets. The larger one counts, so that a restore can raise the horizon but never lower it.
//
// Order of an extension: WAL record, unlock the pages, flush, and only then raise the shared bound.
// Whoever reads the pages flushes up to their LSN before trusting them. Nothing waits or flushes
// while a page is locked.
#pragma once

#include "server.hpp"
#include "shared.hpp"

namespace flakeid {

// A stamp: the back count above microseconds since 1970. Larger is later.
constexpr int stamp_us_bits = 56;
constexpr int64_t last_stamp_us = (INT64_C(1) << stamp_us_bits) - 1; // in the year 4253

constexpr uint64_t stamp_of(uint64_t back, int64_t us)
{
    return back << stamp_us_bits | static_cast<uint64_t>(us < 0               ? 0
                                                         : us > last_stamp_us ? last_stamp_us
                                                                              : us);
}

constexpr int64_t stamp_us(uint64_t stamp)
{
    return static_cast<int64_t>(stamp & static_cast<uint64_t>(last_stamp_us));
}

constexpr uint64_t stamp_back(uint64_t stamp)
{
    return stamp >> stamp_us_bits;
}

// An extension reaches this far past the id that asks for it, and is asked for when less than the
// early part of it is left.
constexpr int64_t extension_us = 2 * us_per_s;
constexpr int64_t early_extension_us = us_per_s;

// At most one extension falls into this time, counted from its flush, so that a standby whose
// replay lags by less misses at most one.
constexpr int64_t extension_interval_us = us_per_s;

// The entry of the current database with its floor and bound loaded. `function` is any function of
// the extension, to find its schema. An error during recovery.
Horizon* horizon_attach(Oid function);

// Extends the bound so that `needed` may be issued. Returns 0 when the bound may have moved, or how
// many microseconds from now an extension is possible again.
int64_t horizon_extend(Horizon* horizon, HorizonKind kind, uint64_t needed, int64_t now_us,
                       Oid function);

// Makes ids begin after that moment.
void horizon_raise(Horizon* horizon, int64_t us, Oid function);

// Lowers a horizon that lies further ahead than flakeid.max_ahead to just that; false when none
// does. What was stamped after it is forgotten.
bool horizon_repair(Horizon* horizon, int64_t now_us, Oid function);

// An error when the wall clock ran ahead of the uptime clock by more than flakeid.max_leap.
void check_leap(int64_t now_us);

} // namespace flakeid
