// Counters of the server, always on. A session counts for itself and adds up at the end of each
// transaction, so that a draw touches no shared memory for them.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

enum class Counter : int {
    issued,
    largest_ahead_us, // that an id was stamped ahead of the wall clock
    waits,            // draws that had to wait
    waited_us,
    set_backs, // of the wall clock, as far as they were seen
    largest_set_back_us,
    extensions, // of horizons
    lease_grants,
    lease_renewals,
    lease_failures,
    end
};
constexpr int counters = static_cast<int>(Counter::end);

// In shared memory.
struct Stats {
    pg_atomic_uint64 counter[counters];
    pg_atomic_uint64 reset_at; // TimestampTz: since when they count

    pg_atomic_uint64* of(Counter which) { return &counter[static_cast<int>(which)]; }
};

void stats_init();
Stats* shared_stats();

// What this session issued and did not add up yet. Adding up begins with stats_begin().
extern uint64_t issued_here;

void stats_begin();

inline void count_issued(uint32_t count)
{
    issued_here += count;
}

// Counts one.
void count(Counter which);

void count_ahead(int64_t us);
void count_wait(int64_t us);
void count_set_back(int64_t us);

// Adds up what this session issued.
void stats_add_up();

void stats_reset();

static_assert(is_plain<Stats>);

} // namespace flakeid
