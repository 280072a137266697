// Counters of the server, always on. A session counts the ids that it issues for itself and, at the
// end of each transaction, in a cache line of its process: a draw touches no shared memory for
// them, and a commit none that others write.
//
// Locking: none. Every number is atomic and true by itself; two of them may be of different
// moments. Stats::issued of a process is written by the process alone. A reset counts what is added
// during it, or does not.
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

// What one process issued, whatever sessions it was.
struct alignas(64) Issued {
    pg_atomic_uint64 count;
};

// In shared memory.
struct Stats {
    pg_atomic_uint64 counter[counters];   // of Counter::issued: what had been issued at the reset
    pg_atomic_uint64 reset_at;            // TimestampTz: since when they count
    Issued issued[FLEXIBLE_ARRAY_MEMBER]; // of each process; the process alone writes it
};

void stats_init();

// Since the reset.
int64_t counted(Counter which);
TimestampTz stats_reset_at();

// What this session issued and did not add up yet.
extern uint64_t issued_here;

inline void count_issued(uint32_t count)
{
    issued_here += count;
}

// Counts one.
void count(Counter which);

void count_ahead(int64_t us);
void count_wait(int64_t us);
void count_set_back(int64_t us);

// Adds up what this session issued; at the end of each transaction.
void stats_add_up();

void stats_reset();

static_assert(is_plain<Issued, Stats>);

} // namespace flakeid
