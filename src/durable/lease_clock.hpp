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

// Returns the moment as leases have it. Leases of the realm that asks may count for `hold_s`
// seconds: a rest lasts as long as the longest ever did.
LeaseNow lease_clock_now(int64_t hold_s);

// Begins a rest, or ends it.
void lease_clock_rest(bool begin);

// Lets the clock of leases go back to the wall clock; by how many microseconds it was ahead.
int64_t lease_clock_repair();

// A dump was restored in which leases may have counted for `hold_s` seconds.
void lease_clock_restored(int64_t hold_s);

static_assert(is_plain<LeaseNow>);

} // namespace flakeid
