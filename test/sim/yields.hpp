// Compiled in front of every source of flakeid's server side: wherever it touches shared memory,
// another process may go on (machine.hpp).
#pragma once

extern "C" {
#include "postgres.h"
#include "port/atomics.h"
#include "storage/spin.h"

extern long sim_yields_left;
void sim_yield(void);
void sim_written(const volatile void* address);
}

static inline void sim_yield_point(void)
{
    if (unlikely(sim_yields_left <= 0)) {
        sim_yield();
    } else {
        sim_yields_left--;
    }
}

#define sim_write_point(p) (sim_yield_point(), sim_written(p))

#define pg_atomic_read_u32(p) (sim_yield_point(), pg_atomic_read_u32(p))
#define pg_atomic_write_u32(p, v) (sim_write_point(p), pg_atomic_write_u32(p, v))
#define pg_atomic_exchange_u32(p, v) (sim_write_point(p), pg_atomic_exchange_u32(p, v))
#define pg_atomic_compare_exchange_u32(p, e, v)                                                    \
    (sim_write_point(p), pg_atomic_compare_exchange_u32(p, e, v))
#define pg_atomic_fetch_add_u32(p, v) (sim_write_point(p), pg_atomic_fetch_add_u32(p, v))
#define pg_atomic_fetch_sub_u32(p, v) (sim_write_point(p), pg_atomic_fetch_sub_u32(p, v))
#define pg_atomic_fetch_and_u32(p, v) (sim_write_point(p), pg_atomic_fetch_and_u32(p, v))
#define pg_atomic_fetch_or_u32(p, v) (sim_write_point(p), pg_atomic_fetch_or_u32(p, v))
#define pg_atomic_read_u64(p) (sim_yield_point(), pg_atomic_read_u64(p))
#define pg_atomic_write_u64(p, v) (sim_write_point(p), pg_atomic_write_u64(p, v))
#define pg_atomic_exchange_u64(p, v) (sim_write_point(p), pg_atomic_exchange_u64(p, v))
#define pg_atomic_compare_exchange_u64(p, e, v)                                                    \
    (sim_write_point(p), pg_atomic_compare_exchange_u64(p, e, v))
#define pg_atomic_fetch_add_u64(p, v) (sim_write_point(p), pg_atomic_fetch_add_u64(p, v))
#define pg_atomic_fetch_sub_u64(p, v) (sim_write_point(p), pg_atomic_fetch_sub_u64(p, v))
#define pg_atomic_fetch_and_u64(p, v) (sim_write_point(p), pg_atomic_fetch_and_u64(p, v))
#define pg_atomic_fetch_or_u64(p, v) (sim_write_point(p), pg_atomic_fetch_or_u64(p, v))

// What is written before a barrier and after it is two steps for others.
static inline void sim_compiler_barrier(void)
{
    sim_yield_point();
    __asm__ __volatile__("" ::: "memory");
}
#undef pg_read_barrier
#undef pg_write_barrier
#undef pg_memory_barrier
#define pg_read_barrier() sim_compiler_barrier()
#define pg_write_barrier() sim_compiler_barrier()
#define pg_memory_barrier() sim_compiler_barrier()
