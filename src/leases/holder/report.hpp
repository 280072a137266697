// What people are told of leases and of the coordinator: in errors, in the log and in views.
#pragma once

#include "leases/holder/lease.hpp"

namespace flakeid {

// What the coordinator said; palloc'ed.
const char* coordinator_text_of(const Lease* lease);

// Returns "node 5", or "nodes 16 to 31"; palloc'ed.
const char* nodes_text(uint32_t node, uint32_t nodes);

// How the coordinator does, as far as the lease worker asked it; moments on the wall clock, 0:
// none.
struct CoordinatorReport {
    int64_t answered_us; // last
    int64_t silent_us;   // since when it does not answer; 0: it does
    int64_t failed_us;   // the last attempt that failed, and why, for this user; palloc'ed
    const char* failed;
    int file_error; // errno: why leases are not kept for the next start; 0: they are
};
CoordinatorReport report_coordinator();

// One of the server's leases, from 0 to max_leases. False when that place is not in use.
struct LeaseReport {
    uint32_t wanted; // node, or any_node
    uint32_t node;   // that is or was held, the first one
    uint32_t nodes;  // how many, from that one on
    int64_t end_us;  // 0: not held
    int64_t last_end_us;
    const char* reasons; // why it is not held, for this user; palloc'ed
};
bool report_lease(int place, LeaseReport* report);

// A line in the log each: the coordinator cannot be reached, can be again, gives no lease.
void log_away(const char* why);
void log_back();
void log_no_lease(const char* why);

static_assert(is_plain<CoordinatorReport, LeaseReport>);

} // namespace flakeid
