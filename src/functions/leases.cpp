// What the SQL functions of a coordinator of leases ask: of its clock, and of the rules that the
// core has.
#include "core/generation.hpp"
#include "durable/lease_clock.hpp"
#include "functions/row.hpp"
#include "server/clock.hpp"
#include "server/messages.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
#include "utils/uuid.h"
}

using namespace flakeid;

namespace {

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

[[noreturn]] void throw_not_believed(Standing standing, const char* realm, const Generation& known,
                                     const Generation& here)
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
            errhint("Stop whichever was replaced. If this one is to go on: SELECT "
                    "flakeid.lease_begin_rest();"));
}

} // namespace

FLAKEID_FUNCTION(flakeid_lease_now)
{
    const LeaseNow now = lease_clock_now(PG_GETARG_INT64(0));
    Datum values[] = {
        TimestampTzGetDatum(now.moment.now_us - us_from_1970_to_2000),
        TimestampTzGetDatum(now.moment.rest_until_us - us_from_1970_to_2000),
        Int64GetDatum(now.generation),
        Int64GetDatum(now.place),
    };
    bool nulls[lengthof(values)] = {false, now.moment.rest_until_us == 0};
    return row_datum(fcinfo, values, nulls);
}

// Refuses a server that asks in a version which this library does not know, or that knows a later
// generation of the realm, or another realm.
FLAKEID_FUNCTION(flakeid_lease_check_generation)
{
    const int version = PG_ARGISNULL(0) ? 0 : PG_GETARG_INT32(0);
    if (version != lease_wire_version) {
        throw_other_version(version);
    }
    auto generation = [&](int first) {
        Generation given{};
        if (!PG_ARGISNULL(first) && !PG_ARGISNULL(first + 1) && !PG_ARGISNULL(first + 2)) {
            memcpy(given.realm, PG_GETARG_UUID_P(first)->data, sizeof given.realm);
            given.number = PG_GETARG_INT64(first + 1);
            given.place = PG_GETARG_INT64(first + 2);
        }
        return given;
    };
    const Generation known = generation(1);
    const Generation here = generation(4);
    const Standing standing = stands(known, here);
    if (standing != Standing::believed) {
        throw_not_believed(standing, text_to_cstring(PG_GETARG_TEXT_PP(7)), known, here);
    }
    PG_RETURN_VOID();
}

FLAKEID_FUNCTION(flakeid_lease_rest)
{
    lease_clock_rest(PG_GETARG_BOOL(0));
    PG_RETURN_VOID();
}

FLAKEID_FUNCTION(flakeid_lease_repair_clock)
{
    (void)fcinfo;
    return interval_datum(lease_clock_repair());
}
