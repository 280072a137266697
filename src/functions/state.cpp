// What flakeid.state holds at its creation, what pg_dump carries of it, and what a restore does
// with that.
#include "server/clock.hpp"
#include "durable/durable.hpp"
#include "server/row.hpp"
#include "server/messages.hpp"
#include "durable/assigned.hpp"
#include "durable/horizon.hpp"
#include "slots/tenure.hpp"
#include "durable/fingerprints.hpp"
#include "durable/server_horizon.hpp"
#include "settings/settings.hpp"

extern "C" {
#include "catalog/pg_authid_d.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "utils/acl.h"
}

using namespace flakeid;

namespace {

constexpr char format_name[] = "format"; // of all these rows
constexpr int64_t dump_format = 1;
constexpr char most_ahead_name[] = "most ahead of server " INT64_FORMAT " " INT64_FORMAT;
constexpr char plain_name[] = "plain horizon";
constexpr char back_name[] = "back horizon";
constexpr char hold_name[] = "lease hold";
constexpr char term_name[] = "lease term";
constexpr char assigned_name[] = "node assigned";
constexpr char key_name[] = "fingerprint of key %d";

// True for the name of a key's fingerprint.
bool is_key_name(const char* name, int* number)
{
    for (*number = 0; *number < max_keys; ++*number) {
        if (strcmp(name, psprintf(key_name, *number)) == 0) {
            return true;
        }
    }
    return false;
}

// Returns the name of what a dump says of the server that it comes from; another one has another.
const char* most_ahead_name_of(const Origin& origin)
{
    return psprintf(most_ahead_name, origin.timeline, origin.incarnation);
}

// True for the name of what any server's dump says of it.
bool is_most_ahead_name(const char* name, Origin* origin)
{
    return sscanf(name, most_ahead_name, &origin->timeline, &origin->incarnation) == 2 &&
           strcmp(name, most_ahead_name_of(*origin)) == 0;
}

uint32_t fingerprint_argument(int64_t value)
{
    if (value <= 0 || value > PG_UINT32_MAX) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("" INT64_FORMAT " is no fingerprint of a key", value));
    }
    return static_cast<uint32_t>(value);
}

void require_dump_format(int64_t value)
{
    if (value != dump_format) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("what the dump carries of flakeid is of format " INT64_FORMAT, value),
                errdetail("This library knows format " INT64_FORMAT ".", dump_format),
                errhint("Restore the dump with the version of flakeid that it comes from, or a "
                        "later one."));
    }
}

int64_t most_ahead_argument(int64_t value)
{
    if (value < assumed_ahead_us || value > most_max_ahead_us) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("" INT64_FORMAT " is no max_ahead of a server", value));
    }
    return value;
}

Stamp stamp_argument(int64_t value, bool with_back)
{
    const Stamp stamp = stamp_of_number(value);
    if (value < 0 || (!with_back && stamp_back(stamp) != 0)) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("" INT64_FORMAT " is no horizon", value));
    }
    return stamp;
}

void warn_of_horizon(int64_t us)
{
    const char* until = moment_text(us);
    ereport(WARNING, errmsg("the horizon of the dump is left out"),
            errdetail("Ids that were made where the dump comes from may have been stamped until "
                      "%s, and a superuser alone raises the horizon.",
                      until),
            errhint("SELECT flakeid.raise_horizon('%s');", until));
}

Datum durable_row(FunctionCallInfo fcinfo, const Durable& durable)
{
    int64_t cells[durable_cells];
    memcpy(cells, &durable, sizeof cells);
    Datum values[durable_cells];
    for (int i = 0; i < durable_cells; i++) {
        values[i] = Int64GetDatum(cells[i]);
    }
    return row_datum(fcinfo, values);
}

} // namespace

// What flakeid.state holds from its creation or REFRESH on. Of a state that was lost, the server
// remembers the horizon. Nobody remembers the leases, so none is handed out before all that there
// may have been have ended.
FLAKEID_FUNCTION(flakeid_state_now)
{
    refuse_in_recovery();
    Durable durable{};
    bool known = creating_extension;
    if (!creating_extension) {
        known = durable_look(&durable);
    }
    if (durable.format != 0 && durable.format != durable_format) {
        throw_state_lost(durable.format); // it is not lost, and is not to be
    }
    if (known && durable.lost == 0 && !creating_extension) {
        // REFRESH holds its lock until the end of the transaction, and every session would wait.
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("flakeid.state needs no REFRESH"),
                errdetail("The library keeps it up to date. All sessions that make ids would wait "
                          "until this transaction ends."),
                errhint("Leave schema flakeid out: SELECT format('REFRESH MATERIALIZED VIEW "
                        "%%I.%%I;', schemaname, matviewname) FROM pg_matviews WHERE schemaname <> "
                        "'flakeid';"));
    }
    durable.format = durable_format;
    const bool remembered = horizon_remembered(&durable.stamped);
    forget_assigned();
    durable.lost = durable.lost != 0 || !(known || remembered);
    if (!known || creating_extension) {
        durable.origin = server_origin(!creating_extension);
    }
    if (!known) {
        durable.lease_rest_us = wall_us();
        durable.lease_hold_s = most_lease_hold_s;
    }
    durable.check = static_cast<int64_t>(durable_check(durable));
    return durable_row(fcinfo, durable);
}

// What a dump carries.
FLAKEID_FUNCTION(flakeid_dumped)
{
    InitMaterializedSRF(fcinfo, 0);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    Durable durable;
    if (!durable_look(&durable) || durable.lost != 0) {
        throw_state_lost(durable.format);
    }
    auto row = [&](const char* name, int64_t value) {
        Datum values[] = {CStringGetTextDatum(name), Int64GetDatum(value)};
        bool nulls[lengthof(values)] = {};
        if (value != 0) {
            tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
        }
    };
    row(format_name, dump_format);
    row(most_ahead_name_of(durable.origin),
        std::max({durable.stamped.most_ahead_us, server_most_ahead_us(), configured_max_ahead_us(),
                  max_ahead_of_roles_us(), assumed_ahead_us}));
    // Any layout may be another one where the dump is restored.
    row(plain_name, durable.stamped.latest_us);
    row(back_name, durable.stamped.stamp[back_horizon]);
    row(hold_name, durable.lease_hold_s);
    row(term_name, durable.lease_term);
    row(assigned_name, durable.assigned);
    // They let one try guesses of a weak secret.
    const bool dumps_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_DATA);
    for (int number = 0; dumps_all && number < max_keys; number++) {
        row(psprintf(key_name, number), durable_key_fingerprint(durable, number));
    }
    return static_cast<Datum>(0);
}

// A row of a dump arrives. Rows that replication brings are of another server, and say nothing: its
// workers are no clients, while a client may restore a dump in the role of a replica.
FLAKEID_FUNCTION(flakeid_restore)
{
    const char* name = text_to_cstring(PG_GETARG_TEXT_PP(0));
    const int64_t value = PG_GETARG_INT64(1);
    int number = 0;
    Origin from;
    if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA &&
        MyBackendType == B_BG_WORKER) {
        return BoolGetDatum(true);
    }
    if (strcmp(name, format_name) == 0) {
        require_dump_format(value);
    } else if (is_most_ahead_name(name, &from)) {
        const int64_t most_ahead_us = most_ahead_argument(value);
        if (!same_origin(from, server_origin(true))) {
            horizon_restore_elsewhere(most_ahead_us);
        }
    } else if (strcmp(name, plain_name) == 0) {
        horizon_restore(plain_horizon, stamp_argument(value, false));
    } else if (strcmp(name, back_name) == 0) {
        horizon_restore(back_horizon, stamp_argument(value, true));
    } else if (strcmp(name, hold_name) == 0) {
        tenure_restore_hold(value);
    } else if (strcmp(name, term_name) == 0) {
        tenure_restore_term(value);
    } else if (strcmp(name, assigned_name) == 0) {
        restore_assigned(value);
    } else if (is_key_name(name, &number)) {
        sealing_restore(number, fingerprint_argument(value));
    } else {
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("flakeid keeps no \"%s\"", name),
                errhint("Restore the dump with the version of flakeid that it comes from, or a "
                        "later one."));
    }
    return BoolGetDatum(true);
}

// Before a row of a dump arrives: that of a role which may not also update the table is left out.
// What the horizon lacks is told, unless the dump comes from this server, which knows it.
FLAKEID_FUNCTION(flakeid_restore_denied)
{
    if (!CALLED_AS_TRIGGER(fcinfo)) {
        elog(ERROR, "flakeid.restore_denied() is a trigger");
    }
    const auto* trigger = reinterpret_cast<TriggerData*>(fcinfo->context);
    HeapTuple row = trigger->tg_trigtuple;
    const TupleDesc columns = RelationGetDescr(trigger->tg_relation);
    if (pg_class_aclcheck(RelationGetRelid(trigger->tg_relation), GetUserId(), ACL_UPDATE) ==
        ACLCHECK_OK) {
        return PointerGetDatum(row);
    }
    bool null[2];
    const Datum name = heap_getattr(row, 1, columns, &null[0]);
    const Datum value = heap_getattr(row, 2, columns, &null[1]);
    const char* what = null[0] ? "" : TextDatumGetCString(name);
    const int64_t number = null[1] ? 0 : DatumGetInt64(value);
    const int64_t now_us = wall_us();
    Origin from;
    if (strcmp(what, format_name) == 0) {
        require_dump_format(number);
    }
    if (is_most_ahead_name(what, &from) && !same_origin(from, server_origin(true))) {
        warn_of_horizon(takeover_us(now_us, most_ahead_argument(number)));
    }
    const int64_t us = stamp_us(stamp_of_number(number));
    if ((strcmp(what, plain_name) == 0 || strcmp(what, back_name) == 0) &&
        us > takeover_us(now_us, settings.max_ahead_us)) {
        warn_of_horizon(us); // no right clock led there
    }
    return static_cast<Datum>(0);
}
