// What a coordinator of leases decides, as pure functions of what its rows and its clock say. The
// caller has locked the rows, and writes what they say. Moments are microseconds since 1970.
#pragma once

#include "plain.hpp"

#include <cstdint>

namespace flakeid {

// What the coordinator keeps of its clock whatever becomes of the transaction that reads it.
struct LeaseClock {
    int64_t clock_us;   // how far it was
    int64_t rest_us;    // since when nothing is handed out; 0: it is
    int64_t origin;     // where leases were handed out; 0: nowhere
    int64_t hold_s;     // the longest that a lease may have counted, ever
    int64_t generation; // number of this one (generation.hpp), or of the last one before
};

// The moment as leases have it.
struct LeaseMoment {
    int64_t now_us;        // never goes back
    int64_t rest_until_us; // nothing is handed out before; 0: there is no rest
};

struct LeaseClockRead {
    LeaseClock clock; // to be kept
    LeaseMoment moment;
    bool moved; // promoted, copied or upgraded: a rest has begun
};

// `here` tells where this coordinator runs, not 0; leases of the realm that asks may count for
// `hold_s` seconds.
LeaseClockRead read_lease_clock(LeaseClock clock, int64_t wall_us, int64_t here, int64_t hold_s);

// Begins a rest now, and a generation.
LeaseClock begin_lease_rest(LeaseClock clock, int64_t wall_us);

LeaseClock end_lease_rest(LeaseClock clock);

// Lets the clock of leases go back to the wall clock.
LeaseClock repair_lease_clock(LeaseClock clock, int64_t wall_us);

// Begins a rest since a dump was restored in which leases may have counted for `hold_s` seconds.
LeaseClock restored_lease_clock(LeaseClock clock, int64_t wall_us, int64_t hold_s);

static_assert(is_plain<LeaseClock, LeaseMoment, LeaseClockRead>);

} // namespace flakeid
