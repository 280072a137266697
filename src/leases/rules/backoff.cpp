#include "backoff.hpp"

#include "core/layout.hpp"

#include <algorithm>

namespace flakeid {

namespace {

constexpr int64_t least_renewal_us = 500000;

// `us`, less any part of a share of it.
int64_t scattered(int64_t us, int64_t share, double chance)
{
    const int64_t part = us / share;
    return us - static_cast<int64_t>(static_cast<double>(part) * chance);
}

} // namespace

void postpone(Attempts& attempts, Steady now, double chance)
{
    attempts.backoff_us = attempts.backoff_us == 0
                              ? first_backoff_us
                              : std::min(2 * attempts.backoff_us, last_backoff_us);
    attempts.due = now + scattered(attempts.backoff_us, 2, chance);
}

void postpone_with(const Attempts& connecting, Attempts& attempts, Steady now, double chance)
{
    if (now < connecting.due) {
        attempts.due = connecting.due;
    } else {
        postpone(attempts, now, chance);
    }
}

int64_t patient_wait_us(int64_t wall_us)
{
    return std::min(first_backoff_us, us_per_s - wall_us % us_per_s);
}

int64_t renewal_wait_us(int64_t length_us, int64_t left_us, double chance)
{
    const int64_t wait_us = std::min(length_us / 3, std::max(least_renewal_us, left_us / 2));
    return scattered(wait_us, 4, chance);
}

bool renews_early(int64_t length_us, int64_t wait_us)
{
    return wait_us <= length_us / 6;
}

} // namespace flakeid
