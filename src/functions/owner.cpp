// Runs a statement as the owner of a table, as VACUUM and REINDEX run what belongs to one: code of
// the owner that it calls gets no rights of the caller's and cannot take them.
#include "functions/owner.hpp"

#include "server/extension.hpp"

extern "C" {
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"
}

namespace flakeid {

Oid owner_of(Oid table)
{
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
    if (!HeapTupleIsValid(row)) {
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE), errmsg("table %u does not exist", table));
    }
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(row))->relowner;
    ReleaseSysCache(row);
    return owner;
}

} // namespace flakeid

using namespace flakeid;

namespace {

// Until the GUC level ends
void set_here(const char* name, const char* value)
{
    (void)set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
                            false);
}

// Runs deferred constraints and triggers of the transaction now, and those to come at once: at its
// end they would have the rights of the caller.
void make_constraints_immediate()
{
    ConstraintsSetStmt* statement = makeNode(ConstraintsSetStmt);
    statement->constraints = NIL; // all
    statement->deferred = false;
    AfterTriggerSetState(statement);
}

// Runs a statement; returns the first column of its first row, allocated in `result_memory`, or
// null
const char* run(const char* statement, MemoryContext result_memory)
{
    if (SPI_connect() != SPI_OK_CONNECT) {
        elog(ERROR, "SPI_connect failed");
    }
    const int code = SPI_execute(statement, false, 0);
    if (code < 0) {
        elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(code));
    }
    const char* result = nullptr;
    if (SPI_tuptable != nullptr && SPI_processed > 0) {
        const char* value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
        result = value != nullptr ? MemoryContextStrdup(result_memory, value) : nullptr;
    }
    SPI_finish();
    return result;
}

} // namespace

// The (sub)transaction that an error ends puts role, context and settings back.
FLAKEID_FUNCTION(flakeid_as_owner)
{
    require_known_objects(tables_extension);
    const Oid table = PG_GETARG_OID(0);
    const char* statement = text_to_cstring(PG_GETARG_TEXT_PP(1));
    const Oid owner = owner_of(table);
    Oid caller = InvalidOid;
    int context = 0;
    GetUserIdAndSecContext(&caller, &context);
    if (!has_privs_of_role(caller, owner) || !member_can_set_role(caller, owner)) {
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("must be owner of table %s", get_rel_name(table)));
    }
    make_constraints_immediate(); // what the caller deferred is the caller's
    SetUserIdAndSecContext(owner, context | SECURITY_RESTRICTED_OPERATION);
    const int level = NewGUCNestLevel();
    set_here("search_path", "pg_catalog, pg_temp");
    const char* result = run(statement, CurrentMemoryContext);
    AtEOXact_GUC(false, level);
    SetUserIdAndSecContext(caller, context);
    if (result == nullptr) {
        PG_RETURN_NULL();
    }
    PG_RETURN_TEXT_P(cstring_to_text(result));
}
