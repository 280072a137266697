// What the SQL functions of a coordinator of leases ask: of its clock, and of the rules that the
// core has. A refusal is an error.
#include "leases/rules/term.hpp"
#include "leases/rules/lease_rules.hpp"
#include "leases/coordinator/lease_clock.hpp"
#include "server/extension.hpp"
#include "server/row.hpp"
#include "server/clock.hpp"
#include "server/messages.hpp"

extern "C" {
#include "catalog/pg_authid.h"
#include "storage/lock.h"
#include "utils/fmgrprotos.h"
#include "utils/uuid.h"
}

using namespace flakeid;

namespace {

constexpr char coordinator_extension[] = "flakeid_coordinator";

// Infinite moments are the same number in both, and so is what 64 bits do not hold.
int64_t since_1970(TimestampTz at)
{
    if (TIMESTAMP_NOT_FINITE(at)) {
        return at;
    }
    return at > PG_INT64_MAX - us_from_1970_to_2000 ? PG_INT64_MAX : at + us_from_1970_to_2000;
}

Datum moment_datum(int64_t us)
{
    const bool infinite = us == INT64_MIN || us == INT64_MAX;
    return TimestampTzGetDatum(infinite ? us : us - us_from_1970_to_2000);
}

int64_t moment_argument(FunctionCallInfo fcinfo, int n, int64_t missing)
{
    return PG_ARGISNULL(n) ? missing : since_1970(PG_GETARG_TIMESTAMPTZ(n));
}

const char* text_argument(FunctionCallInfo fcinfo, int n)
{
    return PG_ARGISNULL(n) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(n));
}

// What many of them begin with: now, rest_until, max_ttl_s, max_skew_s, node.
struct Asked {
    LeaseMoment moment;
    LeaseRealm realm;
    int32_t node;
};
static_assert(is_plain<Asked>);
constexpr int asked_arguments = 5;

Asked asked(FunctionCallInfo fcinfo)
{
    return {{moment_argument(fcinfo, 0, 0), moment_argument(fcinfo, 1, 0)},
            {0, 0, 1, PG_GETARG_INT32(2), PG_GETARG_INT32(3)},
            PG_GETARG_INT32(4)};
}

// Of renewals, also by asking again. `end_us`: as decided.
void throw_renewal(LeaseRefusal refusal, int32_t node, int64_t end_us)
{
    switch (refusal) {
    case LeaseRefusal::other_lease:
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the lease of node %d has ended", node), errhint("Take a new one."));
        break;
    case LeaseRefusal::ended:
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the lease of node %d ended at %s", node, moment_text(end_us)),
                errhint("Renew leases before their end, at a third of their length, or take a new "
                        "one."));
        break;
    case LeaseRefusal::too_soon:
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the coordinator rests, and the lease of node %d ends too soon to be "
                       "renewed",
                       node),
                errhint("Make no ids after its end, and take a new one."));
        break;
    default:
        Assert(refusal == LeaseRefusal::none);
        break;
    }
}

const char* uuid_text(const unsigned char* uuid)
{
    pg_uuid_t copy;
    memcpy(copy.data, uuid, sizeof copy.data);
    return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&copy)));
}

[[noreturn]] void throw_other_version(int version)
{
    ereport(ERROR, errcode(ERRCODE_PROTOCOL_VIOLATION),
            errmsg("the server asks in version %d of the protocol of leases", version),
            errdetail("This coordinator knows version %d.", lease_wire_version),
            version > lease_wire_version ? errhint("Update flakeid on the coordinator.")
                                         : errhint("Update flakeid on the server that asks."));
}

[[noreturn]] void throw_not_believed(Standing standing, const char* realm, const Term& known,
                                     const Term& here)
{
    if (standing == Standing::other_realm) {
        const char* id = uuid_text(known.realm);
        const char* name = quote_literal_cstr(realm);
        ereport(ERROR, errcode(ERRCODE_SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION),
                errmsg("realm \"%s\" is not the one that the server had its leases of", realm),
                errdetail("That has the id %s, this one %s.", id, uuid_text(here.realm)),
                errhint("Where a realm gets another name, run on the coordinator: SELECT "
                        "flakeid.lease_realm_add_name('old name', %s); where a coordinator is "
                        "made anew: SELECT flakeid.lease_realm_set(%s, id => '%s');",
                        name, name, id));
    }
    ereport(ERROR, errcode(ERRCODE_SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION),
            errmsg("the server knows a later coordinator of realm \"%s\"", realm),
            errdetail("That one hands out leases since %s, this one since %s.",
                      moment_text(known.number), moment_text(here.number)),
            errhint("Stop whichever was replaced. If this one is to go on, run this as soon as its "
                    "clock has passed that moment: SELECT flakeid.lease_begin_rest();"));
}

} // namespace

FLAKEID_FUNCTION(flakeid_lease_now)
{
    require_known_objects(coordinator_extension);
    const LeaseNow now = lease_clock_now(PG_GETARG_INT64(0));
    Datum values[] = {
        TimestampTzGetDatum(now.moment.now_us - us_from_1970_to_2000),
        TimestampTzGetDatum(now.moment.rest_until_us - us_from_1970_to_2000),
        Int64GetDatum(now.term),
        Int64GetDatum(now.place),
    };
    bool nulls[lengthof(values)] = {false, now.moment.rest_until_us == 0};
    return row_datum(fcinfo, values, nulls);
}

// Refuses a server that asks in a version which this library does not know, or that knows a later
// term of the realm, or another realm.
FLAKEID_FUNCTION(flakeid_lease_check_term)
{
    const int version = PG_ARGISNULL(0) ? 0 : PG_GETARG_INT32(0);
    if (version != lease_wire_version) {
        throw_other_version(version);
    }
    auto term = [&](int first) {
        Term given{};
        if (!PG_ARGISNULL(first) && !PG_ARGISNULL(first + 1) && !PG_ARGISNULL(first + 2)) {
            memcpy(given.realm, PG_GETARG_UUID_P(first)->data, sizeof given.realm);
            given.number = PG_GETARG_INT64(first + 1);
            given.place = PG_GETARG_INT64(first + 2);
        }
        return given;
    };
    const Term known = term(1);
    const Term here = term(4);
    const Standing standing = stands(known, here);
    if (standing != Standing::believed) {
        throw_not_believed(standing, text_to_cstring(PG_GETARG_TEXT_PP(7)), known, here);
    }
    PG_RETURN_VOID();
}

// A lock that nothing else of a database takes, so that nobody but the role's own sessions is in
// its way.
FLAKEID_FUNCTION(flakeid_lease_lock_role)
{
    (void)fcinfo;
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, AuthIdRelationId, GetSessionUserId(), 0);
    PG_RETURN_BOOL(LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL);
}

FLAKEID_FUNCTION(flakeid_lease_rest)
{
    require_known_objects(coordinator_extension);
    lease_clock_rest(PG_GETARG_BOOL(0));
    PG_RETURN_VOID();
}

FLAKEID_FUNCTION(flakeid_lease_repair_clock)
{
    require_known_objects(coordinator_extension);
    (void)fcinfo;
    return interval_datum(lease_clock_repair());
}

// Decisions: the SQL functions lock the rows, call these and write what they return.

// lease_length_s(ttl_us, max_ttl_s)
FLAKEID_FUNCTION(flakeid_lease_length_s)
{
    PG_RETURN_INT32(lease_length_s(PG_GETARG_INT32(1), PG_GETARG_INT64(0)));
}

// lease_decide_range(rest_until, first_node, nodes, lease_nodes, node, max_node, chance, realm)
FLAKEID_FUNCTION(flakeid_lease_decide_range)
{
    const LeaseMoment moment{0, moment_argument(fcinfo, 0, 0)};
    const LeaseRealm realm{PG_GETARG_INT32(1), PG_GETARG_INT32(2), PG_GETARG_INT32(3), 0, 0};
    const int32_t last_node = realm.first_node + (realm.nodes - 1);
    AcquireWish wish{};
    wish.any = PG_ARGISNULL(4);
    wish.node = wish.any ? 0 : PG_GETARG_INT32(4);
    wish.has_max_node = !PG_ARGISNULL(5);
    wish.max_node = wish.has_max_node ? PG_GETARG_INT32(5) : 0;
    wish.chance = PG_GETARG_FLOAT8(6);
    const int32_t most =
        wish.any || !wish.has_max_node ? last_node : std::min(last_node, wish.max_node);
    const AcquireRange range = decide_range(realm, moment, wish);
    if (range.refusal == LeaseRefusal::rests) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the coordinator hands out no leases before %s",
                       moment_text(moment.rest_until_us)),
                errdetail("It was promoted, restored or upgraded, or a superuser began a rest: "
                          "leases or renewals may be missing."),
                errhint("Wait. If nothing is missing, a superuser may run there: SELECT "
                        "flakeid.lease_end_rest();"));
    }
    if (range.refusal == LeaseRefusal::out_of_range) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                wish.any ? errmsg("max_node %d is out of range for realm \"%s\"", wish.max_node,
                                  text_argument(fcinfo, 7))
                         : errmsg("node %d is out of range for realm \"%s\"", wish.node,
                                  text_argument(fcinfo, 7)),
                realm.lease_nodes == 1
                    ? errdetail("Its nodes are %d to %d.", realm.first_node, most)
                    : errdetail("Its nodes are %d to %d, and a lease has %d of them.",
                                realm.first_node, most, realm.lease_nodes),
                errhint("Change the nodes of the realm with flakeid.lease_realm_set()."));
    }
    if (range.refusal == LeaseRefusal::inside) {
        const int32_t before = (wish.node - realm.first_node) % realm.lease_nodes;
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("no lease of realm \"%s\" begins with node %d", text_argument(fcinfo, 7),
                       wish.node),
                errdetail("A lease has %d nodes there, and the one that has this node begins with "
                          "node %d.",
                          realm.lease_nodes, wish.node - before),
                errhint("Ask for that node, or for any."));
    }
    Datum values[] = {Int32GetDatum(range.low), Int32GetDatum(range.top),
                      Int32GetDatum(range.first)};
    return row_datum(fcinfo, values);
}

// lease_decide_grant(now, node, free_from, length_s, realm, low, top, holder, released)
FLAKEID_FUNCTION(flakeid_lease_decide_grant)
{
    const bool any = PG_ARGISNULL(1);
    const int64_t free_us = moment_argument(fcinfo, 2, INT64_MIN);
    const GrantDecision decision =
        decide_grant({moment_argument(fcinfo, 0, 0), 0}, any, free_us, PG_GETARG_INT32(3));
    if (decision.refusal == LeaseRefusal::all_leased) {
        ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("all nodes of realm \"%s\" from %d to %d are leased",
                       text_argument(fcinfo, 4), PG_GETARG_INT32(5), PG_GETARG_INT32(6)),
                errdetail("The earliest comes free at %s, unless its lease is renewed.",
                          moment_text(free_us)),
                errhint("View flakeid.leases on the coordinator shows who holds them; "
                        "flakeid.lease_realm_set() adds nodes."));
    }
    if (decision.refusal == LeaseRefusal::in_use) {
        const char* holder = text_argument(fcinfo, 7);
        const bool released = !PG_ARGISNULL(8) && PG_GETARG_BOOL(8);
        ereport(ERROR, errcode(ERRCODE_OBJECT_IN_USE),
                errmsg("node %d of realm \"%s\" is not free before %s", PG_GETARG_INT32(1),
                       text_argument(fcinfo, 4), moment_text(free_us)),
                holder == nullptr ? 0
                : released        ? errdetail("\"%s\" released it.", holder)
                                  : errdetail("It is held by \"%s\".", holder),
                released ? errhint("Ask again then.")
                         : errhint("Two servers want the same node, or the last holder was killed "
                                   "and its lease goes on until its end."));
    }
    Datum values[] = {moment_datum(decision.start_us), moment_datum(decision.end_us)};
    return row_datum(fcinfo, values);
}

// lease_decide_again(now, rest_until, max_ttl_s, max_skew_s, node, length_s, same, free_from,
// realm); free_from is NULL where the node has another lease, or this one was given back.
FLAKEID_FUNCTION(flakeid_lease_decide_again)
{
    const Asked at = asked(fcinfo);
    const bool current = !PG_ARGISNULL(asked_arguments + 2);
    const RenewDecision decision =
        decide_again(at.realm, at.moment, PG_GETARG_BOOL(asked_arguments + 1),
                     {PG_GETARG_INT32(asked_arguments), false, 0, current,
                      moment_argument(fcinfo, asked_arguments + 2, 0)});
    if (decision.refusal == LeaseRefusal::used_token) {
        ereport(ERROR, errcode(ERRCODE_DUPLICATE_OBJECT),
                errmsg("the token is that of another lease, or of one that has ended"),
                errdetail("It was used for node %d of realm \"%s\".", at.node,
                          text_argument(fcinfo, asked_arguments + 3)),
                errhint("Ask with a new token: SELECT gen_random_uuid();"));
    }
    throw_renewal(decision.refusal, at.node, decision.end_us);
    return moment_datum(decision.end_us);
}

// lease_decide_renew(now, rest_until, max_ttl_s, max_skew_s, node, length_s, known_end, free_from,
// realm); free_from as above.
FLAKEID_FUNCTION(flakeid_lease_decide_renew)
{
    const Asked at = asked(fcinfo);
    const int64_t known_us = moment_argument(fcinfo, asked_arguments + 1, 0);
    const int64_t free_us = moment_argument(fcinfo, asked_arguments + 2, 0);
    const RenewDecision decision =
        decide_renew(at.realm, at.moment,
                     {PG_GETARG_INT32(asked_arguments), !PG_ARGISNULL(asked_arguments + 1),
                      known_us, !PG_ARGISNULL(asked_arguments + 2), free_us});
    // Where the coordinator does not rest, it was restored in a way that nothing else shows: a
    // superuser must say so.
    if (decision.claimed && at.moment.rest_until_us == 0) {
        ereport(LOG,
                errmsg("the holder of node %d of realm \"%s\" knows a lease until %s, the "
                       "coordinator one until %s",
                       at.node, text_argument(fcinfo, asked_arguments + 3), moment_text(known_us),
                       moment_text(free_us)),
                errdetail("Nobody else gets the node before that."),
                errhint("If this coordinator was restored from a copy of its files, run SELECT "
                        "flakeid.lease_begin_rest() there: other leases may be missing."));
    }
    throw_renewal(decision.refusal, at.node, decision.end_us);
    return moment_datum(decision.end_us);
}

// lease_decide_release(now, rest_until, max_ttl_s, max_skew_s, node, lease_start, lease_end,
// earlier_end, over, last_stamp)
FLAKEID_FUNCTION(flakeid_lease_decide_release)
{
    const Asked at = asked(fcinfo);
    const ReleaseQuestion question{moment_argument(fcinfo, asked_arguments, 0),
                                   moment_argument(fcinfo, asked_arguments + 1, 0),
                                   PG_GETARG_BOOL(asked_arguments + 3),
                                   !PG_ARGISNULL(asked_arguments + 4),
                                   moment_argument(fcinfo, asked_arguments + 4, 0),
                                   moment_argument(fcinfo, asked_arguments + 2, 0)};
    const ReleaseDecision decision = decide_release(at.realm, at.moment, question);
    if (decision.refusal == LeaseRefusal::outside) {
        ereport(ERROR, errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
                errmsg("the last stamp %s lies outside the lease", moment_text(question.last_us)),
                errdetail("The lease of node %d is from %s to %s.", at.node,
                          moment_text(question.start_us), moment_text(question.end_us)));
    }
    Datum values[] = {moment_datum(decision.end_us), moment_datum(decision.free_us),
                      BoolGetDatum(decision.changes)};
    return row_datum(fcinfo, values);
}

// lease_decide_revoke(now, free_from): from when the node is free; NULL: it is.
FLAKEID_FUNCTION(flakeid_lease_decide_revoke)
{
    int64_t free_us;
    if (PG_ARGISNULL(1) || !decide_revoke({moment_argument(fcinfo, 0, 0), 0},
                                          moment_argument(fcinfo, 1, 0), &free_us)) {
        PG_RETURN_NULL();
    }
    return moment_datum(free_us);
}
