#include "leases/coordinator_rules.hpp"

#include <algorithm>

namespace flakeid {

namespace {

constexpr int64_t s_us = 1000000;

int64_t whole_second(int64_t us)
{
    if (us == INT64_MIN || us == INT64_MAX) {
        return us;
    }
    const int64_t rest = us % s_us;
    return us - (rest < 0 ? rest + s_us : rest);
}

int64_t next_second(int64_t us)
{
    return us == INT64_MIN || us == INT64_MAX ? us : whole_second(us) + s_us;
}

} // namespace

const char* lease_sqlstate(LeaseRefusal refusal)
{
    switch (refusal) {
    case LeaseRefusal::none:
        return "00000";
    case LeaseRefusal::no_holder:
    case LeaseRefusal::bad_holder:
    case LeaseRefusal::no_realm:
    case LeaseRefusal::bad_length:
        return "22023";
    case LeaseRefusal::bad_max_node:
    case LeaseRefusal::out_of_range:
        return "22003";
    case LeaseRefusal::in_use:
        return "55006";
    case LeaseRefusal::all_leased:
        return "53400";
    case LeaseRefusal::busy:
    case LeaseRefusal::last_busy:
        return "55P03";
    case LeaseRefusal::outside:
        return "22008";
    case LeaseRefusal::used_token:
        return "42710";
    case LeaseRefusal::not_believed:
        return "08004";
    case LeaseRefusal::bad_version:
        return "08P01";
    case LeaseRefusal::rests:
    case LeaseRefusal::unknown:
    case LeaseRefusal::other_lease:
    case LeaseRefusal::ended:
    case LeaseRefusal::too_soon:
    case LeaseRefusal::same_time:
        break;
    }
    return "55000";
}

int32_t lease_length_s(const LeaseRealm& realm, int64_t ttl_us)
{
    const bool good = ttl_us >= s_us && ttl_us <= realm.max_ttl_s * s_us;
    return good ? static_cast<int32_t>((ttl_us + s_us - 1) / s_us) : 0;
}

LeaseRefusal check_acquire_names(const AcquireWish& wish)
{
    return !wish.named                              ? LeaseRefusal::no_holder
           : wish.bad_name                          ? LeaseRefusal::bad_holder
           : wish.has_max_node && wish.max_node < 0 ? LeaseRefusal::bad_max_node
                                                    : LeaseRefusal::none;
}

AcquireRange decide_range(const LeaseRealm& realm, const LeaseMoment& moment,
                          const AcquireWish& wish)
{
    AcquireRange range{LeaseRefusal::none, lease_length_s(realm, wish.ttl_us), 0, realm.nodes - 1};
    if (wish.has_max_node) {
        range.top = std::min(range.top, wish.max_node);
    }
    range.low = std::min(range.top, 1); // node 0 is that of servers which were never given one
    if (range.length_s == 0) {
        range.refusal = LeaseRefusal::bad_length;
    } else if (moment.rest_until_us != 0) {
        range.refusal = LeaseRefusal::rests;
    } else if (!wish.any && (wish.node < 0 || wish.node > range.top)) {
        range.refusal = LeaseRefusal::out_of_range;
    }
    return range;
}

bool goes_first(int32_t first, int32_t node, int32_t other_node)
{
    return (node < first) != (other_node < first) ? other_node < first : node < other_node;
}

GrantDecision decide_grant(const LeaseMoment& moment, int64_t free_from_us, int32_t length_s)
{
    if (free_from_us > moment.now_us) {
        return {LeaseRefusal::in_use, 0, 0};
    }
    const int64_t start_us = whole_second(moment.now_us);
    return {LeaseRefusal::none, start_us, start_us + length_s * s_us};
}

RenewDecision decide_renew(const LeaseRealm& realm, const LeaseMoment& moment,
                           const RenewQuestion& question)
{
    const bool rests = moment.rest_until_us != 0;
    const int32_t length_s = lease_length_s(realm, question.ttl_us);
    if (length_s == 0) {
        return {LeaseRefusal::bad_length, 0, false};
    }
    if (!question.current) {
        return {LeaseRefusal::other_lease, 0, false};
    }
    // A holder that knows a later end shows that renewals are missing. It is believed for its own
    // node only, and for no longer than a lease that it may ask for.
    const int64_t this_second = whole_second(moment.now_us);
    const int64_t most = this_second + (realm.max_ttl_s + (rests ? realm.max_skew_s : 0)) * s_us;
    const int64_t known = std::min(whole_second(question.known_end_us), most);
    const bool claimed = question.has_known_end && known > question.free_from_us;
    const int64_t end_us = claimed ? known : question.free_from_us;
    if (end_us <= moment.now_us) {
        return {LeaseRefusal::ended, 0, claimed};
    }
    // An old coordinator's clock may have been max_skew further, and the node given away.
    const bool soon = end_us <= moment.now_us + realm.max_skew_s * s_us;
    if (soon && rests) {
        return {LeaseRefusal::too_soon, 0, claimed};
    }
    if (soon && claimed) {
        return {LeaseRefusal::none, end_us, true};
    }
    return {LeaseRefusal::none, std::max(end_us, this_second + length_s * s_us), claimed};
}

GrantDecision decide_again(const LeaseRealm& realm, const LeaseMoment& moment,
                           const AgainQuestion& question)
{
    if (!question.same || !question.current || question.free_from_us <= moment.now_us) {
        return {LeaseRefusal::used_token, 0, 0};
    }
    const RenewDecision renewed =
        decide_renew(realm, moment, {question.ttl_us, false, 0, true, question.free_from_us});
    return {renewed.refusal, question.start_us, renewed.end_us};
}

ReleaseDecision decide_release(const LeaseRealm& realm, const LeaseMoment& moment,
                               const ReleaseQuestion& question)
{
    if (question.released) {
        return {LeaseRefusal::none, question.end_us, question.end_us, false};
    }
    if (question.has_last && question.last_us >= question.end_us &&
        (moment.rest_until_us == 0 ||
         question.last_us > moment.now_us + (realm.max_ttl_s + realm.max_skew_s) * s_us)) {
        return {LeaseRefusal::outside, 0, 0, false};
    }
    // Who does not know the last stamp keeps the node until the end. A lease that was never used
    // leaves the node as free as it was.
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
