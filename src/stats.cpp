#include "stats.hpp"

#include "shared.hpp"

extern "C" {
#include "access/xact.h"
}

namespace flakeid {

uint64_t issued_here;

namespace {

void create(Stats* stats)
{
    pg_atomic_init_u64(&stats->issued, 0);
    pg_atomic_init_u64(&stats->largest_ahead_us, 0);
    pg_atomic_init_u64(&stats->waits, 0);
    pg_atomic_init_u64(&stats->waited_us, 0);
    pg_atomic_init_u64(&stats->set_backs, 0);
    pg_atomic_init_u64(&stats->largest_set_back_us, 0);
    pg_atomic_init_u64(&stats->extensions, 0);
    pg_atomic_init_u64(&stats->reset_at, static_cast<uint64_t>(GetCurrentTimestamp()));
}

Shared<Stats, create> shared;

void at_transaction_end(XactEvent, void*)
{
    stats_add_up();
}

} // namespace

void stats_init()
{
    shared.add();
}

Stats* shared_stats()
{
    return shared.get();
}

void stats_add_up()
{
    if (issued_here > 0) {
        pg_atomic_fetch_add_u64(&shared_stats()->issued, static_cast<int64>(issued_here));
        issued_here = 0;
    }
}

void stats_begin()
{
    static bool begun;
    if (!begun) {
        RegisterXactCallback(at_transaction_end, nullptr);
        begun = true;
    }
}

void count_ahead(int64_t us)
{
    raise_to(&shared_stats()->largest_ahead_us, static_cast<uint64_t>(us));
}

void count_wait(int64_t us)
{
    pg_atomic_fetch_add_u64(&shared_stats()->waits, 1);
    pg_atomic_fetch_add_u64(&shared_stats()->waited_us, us);
}

void count_extension()
{
    pg_atomic_fetch_add_u64(&shared_stats()->extensions, 1);
}

void count_set_back(int64_t us)
{
    pg_atomic_fetch_add_u64(&shared_stats()->set_backs, 1);
    raise_to(&shared_stats()->largest_set_back_us, static_cast<uint64_t>(us));
}

void stats_reset()
{
    Stats* stats = shared_stats();
    issued_here = 0;
    pg_atomic_uint64* const counters[] = {
        &stats->issued,    &stats->largest_ahead_us,    &stats->waits,     &stats->waited_us,
        &stats->set_backs, &stats->largest_set_back_us, &stats->extensions};
    for (pg_atomic_uint64* counter : counters) {
        pg_atomic_write_u64(counter, 0);
    }
    pg_atomic_write_u64(&stats->reset_at, static_cast<uint64_t>(GetCurrentTimestamp()));
}

} // namespace flakeid
