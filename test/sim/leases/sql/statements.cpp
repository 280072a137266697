#include "leases/sql/statements.hpp"

namespace sim {

using flakeid::LeaseRefusal;

namespace {

std::string moment(bool known_moment, int64_t us)
{
    if (!known_moment) {
        return "NULL";
    }
    if (us == INT64_MIN || us == INT64_MAX) {
        return us < 0 ? "'-infinity'" : "'infinity'";
    }
    return "'epoch'::timestamptz + " + std::to_string(us) + " * interval '1 microsecond'";
}

std::string interval(int64_t us)
{
    return us < 0 ? "NULL" : std::to_string(us) + " * interval '1 microsecond'";
}

} // namespace

std::string in_us(const std::string& name)
{
    return "(extract(epoch FROM " + name + ") * 1000000)::int8";
}

std::string sql_of(const Question& q, const std::string& token)
{
    const std::string node = q.wish.any ? "NULL" : std::to_string(q.wish.node);
    const std::string top = q.wish.has_max_node ? std::to_string(q.wish.max_node) : "NULL";
    switch (q.kind) {
    case Question::acquire:
        return "SELECT node, token, " + in_us("lease_start") + ", " + in_us("lease_end") +
               ", nodes FROM flakeid.lease_acquire('" + q.realm + "', '" + q.holder + "', " +
               interval(q.wish.ttl_us) + ", " + node + ", " + top + ", " +
               (q.chosen ? "'" + token + "'" : "NULL") + ")";
    case Question::renew:
        return "SELECT " + in_us("flakeid.lease_renew('" + token + "', " + interval(q.wish.ttl_us) +
                                 ", " + moment(q.has_moment, q.moment_us) + ")");
    case Question::release:
        return "SELECT " + in_us("flakeid.lease_release('" + token + "', " +
                                 moment(q.has_moment, q.moment_us) + ")");
    case Question::set_realm:
        return "SELECT flakeid.lease_realm_set('" + q.realm + "', " +
               std::to_string(q.settings.settings.nodes) + ", '" +
               std::to_string(q.settings.settings.max_ttl_s) + " s', '" +
               std::to_string(q.settings.settings.max_skew_s) + " s', first_node => " +
               std::to_string(q.settings.settings.first_node) + ", lease_nodes => " +
               std::to_string(q.settings.settings.lease_nodes) + ")";
    case Question::revoke:
        return "SELECT flakeid.lease_revoke('" + q.realm + "', " + node + ")";
    case Question::begin_rest:
        return "SELECT flakeid.lease_begin_rest()";
    case Question::end_rest:
        return "SELECT flakeid.lease_end_rest()";
    case Question::repair_clock:
        return "SELECT flakeid.lease_repair_clock()";
    case Question::restored:
        return "SELECT flakeid.restore('lease hold', " + std::to_string(q.moment_us) + ")";
    case Question::functions:
    case Question::add_name:
        break;
    }
    return "SELECT";
}

const char* words_of(LeaseRefusal refusal)
{
    switch (refusal) {
    case LeaseRefusal::none:
        break;
    case LeaseRefusal::no_holder:
        return "needs the name of its holder";
    case LeaseRefusal::bad_holder:
        return "too long or not printable";
    case LeaseRefusal::bad_max_node:
        return "max_node";
    case LeaseRefusal::no_realm:
        return "there is no realm";
    case LeaseRefusal::bad_length:
        return "a lease cannot last";
    case LeaseRefusal::rests:
        return "hands out no leases before";
    case LeaseRefusal::out_of_range:
        return "is out of range for realm";
    case LeaseRefusal::inside:
        return "begins with node";
    case LeaseRefusal::in_use:
        return "is not free before";
    case LeaseRefusal::all_leased:
        return "are leased";
    case LeaseRefusal::busy:
        return "another transaction is changing node";
    case LeaseRefusal::last_busy:
        return "changing the last free nodes";
    case LeaseRefusal::unknown:
        return "does not know this lease";
    case LeaseRefusal::other_lease:
        return "has ended";
    case LeaseRefusal::ended:
        return "ended at";
    case LeaseRefusal::too_soon:
        return "ends too soon to be renewed";
    case LeaseRefusal::outside:
        return "lies outside the lease";
    case LeaseRefusal::used_token:
        return "the token is that of another lease";
    case LeaseRefusal::same_time:
        return "asked at the same time";
    case LeaseRefusal::not_believed:
    case LeaseRefusal::bad_version:
        break; // to servers alone
    }
    return "";
}

} // namespace sim
