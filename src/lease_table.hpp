// What shared memory holds of leases. AddinShmemInitLock guards all of it except the
// atomics (lease.hpp).
#pragma once

#include "conninfo.hpp"
#include "core/answer.hpp"
#include "core/steady.hpp"
#include "postgres.hpp"

namespace flakeid {

constexpr int max_leases = 64;
constexpr uint32_t any_node = UINT32_MAX;
constexpr int lease_text_count = 8;

struct Lease {
    pg_atomic_uint64 end_us;  // exclusive; 0: not held. A renewal raises it
    pg_atomic_uint64 used_at; // Steady: when a session last asked for it
    int64_t start_us;
    int64_t last_end_us; // of the lease held last; when it was given back, if that was earlier
    uint32_t wanted;     // node, or any_node
    uint32_t max_node;   // that any_node may become
    uint32_t node;       // that is or was held
    uint32_t previous;   // the node that any_node was last, or any_node
    bool in_use;
    Trouble trouble; // of the last attempt to take or renew it
    unsigned char token[token_size];
};

// What the coordinator had to say about a lease. There are fewer of them than leases: the latest
// ones are kept.
struct LeaseText {
    int lease; // its place in the table, or -1
    char text[trouble_text_size];
};

struct LeaseTable {
    int keeper_pid; // 0: there is none
    Latch* keeper_latch;
    Steady keeper_asked_at;    // when a session began to start one; steady_past: none does
    pg_atomic_uint32 in_force; // not 0: slots are opened for leases only
    char coordinator[coordinator_name_size];
    int next_text; // that is written next
    LeaseText texts[lease_text_count];
    // What the keeper met, on the wall clock. 0: nothing yet.
    int64_t answered_us; // when the coordinator answered last
    int64_t silent_us;   // since when it does not; 0: it does
    int64_t failed_us;   // the last attempt that failed, and why
    Trouble failed;
    char failed_text[trouble_text_size];
    Lease leases[max_leases];
};

void lease_table_init();
LeaseTable* shared_leases();

static_assert(is_plain<Lease, LeaseText, LeaseTable>);

// Does something under the lock that guards the table. It must not wait or raise an error.
template <typename Action>
auto locked(LWLockMode mode, Action action)
{
    LWLockAcquire(AddinShmemInitLock, mode);
    auto result = action();
    LWLockRelease(AddinShmemInitLock);
    return result;
}

} // namespace flakeid
