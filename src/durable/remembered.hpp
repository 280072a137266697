// What the server remembers of its ids, in shared memory: how far they were stamped, and by which
// nodes.
//
// Locking: none. Every number is atomic and true by itself. A session that is stopped while it
// raises them leaves some raised, which only skips time.
#pragma once

#include "core/stamp.hpp"
#include "server/shared.hpp"

namespace flakeid {

// Numbers that only rise, except that a repair lowers moments.
struct Remembered {
    pg_atomic_uint64 stamp[horizon_kinds];
    pg_atomic_uint64 latest_us;
    pg_atomic_uint64 least_us;
    pg_atomic_uint64 most_ahead_us;
    pg_atomic_uint64 nodes;
};

inline void create(Remembered* numbers)
{
    for (pg_atomic_uint64* number :
         {&numbers->stamp[plain_horizon], &numbers->stamp[back_horizon], &numbers->latest_us,
          &numbers->most_ahead_us, &numbers->nodes, &numbers->least_us}) {
        pg_atomic_init_u64(number, 0);
    }
}

inline uint64_t number_of(int64_t value)
{
    return static_cast<uint64_t>(value);
}

inline void set(pg_atomic_uint64* number, int64_t value)
{
    pg_atomic_write_u64(number, number_of(value));
}

inline int64_t read(pg_atomic_uint64* number)
{
    return static_cast<int64_t>(pg_atomic_read_u64(number));
}

inline void raise(Remembered* to, const Stamped& stamped)
{
    for (int kind = 0; kind < horizon_kinds; kind++) {
        raise_to(&to->stamp[kind], number_of(stamped.stamp[kind]));
    }
    raise_to(&to->latest_us, number_of(stamped.latest_us));
    raise_to(&to->most_ahead_us, number_of(stamped.most_ahead_us));
    raise_to(&to->least_us, number_of(stamped.least_us));
    pg_atomic_fetch_or_u64(&to->nodes, number_of(stamped.nodes));
}

inline Stamped stamped_of(Remembered* from)
{
    return {{read(&from->stamp[plain_horizon]), read(&from->stamp[back_horizon])},
            read(&from->latest_us),
            read(&from->least_us),
            read(&from->most_ahead_us),
            read(&from->nodes)};
}

static_assert(is_plain<Remembered>);

} // namespace flakeid
