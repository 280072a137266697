// The clocks that generators read.
#pragma once

#include "core/steady.hpp"
#include "server/postgres.hpp"

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
