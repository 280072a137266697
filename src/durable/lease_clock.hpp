// What the coordinator of leases remembers even when the transaction that learnt it fails: how far
// its clock was, where it runs, and since when it rests because leases or renewals may be missing.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

// max_ttl and max_skew of any realm together.
constexpr int64_t most_lease_hold_s = 2 * 86400;

struct LeaseNow {
    int64_t now_us;        // what leases are reckoned with: it never goes back
    int64_t rest_until_us; // nothing is handed out before; 0: there is no rest
};

// The moment as leases have it. Leases of the realm that asks may count for `hold_s` seconds: a
// rest lasts as long as the longest ever did.
LeaseNow lease_clock_now(int64_t hold_s);

// Begins a rest, or ends it.
void lease_clock_rest(bool begin);

// Lets the clock of leases go back to the wall clock; by how many microseconds it was ahead.
int64_t lease_clock_repair();

// A dump was restored in which leases may have counted for `hold_s` seconds.
void lease_clock_restored(int64_t hold_s);

// What 0.1.0 kept in sequences.
struct OldLeases {
    int64_t clock_us;
    int64_t rest_us; // since when nothing is handed out; 0: it is
    int64_t place;   // where leases were handed out, as 0.1.0 has it; 0: nowhere
    bool dumped;     // they were where a dump comes from
    Oid history;     // table of leases
    int64_t hold_s;
};

void lease_clock_take_over(const OldLeases& old);

static_assert(is_plain<LeaseNow, OldLeases>);

} // namespace flakeid
