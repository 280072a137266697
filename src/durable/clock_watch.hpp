// What happens to the wall clock while the server runs: set-backs, and leaps past the uptime clock.
//
// Locking: none. Each offset is atomic and true by itself. Of several sessions that see one event,
// the one that swaps the latest offset counts it.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

void clock_watch_init();

// Compares the wall clock with the uptime clock, counts and logs what happened to it. Called when a
// session sees the wall clock go back, and with every extension.
void observe_clock();

// Raises an error when the wall clock, `now_us`, ran ahead of the uptime clock by more than
// flakeid.max_leap since the server's start, or since accept_clock().
void check_leap(int64_t now_us);

// Takes the wall clock as right from now on.
void accept_clock();

} // namespace flakeid
