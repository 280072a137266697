#include "server/stats.hpp"

#include "server/shared.hpp"

namespace flakeid {

uint64_t issued_here;

namespace {

size_t size()
{
    return offsetof(Stats, issued) + static_cast<size_t>(MaxBackends) * sizeof(Issued);
}

void create(void* memory)
{
    auto* stats = static_cast<Stats*>(memory);
    for (pg_atomic_uint64& counter : stats->counter) {
        pg_atomic_init_u64(&counter, 0);
    }
    pg_atomic_init_u64(&stats->reset_at, static_cast<uint64_t>(GetCurrentTimestamp()));
    for (int i = 0; i < MaxBackends; i++) {
        pg_atomic_init_u64(&stats->issued[i].count, 0);
    }
}

SharedPart shared = {size, create, nullptr, nullptr};

Stats* attached()
{
    if (unlikely(shared.memory == nullptr)) {
        shared_attach();
    }
    return static_cast<Stats*>(shared.memory);
}

pg_atomic_uint64* of(Counter which)
{
    return &attached()->counter[static_cast<int>(which)];
}

void add(Counter counter, int64_t much)
{
    pg_atomic_fetch_add_u64(of(counter), much);
}

void raise(Counter counter, int64_t value)
{
    raise_to(of(counter), static_cast<uint64_t>(value));
}

uint64_t issued_by_all()
{
    uint64_t sum = 0;
    for (int i = 0; i < MaxBackends; i++) {
        sum += pg_atomic_read_u64(&attached()->issued[i].count);
    }
    return sum;
}

} // namespace

void stats_init()
{
    shared_add(&shared);
}

int64_t counted(Counter which)
{
    const uint64_t value = pg_atomic_read_u64(of(which));
    return static_cast<int64_t>(which == Counter::issued ? issued_by_all() - value : value);
}

TimestampTz stats_reset_at()
{
    return static_cast<TimestampTz>(pg_atomic_read_u64(&attached()->reset_at));
}

void stats_add_up()
{
    if (issued_here > 0) {
        pg_atomic_uint64* sum = &attached()->issued[process_number(MyProc)].count;
        pg_atomic_write_u64(sum, pg_atomic_read_u64(sum) + issued_here);
        issued_here = 0;
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
    stats_add_up();
    for (pg_atomic_uint64& counter : attached()->counter) {
        pg_atomic_write_u64(&counter, 0);
    }
    pg_atomic_write_u64(of(Counter::issued), issued_by_all());
    pg_atomic_write_u64(&attached()->reset_at, static_cast<uint64_t>(GetCurrentTimestamp()));
}

} // namespace flakeid
