// What the coordinator of leases remembers even when the transaction that learnt it fails: how far
// its clock was, where it runs, and since when it rests because leases or renewals may be missing.
#pragma once

#include "leases/rules/lease_rules.hpp"
#include "server/postgres.hpp"

namespace flakeid {

struct LeaseNow {
    LeaseMoment moment;
    int64_t term; // its number and place, as in leases/rules/term.hpp
    int64_t place;
};

// Returns the moment as leases have it, and begins a rest where this server is not the one that
// handed them out. Leases of the realm that asks may count for `hold_s` seconds, and that is
// remembered: a rest lasts as long as the longest ever did.
LeaseNow lease_clock_now(int64_t hold_s);

// Begins a rest now, or ends it.
void lease_clock_rest(bool begin);

// Lets the clock of leases go back to the wall clock. Returns by how many microseconds it was
// ahead.
int64_t lease_clock_repair();

static_assert(is_plain<LeaseNow>);

} // namespace flakeid
