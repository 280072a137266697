// The clocks that generators read.
#pragma once

#include "core/layout.hpp"
#include "core/steady.hpp"
#include "server/postgres.hpp"

#include <algorithm>
#include <time.h>

namespace flakeid {

inline int64_t read_clock_us(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

// Returns the wall clock, since 1970.
inline int64_t wall_us()
{
    return read_clock_us(CLOCK_REALTIME);
}

// Returns the wall clock as of the last timer interrupt: some milliseconds late, at a tenth of the
// cost.
inline int64_t coarse_wall_us()
{
#ifdef CLOCK_REALTIME_COARSE
    return read_clock_us(CLOCK_REALTIME_COARSE);
#else
    return wall_us();
#endif
}

inline Steady steady_now()
{
    return Steady{read_clock_us(CLOCK_MONOTONIC)};
}

// Never set back either, and goes on while the machine is suspended.
inline int64_t uptime_us()
{
    return read_clock_us(CLOCK_BOOTTIME);
}

// A wait is cut into pieces of this length, because the clock may be corrected meanwhile.
constexpr int64_t longest_nap_us = 100 * us_per_ms;

// Sleeps for so long, or less. The caller holds no lock of flakeid's; an interrupt ends it.
inline void nap(int64_t us)
{
    Assert(INTERRUPTS_CAN_BE_PROCESSED());
    const auto ms = static_cast<long>((std::min(us, longest_nap_us) + us_per_ms - 1) / us_per_ms);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms,
                    PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

constexpr int64_t us_from_1970_to_2000 =
    static_cast<int64_t>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;

// Converts a finite timestamptz to microseconds since 1970, clamped to what 64 bits hold.
inline int64_t us_since_1970(TimestampTz timestamp)
{
    return timestamp > PG_INT64_MAX - us_from_1970_to_2000 ? PG_INT64_MAX
                                                           : timestamp + us_from_1970_to_2000;
}

// Converts a moment since 1970 to a timestamptz; false when that type cannot hold it.
inline bool to_timestamptz(int64_t us, TimestampTz* timestamp)
{
    if (us > END_TIMESTAMP) {
        return false;
    }
    *timestamp = us - us_from_1970_to_2000;
    return IS_VALID_TIMESTAMP(*timestamp);
}

} // namespace flakeid
