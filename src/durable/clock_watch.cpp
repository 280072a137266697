#include "durable/clock_watch.hpp"

#include "server/clock.hpp"
#include "server/messages.hpp"
#include "settings/settings.hpp"
#include "server/shared.hpp"
#include "server/stats.hpp"

namespace flakeid {

namespace {

// Less is the noise of reading two clocks one after the other, or a clock being slewed.
constexpr int64_t least_set_back_us = 500;
constexpr int64_t least_leap_us = us_per_s;

// Set-backs that follow each other faster than this are counted, and the first is logged.
constexpr int64_t log_interval_us = us_per_s;

// Offsets are the wall clock minus the uptime clock.
struct ClockWatch {
    pg_atomic_uint64 accepted_offset; // when the server started, or flakeid.accept_clock() ran
    pg_atomic_uint64 latest_offset;   // as last seen
    pg_atomic_uint64 logged_at;       // Steady
};
static_assert(is_plain<ClockWatch>);

uint64_t offset_now()
{
    const int64_t now_us = wall_us();
    return static_cast<uint64_t>(now_us - uptime_us());
}

void create(ClockWatch* watch)
{
    pg_atomic_init_u64(&watch->accepted_offset, offset_now());
    pg_atomic_init_u64(&watch->latest_offset, offset_now());
    pg_atomic_init_u64(&watch->logged_at, 0);
}

Shared<ClockWatch, create> shared;

} // namespace

void clock_watch_init()
{
    shared.add();
}

void observe_clock()
{
    const int64_t before = uptime_us();
    const int64_t now_us = wall_us();
    const int64_t offset = now_us - before;
    if (uptime_us() - before >= least_set_back_us / 2) {
        return; // interrupted between the two clocks: the next look tells
    }
    ClockWatch* watch = shared.get();
    uint64_t seen = pg_atomic_read_u64(&watch->latest_offset);
    const int64_t change = offset - static_cast<int64_t>(seen);
    if (!pg_atomic_compare_exchange_u64(&watch->latest_offset, &seen,
                                        static_cast<uint64_t>(offset))) {
        return; // another session sees the same event
    }
    if (change <= -least_set_back_us) {
        count_set_back(-change);
        const Steady now = steady_now();
        if (now - static_cast<Steady>(pg_atomic_read_u64(&watch->logged_at)) < log_interval_us) {
            return;
        }
        // same without: only the log
        pg_atomic_write_u64(&watch->logged_at, static_cast<uint64_t>(now));
        ereport(LOG, errmsg("the clock was set back by %s", duration_text(-change)),
                errdetail("It says %s now. Ids go on in order as long as flakeid.max_ahead allows.",
                          moment_text(now_us)));
    } else if (change >= least_leap_us) {
        ereport(LOG, errmsg("the clock leapt forward by %s", duration_text(change)),
                errdetail("It says %s now.", moment_text(now_us)));
    }
}

void check_leap(int64_t now_us)
{
    const auto offset = static_cast<int64_t>(pg_atomic_read_u64(&shared.get()->accepted_offset));
    const int64_t uptime = uptime_us();
    const int64_t leap = now_us - uptime - offset;
    if (settings.max_leap_us > 0 && leap > settings.max_leap_us) {
        ereport(
            ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("the wall clock ran ahead of the uptime clock by %s since the server's start",
                   duration_text(leap)),
            errdetail("The wall clock says %s, the uptime clock %s; flakeid.max_leap is %s.",
                      moment_text(now_us), moment_text(uptime + offset),
                      duration_text(settings.max_leap_us)),
            errhint("Correct the clock. If the new time is right, run SELECT "
                    "flakeid.accept_clock() as a superuser."));
    }
}

void accept_clock()
{
    pg_atomic_write_u64(&shared.get()->accepted_offset, offset_now());
}

} // namespace flakeid
