#include "lease_rules.hpp"

#include "generation.hpp"

#include <algorithm>

namespace flakeid {

namespace {

constexpr int64_t s_us = 1000000;
constexpr int64_t written_every_us = s_us; // the clock is kept when it has gone on by this much

} // namespace

LeaseClockRead read_lease_clock(LeaseClock clock, int64_t wall_us, int64_t here, int64_t hold_s)
{
    const int64_t now_us = std::max(wall_us, clock.clock_us);
    const bool moved = clock.origin != here && clock.origin != 0;
    if (moved) {
        clock.rest_us = now_us;
    }
    if (clock.origin != here) {
        clock.generation = next_generation(clock.generation, now_us);
    }
    clock.origin = here;
    clock.hold_s = std::max(clock.hold_s, hold_s);
    if (now_us - clock.clock_us >= written_every_us) {
        clock.clock_us = now_us;
    }
    // Whole seconds, as everything about leases.
    const int64_t until_us = (clock.rest_us / s_us + clock.hold_s + 1) * s_us;
    const bool rests = clock.rest_us != 0 && until_us > now_us;
    return {clock, {now_us, rests ? until_us : 0}, moved};
}

LeaseClock begin_lease_rest(LeaseClock clock, int64_t wall_us)
{
    clock.rest_us = std::max(wall_us, clock.clock_us);
    clock.generation = next_generation(clock.generation, clock.rest_us);
    return clock;
}

LeaseClock end_lease_rest(LeaseClock clock)
{
    clock.rest_us = 0;
    return clock;
}

LeaseClock repair_lease_clock(LeaseClock clock, int64_t wall_us)
{
    clock.clock_us = wall_us;
    return clock;
}

LeaseClock restored_lease_clock(LeaseClock clock, int64_t wall_us, int64_t hold_s)
{
    clock.rest_us = std::max(clock.rest_us, wall_us);
    clock.generation = next_generation(clock.generation, clock.rest_us);
    clock.hold_s = std::max(clock.hold_s, hold_s);
    return clock;
}

} // namespace flakeid
