// When a holder of leases asks its coordinator again. Pure: time and chance are arguments.
//
// Thousands that lost their coordinator together, or began together, must not come back together:
// a part of every wait is left to chance, a number in [0, 1).
#pragma once

#include "core/plain.hpp"
#include "core/steady.hpp"

namespace flakeid {

// When to try something again.
struct Attempts {
    Steady due;
    int64_t backoff_us;
};
static_assert(is_plain<Attempts>);

constexpr int64_t first_backoff_us = 100000;
constexpr int64_t last_backoff_us = 5000000;

// Plans the next attempt after a failed one: twice as long as the time before at most, and half of
// that at least.
void postpone(Attempts& attempts, Steady now, double chance);

// The same of one of many that share a connection: when there is none they are due with it, and
// none of them waits for longer than that.
void postpone_with(const Attempts& connecting, Attempts& attempts, Steady now, double chance);

// Returns how long to wait for a node that was just given back: not past the next whole second of
// the wall clock, which is when it is free if the coordinator's clock is the same.
int64_t patient_wait_us(int64_t wall_us);

// Returns how long after a grant or renewal the next renewal is due: at a third of the length at
// the latest, and up to a quarter of that earlier; earlier still when the coordinator's clock is
// behind this server's, so that less than the length is left.
int64_t renewal_wait_us(int64_t length_us, int64_t left_us, double chance);

// Tells whether a lease that is due after `wait_us` may as well be renewed now, since there is a
// connection: half of the time to its renewal has passed.
bool renews_early(int64_t length_us, int64_t wait_us);

} // namespace flakeid
