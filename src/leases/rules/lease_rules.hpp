// What a coordinator of leases decides, as pure functions of what its rows and its clock say. The
// caller has locked the rows, and writes what they say. Moments are microseconds since 1970;
// INT64_MIN and INT64_MAX are the infinite ones.
#pragma once

#include "core/plain.hpp"

#include <cstdint>

namespace flakeid {

// What the coordinator keeps of its clock whatever becomes of the transaction that reads it.
struct LeaseClock {
    int64_t clock_us; // how far it was
    int64_t rest_us;  // since when nothing is handed out; 0: it is
    int64_t origin;   // where leases were handed out; 0: nowhere
    int64_t hold_s;   // the longest that a lease may have counted, ever
    int64_t term;     // number of this one (term.hpp), or of the last one before
};

// The moment as leases have it.
struct LeaseMoment {
    int64_t now_us;        // never goes back
    int64_t rest_until_us; // nothing is handed out before; 0: there is no rest
};

struct LeaseClockRead {
    LeaseClock clock; // to be kept
    LeaseMoment moment;
    bool moved; // promoted, copied or upgraded: a rest has begun
};

// `here` tells where this coordinator runs, not 0; leases of the realm that asks may count for
// `hold_s` seconds.
LeaseClockRead read_lease_clock(LeaseClock clock, int64_t wall_us, int64_t here, int64_t hold_s);

// Begins a rest now, and a term.
LeaseClock begin_lease_rest(LeaseClock clock, int64_t wall_us);

LeaseClock end_lease_rest(LeaseClock clock);

// Lets the clock of leases go back to the wall clock.
LeaseClock repair_lease_clock(LeaseClock clock, int64_t wall_us);

// Begins a rest since a dump was restored in which leases may have counted for `hold_s` seconds.
LeaseClock restored_lease_clock(LeaseClock clock, int64_t wall_us, int64_t hold_s);

// The nodes of a realm are divided into ranges of one size, and a lease is of one range: so leases
// of different ranges have no node in common.
struct LeaseRealm {
    int32_t first_node;
    int32_t nodes;       // from first_node on
    int32_t lease_nodes; // of each range; `nodes` is a multiple of it
    int32_t max_ttl_s;
    int32_t max_skew_s;
};

// Why a coordinator says no; the first ones are decided here, the others are found by whoever looks
// for the rows and locks them.
enum class LeaseRefusal : unsigned char {
    none,
    bad_length,   // none, below 1 s, or above max_ttl
    rests,        // the coordinator hands out nothing
    out_of_range, // the realm has no such node
    inside,       // of a range that begins with another node
    in_use,       // the node is not free yet
    all_leased,   // and so are all others
    used_token,   // of another lease, or of one that has ended
    other_lease,  // the node has a later lease, or this one was given back
    ended,        // before it was to be renewed
    too_soon,     // it ends too soon to be renewed while the coordinator rests
    outside,      // a last stamp that lies outside the lease
    no_holder,    // a holder without a name
    bad_holder,   // one with a name that is too long, or not printable
    bad_max_node, // max_node below 0
    no_realm,
    busy,         // another transaction has locked the node
    last_busy,    // and so it is with all that are free
    unknown,      // no such lease
    same_time,    // the token was asked with at the same time
    not_believed, // the holder knows another realm or a later coordinator
    bad_version,  // of the protocol
};

// Returns the length of a lease in whole seconds, or 0 for one that is refused.
int32_t lease_length_s(int32_t max_ttl_s, int64_t ttl_us);

// Which ranges may be given, before any row is looked at. A range goes by its first node.
struct AcquireWish {
    bool any; // any range; otherwise the one that begins with `node`
    int32_t node;
    bool has_max_node; // `max_node` counts: the range ends there, or before
    int32_t max_node;
    double chance; // in [0, 1)
};
struct AcquireRange {
    LeaseRefusal refusal;
    int32_t low, top; // for any: the first nodes of the first and of the last range
    // The free range that is given is the first from here on, or else from `low` on: two
    // coordinators that were left beside each other by mistake seldom give the same one.
    int32_t first;
};
AcquireRange decide_range(const LeaseRealm& realm, const LeaseMoment& moment,
                          const AcquireWish& wish);

// From when until when. `free_from_us` is that of the node; of any node, where none is free, the
// earliest of all.
struct GrantDecision {
    LeaseRefusal refusal;
    int64_t start_us, end_us;
};
GrantDecision decide_grant(const LeaseMoment& moment, bool any, int64_t free_from_us,
                           int32_t length_s);

struct RenewQuestion {
    int32_t length_s;
    bool has_known_end;
    int64_t known_end_us; // that the holder knows
    bool current;         // the node's last lease is this one, and it was not given back
    int64_t free_from_us; // of the node
};
struct RenewDecision {
    LeaseRefusal refusal;
    int64_t end_us; // of a lease that has ended: when
    bool claimed;   // the holder knows a later end than the coordinator
};
RenewDecision decide_renew(const LeaseRealm& realm, const LeaseMoment& moment,
                           const RenewQuestion& question);

// What is asked again with a token that has a lease. `same`: realm, holder and nodes are those of
// the lease.
RenewDecision decide_again(const LeaseRealm& realm, const LeaseMoment& moment, bool same,
                           const RenewQuestion& question);

struct ReleaseQuestion {
    int64_t start_us, end_us; // of the lease
    bool over;                // it was given back, or the node has another one
    bool has_last;
    int64_t last_us;    // moment of the last id
    int64_t earlier_us; // from when the node was free before the lease
};
struct ReleaseDecision {
    LeaseRefusal refusal;
    int64_t free_us; // the node is free from then on
    int64_t end_us;  // of the lease
    bool changes;    // false: nothing is left to give back
};
ReleaseDecision decide_release(const LeaseRealm& realm, const LeaseMoment& moment,
                               const ReleaseQuestion& question);

// A superuser says that the holder is gone. False when the node is free.
bool decide_revoke(const LeaseMoment& moment, int64_t free_from_us, int64_t* new_free_from_us);

static_assert(is_plain<LeaseClock, LeaseMoment, LeaseClockRead, LeaseRealm, AcquireWish>);
static_assert(is_plain<AcquireRange, GrantDecision, RenewQuestion, RenewDecision>);
static_assert(is_plain<ReleaseQuestion, ReleaseDecision>);

} // namespace flakeid
