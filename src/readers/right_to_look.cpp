#include "readers/right_to_look.hpp"

#include "server/extension.hpp"

namespace flakeid {

namespace {

Oid function_of_right(Oid beside, Looking into)
{
    return into == Looking::enciphered
               ? function_beside(beside, "flake_decrypt", INT8OID)
               : function_beside(beside, "flake_in_range",
                                 get_func_rettype(function_beside(beside, "flake_seal", INT8OID)),
                                 TSTZRANGEOID);
}

} // namespace

bool may_look(Oid beside)
{
    return function_aclcheck(function_of_right(beside, Looking::enciphered), GetUserId(),
                             ACL_EXECUTE) == ACLCHECK_OK;
}

void check_right_to_look(FunctionCallInfo fcinfo, Oid user, Looking into)
{
    const Oid function = function_of_right(fcinfo->flinfo->fn_oid, into);
    if (function_aclcheck(function, user, ACL_EXECUTE) != ACLCHECK_OK) {
        ereport(
            ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            into == Looking::sealed ? errmsg("permission denied to find sealed ids by time")
                                    : errmsg("permission denied to look into enciphered ids"),
            into == Looking::sealed
                ? errdetail("It needs EXECUTE on flake_in_range(flake_sealed, tstzrange).")
                : errdetail("Readers and flake_make on an enciphered layout need EXECUTE on "
                            "flake_decrypt(bigint); an index on such a reader needs it for every "
                            "role that inserts and for the table's owner."),
            errhint("%s", grant_line(function, user)));
    }
}

} // namespace flakeid
