// Functions of the extension that other functions of it call or ask about.
#pragma once

#include "postgres.hpp"

namespace flakeid {

// The function of that name and one argument of that type, or none, which belongs to the same
// extension as `function` and stands in the same schema. It is found by the schema's OID, so that
// neither the schema's name nor a right on it matters.
Oid member_beside(Oid function, const char* name, Oid argument = InvalidOid);

// The statement that gives a user that function, which has one bigint as its argument; palloc'ed.
const char* grant_line(Oid function, Oid user);

} // namespace flakeid
