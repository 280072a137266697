#include "server/extension.hpp"

extern "C" {
#include "catalog/dependency.h"
#include "utils/regproc.h"
}

namespace flakeid {

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
