// What happens to the wall clock while the server runs: set-backs, and leaps past the uptime clock.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

void clock_watch_init();

// Compares the wall clock with the uptime clock, counts and logs what happened to it. Called when a
// session sees the wall clock go back, and with every extension.
void observe_clock();

// An error when the wall clock ran ahead of the uptime clock by more than flakeid.max_leap since
// the server's start, or since accept_clock().
void check_leap(int64_t now_us);

void accept_clock();

} // namespace flakeid
