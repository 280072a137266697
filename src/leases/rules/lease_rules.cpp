#include "lease_rules.hpp"

#include "term.hpp"
#include "core/layout.hpp"

#include <algorithm>

namespace flakeid {

namespace {

constexpr int64_t written_every_us = us_per_s; // the clock is kept when it has gone on by this much

int64_t whole_second(int64_t us)
{
    if (us == INT64_MIN || us == INT64_MAX) {
        return us;
    }
    const int64_t rest = us % us_per_s;
    return us - (rest < 0 ? rest + us_per_s : rest);
}

int64_t next_second(int64_t us)
{
    return us == INT64_MIN || us == INT64_MAX ? us : whole_second(us) + us_per_s;
}

} // namespace

LeaseClockRead read_lease_clock(LeaseClock clock, int64_t wall_us, int64_t here, int64_t hold_s)
{
    const int64_t now_us = std::max(wall_us, clock.clock_us);
    const bool moved = clock.origin != here && clock.origin != 0;
    if (moved) {
        clock.rest_us = now_us;
    }
    if (clock.origin != here) {
        clock.term = next_term(clock.term, now_us);
    }
    clock.origin = here;
    clock.hold_s = std::max(clock.hold_s, hold_s);
    if (now_us - clock.clock_us >= written_every_us) {
        clock.clock_us = now_us;
    }
    // Whole seconds, as everything about leases.
    const int64_t until_us = (clock.rest_us / us_per_s + clock.hold_s + 1) * us_per_s;
    const bool rests = clock.rest_us != 0 && until_us > now_us;
    return {clock, {now_us, rests ? until_us : 0}, moved};
}

LeaseClock begin_lease_rest(LeaseClock clock, int64_t wall_us)
{
    clock.rest_us = std::max(wall_us, clock.clock_us);
    clock.term = next_term(clock.term, clock.rest_us);
    return clock;
}

LeaseClock end_lease_rest(LeaseClock clock)
{
    clock.rest_us = 0;
    return clock;
}

LeaseClock repair_lease_clock(LeaseClock clock, int64_t wall_us)
{
    clock.clock_us = wall_us;
    return clock;
}

LeaseClock restored_lease_clock(LeaseClock clock, int64_t wall_us, int64_t hold_s)
{
    clock.rest_us = std::max(clock.rest_us, wall_us);
    clock.term = next_term(clock.term, clock.rest_us);
    clock.hold_s = std::max(clock.hold_s, hold_s);
    return clock;
}

int32_t lease_length_s(int32_t max_ttl_s, int64_t ttl_us)
{
    const bool good = ttl_us >= us_per_s && ttl_us <= max_ttl_s * us_per_s;
    return good ? static_cast<int32_t>((ttl_us + us_per_s - 1) / us_per_s) : 0;
}

AcquireRange decide_range(const LeaseRealm& realm, const LeaseMoment& moment,
                          const AcquireWish& wish)
{
    if (moment.rest_until_us != 0) {
        return {LeaseRefusal::rests, 0, 0, 0};
    }
    const int32_t last_node = realm.first_node + (realm.nodes - 1);
    const int32_t most = wish.has_max_node ? std::min(last_node, wish.max_node) : last_node;
    const auto ranges =
        static_cast<int32_t>((int64_t{most} - realm.first_node + 1) / realm.lease_nodes);
    if (most < realm.first_node || ranges == 0) {
        return {LeaseRefusal::out_of_range, 0, 0, 0};
    }
    // Node 0 is that of servers which were never given one: who asks for any gets it only where
    // there is no other.
    const int32_t passed = realm.first_node == 0 && ranges > 1 ? 1 : 0;
    const int32_t first = passed + static_cast<int32_t>(wish.chance * (ranges - passed));
    auto node_of = [&](int32_t number) { return realm.first_node + number * realm.lease_nodes; };
    const AcquireRange range{LeaseRefusal::none, node_of(passed), node_of(ranges - 1),
                             node_of(first)};
    if (wish.any) {
        return range;
    }
    if (wish.node < realm.first_node || wish.node > range.top + (realm.lease_nodes - 1)) {
        return {LeaseRefusal::out_of_range, 0, 0, 0};
    }
    const bool begins = (wish.node - realm.first_node) % realm.lease_nodes == 0;
    return begins ? range : AcquireRange{LeaseRefusal::inside, 0, 0, 0};
}

GrantDecision decide_grant(const LeaseMoment& moment, bool any, int64_t free_from_us,
                           int32_t length_s)
{
    if (free_from_us > moment.now_us) {
        return {any ? LeaseRefusal::all_leased : LeaseRefusal::in_use, 0, 0};
    }
    const int64_t start_us = whole_second(moment.now_us);
    return {LeaseRefusal::none, start_us, start_us + length_s * us_per_s};
}

RenewDecision decide_renew(const LeaseRealm& realm, const LeaseMoment& moment,
                           const RenewQuestion& question)
{
    if (!question.current) {
        return {LeaseRefusal::other_lease, 0, false};
    }
    const bool rests = moment.rest_until_us != 0;
    // A holder that knows a later end shows that renewals are missing. It is believed for its own
    // node only, and for no longer than a lease that it may ask for.
    const int64_t this_second = whole_second(moment.now_us);
    const int64_t most =
        this_second + (realm.max_ttl_s + (rests ? realm.max_skew_s : 0)) * us_per_s;
    const int64_t known = std::min(whole_second(question.known_end_us), most);
    const bool claimed = question.has_known_end && known > question.free_from_us;
    const int64_t end_us = claimed ? known : question.free_from_us;
    if (end_us <= moment.now_us) {
        return {LeaseRefusal::ended, end_us, claimed};
    }
    // An old coordinator's clock may have been max_skew further, and the node given away.
    const bool soon = end_us <= moment.now_us + realm.max_skew_s * us_per_s;
    if (soon && rests) {
        return {LeaseRefusal::too_soon, 0, claimed};
    }
    if (soon && claimed) {
        return {LeaseRefusal::none, end_us, true};
    }
    return {LeaseRefusal::none, std::max(end_us, this_second + question.length_s * us_per_s),
            claimed};
}

RenewDecision decide_again(const LeaseRealm& realm, const LeaseMoment& moment, bool same,
                           const RenewQuestion& question)
{
    if (!same || !question.current || question.free_from_us <= moment.now_us) {
        return {LeaseRefusal::used_token, 0, false};
    }
    return decide_renew(realm, moment, question);
}

ReleaseDecision decide_release(const LeaseRealm& realm, const LeaseMoment& moment,
                               const ReleaseQuestion& question)
{
    if (question.over) {
        return {LeaseRefusal::none, question.end_us, question.end_us, false};
    }
    if (question.has_last && question.last_us >= question.end_us &&
        (moment.rest_until_us == 0 ||
         question.last_us > moment.now_us + (realm.max_ttl_s + realm.max_skew_s) * us_per_s)) {
        return {LeaseRefusal::outside, 0, 0, false};
    }
    // Whoever does not know the last stamp keeps the node until the end. A lease that was never
    // used leaves the node as free as it was.
    const int64_t free_us = !question.has_last                     ? question.end_us
                            : question.last_us < question.start_us ? question.earlier_us
                                                                   : next_second(question.last_us);
    return {LeaseRefusal::none, free_us, std::max(question.start_us, free_us), true};
}

bool decide_revoke(const LeaseMoment& moment, int64_t free_from_us, int64_t* new_free_from_us)
{
    *new_free_from_us = next_second(moment.now_us);
    return free_from_us > moment.now_us;
}

} // namespace flakeid
