// What a coordinator of leases decides, as pure functions of what its rows and its clock say. Who
// calls them has locked the rows and writes what they say. Moments are microseconds since 1970;
// INT64_MIN and INT64_MAX are the infinite ones.
#pragma once

#include "core/generation.hpp"
#include "core/lease_rules.hpp"

#include <cstdint>

namespace flakeid {

constexpr int64_t endless_us = INT64_MAX;
constexpr int64_t never_leased_us = INT64_MIN; // free_from of a node that nobody had

struct LeaseRealm {
    int32_t nodes;
    int32_t max_ttl_s;
    int32_t max_skew_s;
    unsigned char id[uuid_size];
};
constexpr LeaseRealm default_lease_realm{1024, 120, 10, {}};

enum class LeaseRefusal : unsigned char {
    none,
    no_holder,    // a holder without a name
    bad_holder,   // one with a name that is too long, or not printable
    bad_max_node, // max_node below 0
    no_realm,
    bad_length,   // none, below 1 s, or above max_ttl
    rests,        // the coordinator hands out nothing
    out_of_range, // the realm has no such node
    in_use,       // the node is not free yet
    all_leased,   // and so are all others
    busy,         // another transaction has locked the node
    last_busy,    // and so it is with all that are free
    unknown,      // no such lease
    other_lease,  // the node has a later lease, or this one was given back
    ended,        // before it was to be renewed
    too_soon,     // it ends too soon to be renewed while the coordinator rests
    outside,      // a last stamp that lies outside the lease
    used_token,   // of another lease, or of one that has ended
    same_time,    // the token was asked with at the same time
    not_believed, // the holder knows another realm or a later coordinator
    bad_version,  // of the wire
};

// The SQLSTATE that says so.
const char* lease_sqlstate(LeaseRefusal refusal);

// Length of a lease in whole seconds, or 0 for one that is refused. `ttl_us` < 0: none was named.
int32_t lease_length_s(const LeaseRealm& realm, int64_t ttl_us);

struct AcquireWish {
    bool named;    // the holder has a name
    bool bad_name; // that nobody can read
    int64_t ttl_us;
    bool any; // any node; otherwise `node`
    int32_t node;
    bool has_max_node; // `max_node` counts
    int32_t max_node;
};

// Which nodes may be given, before any row is looked at.
struct AcquireRange {
    LeaseRefusal refusal;
    int32_t length_s;
    int32_t low, top; // for any node
};
LeaseRefusal
check_acquire_names(const AcquireWish& wish); // before the realm and the clock are read
AcquireRange decide_range(const LeaseRealm& realm, const LeaseMoment& moment,
                          const AcquireWish& wish);

// Of two free nodes the one that goes first, where the search begins at `first`.
bool goes_first(int32_t first, int32_t node, int32_t other_node);

struct GrantDecision {
    LeaseRefusal refusal;
    int64_t start_us, end_us;
};
GrantDecision decide_grant(const LeaseMoment& moment, int64_t free_from_us, int32_t length_s);

// What is asked again with a token that has a lease.
struct AgainQuestion {
    bool same;            // realm, holder and nodes are those of the lease
    bool current;         // as in RenewQuestion
    int64_t free_from_us; // of the node
    int64_t start_us;     // of the lease
    int64_t ttl_us;
};
GrantDecision decide_again(const LeaseRealm& realm, const LeaseMoment& moment,
                           const AgainQuestion& question);

struct RenewQuestion {
    int64_t ttl_us;
    bool has_known_end;
    int64_t known_end_us; // that the holder knows
    bool current;         // the node's last lease is this one, and it was not given back
    int64_t free_from_us; // of the node
};
struct RenewDecision {
    LeaseRefusal refusal;
    int64_t end_us;
    bool claimed; // the holder knows a later end than the coordinator
};
RenewDecision decide_renew(const LeaseRealm& realm, const LeaseMoment& moment,
                           const RenewQuestion& question);

struct ReleaseQuestion {
    int64_t start_us, end_us; // of the lease
    bool released;
    bool has_last;
    int64_t last_us;    // moment of the last id
    int64_t earlier_us; // from when the node was free before the lease
};
struct ReleaseDecision {
    LeaseRefusal refusal;
    int64_t free_us; // the node is free from then on
    int64_t end_us;  // of the lease
    bool changes;    // false: it was given back before
};
ReleaseDecision decide_release(const LeaseRealm& realm, const LeaseMoment& moment,
                               const ReleaseQuestion& question);

// A superuser says that the holder is gone. False when the node is free.
bool decide_revoke(const LeaseMoment& moment, int64_t free_from_us, int64_t* new_free_from_us);

static_assert(is_plain<LeaseRealm, AcquireWish, AcquireRange, GrantDecision, AgainQuestion,
                       RenewQuestion, RenewDecision, ReleaseQuestion, ReleaseDecision>);

} // namespace flakeid
