#include "server/extension.hpp"

extern "C" {
#include "catalog/dependency.h"
#include "utils/regproc.h"
}

namespace flakeid {

const char* objects_version(const char* extension)
{
    const char* version = nullptr;
    extension_row(extension, [&](HeapTuple row, TupleDesc columns) {
        bool null;
        const Datum value = heap_getattr(row, Anum_pg_extension_extversion, columns, &null);
        version = null ? nullptr : TextDatumGetCString(value);
    });
    return version;
}

void require_known_objects(const char* extension)
{
    const char* objects = objects_version(extension);
    if (objects != nullptr && strverscmp(objects, FLAKEID_VERSION) > 0) {
        throw_objects_do_not_fit(extension, objects);
    }
}

void throw_objects_do_not_fit(const char* extension, const char* objects)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("extension %s of this database does not fit the library", extension),
            errdetail("The SQL objects are of version %s, the library is of version %s.", objects,
                      FLAKEID_VERSION),
            strverscmp(objects, FLAKEID_VERSION) > 0
                ? errhint("Install version %s of flakeid, and restart the server.", objects)
                : errhint("Run: ALTER EXTENSION %s UPDATE", extension));
}

Oid function_beside(Oid function, const char* name, Oid argument, Oid second)
{
    const Oid arguments[] = {argument, second};
    const int count = OidIsValid(second) ? 2 : OidIsValid(argument) ? 1 : 0;
    const Oid found = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
                                      PointerGetDatum(buildoidvector(arguments, count)),
                                      ObjectIdGetDatum(get_func_namespace(function)));
    const Oid extension = getExtensionOfObject(ProcedureRelationId, function);
    if (!OidIsValid(found) || !OidIsValid(extension) ||
        getExtensionOfObject(ProcedureRelationId, found) != extension) {
        ereport(
            ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION),
            errmsg("function %s does not stand beside function %s", name, get_func_name(function)),
            errdetail("Both belong to extension flakeid, in one schema."),
            errhint("Call the functions that CREATE EXTENSION flakeid made."));
    }
    return found;
}

const char* grant_line(Oid function, Oid user)
{
    return psprintf("GRANT EXECUTE ON FUNCTION %s TO %s;", format_procedure_qualified(function),
                    quote_identifier(GetUserNameFromId(user, false)));
}

const char* setting_line(const char* setting, const char* value)
{
    const Oid session = GetSessionUserId();
    const char* role = superuser_arg(session) ? nullptr : GetUserNameFromId(session, true);
    return psprintf("ALTER %s %s SET %s = %s;", role != nullptr ? "ROLE" : "DATABASE",
                    quote_identifier(role != nullptr ? role : get_database_name(MyDatabaseId)),
                    setting, quote_literal_cstr(value));
}

void require_superuser(FunctionCallInfo fcinfo)
{
    if (!superuser()) {
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("permission denied for function %s", get_func_name(fcinfo->flinfo->fn_oid)),
                errdetail("Only superusers may call it, whatever was granted."));
    }
}

} // namespace flakeid
