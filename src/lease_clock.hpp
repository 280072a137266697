// What the coordinator of leases remembers even when the transaction that learnt it fails: how far
// its clock was, where it runs, and since when it rests because leases or renewals may be missing.
#pragma once

#include "server.hpp"

namespace flakeid {

// max_ttl and max_skew of any realm together.
constexpr int64_t most_lease_hold_s = 2 * 86400;

// A dump was restored in which leases may have counted for `hold_s` seconds.
void lease_clock_restored(int64_t hold_s);

} // namespace flakeid
