#include "server/stats.hpp"

#include "server/shared.hpp"

extern "C" {
#include "access/xact.h"
}

namespace flakeid {

uint64_t issued_here;

namespace {

void create(Stats* stats)
{
    for (pg_atomic_uint64& counter : stats->counter) {
        pg_atomic_init_u64(&counter, 0);
    }
    pg_atomic_init_u64(&stats->reset_at, static_cast<uint64_t>(GetCurrentTimestamp()));
}

Shared<Stats, create> shared;

void add(Counter counter, int64_t much)
{
    pg_atomic_fetch_add_u64(shared.get()->of(counter), much);
}

void raise(Counter counter, int64_t value)
{
    raise_to(shared.get()->of(counter), static_cast<uint64_t>(value));
}

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
        add(Counter::issued, static_cast<int64_t>(issued_here));
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

void count(Counter which)
{
    add(which, 1);
}

void count_ahead(int64_t us)
{
    raise(Counter::largest_ahead_us, us);
}

void count_wait(int64_t us)
{
    count(Counter::waits);
    add(Counter::waited_us, us);
}

void count_set_back(int64_t us)
{
    count(Counter::set_backs);
    raise(Counter::largest_set_back_us, us);
}

void stats_reset()
{
    Stats* stats = shared_stats();
    issued_here = 0;
    for (pg_atomic_uint64& counter : stats->counter) {
        pg_atomic_write_u64(&counter, 0);
    }
    pg_atomic_write_u64(&stats->reset_at, static_cast<uint64_t>(GetCurrentTimestamp()));
}

} // namespace flakeid
