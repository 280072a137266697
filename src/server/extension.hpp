// Rows of catalogs, among them the extension's own, and functions of the extension that others of
// it call or ask about.
#pragma once

#include "server/postgres.hpp"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
}

namespace flakeid {

// Gives `action` each row of a table, with its columns, until it returns true.
template <typename Action>
void each_row(Oid table, Action action)
{
    Relation relation = table_open(table, AccessShareLock);
    SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, nullptr, 0, nullptr);
    HeapTuple row;
    do {
        row = systable_getnext(scan);
    } while (HeapTupleIsValid(row) && !action(row, RelationGetDescr(relation)));
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
}

constexpr char extension_name[] = "flakeid";

// Gives `action` the row of pg_extension of that name, where there is one, with its columns.
template <typename Action>
void extension_row(const char* name, Action action)
{
    each_row(ExtensionRelationId, [&](HeapTuple row, TupleDesc columns) {
        const auto* extension = reinterpret_cast<Form_pg_extension>(GETSTRUCT(row));
        const bool ours = strcmp(NameStr(extension->extname), name) == 0;
        if (ours) {
            action(row, columns);
        }
        return ours;
    });
}

// Returns the version of the SQL objects of an extension in this database, palloc'ed; nullptr where
// it is not there.
const char* objects_version(const char* extension);

// Throws where those are of a later version than the library, which lacks what they call, or knows
// it otherwise. It serves those of earlier versions.
void require_known_objects(const char* extension);

// `objects`: their version.
[[noreturn]] void throw_objects_do_not_fit(const char* extension, const char* objects);

// Returns the function `name` of the extension and schema that `function` belongs to. It has no
// argument, one of type `argument`, or after that one of type `second`. It is found by the schema's
// OID, so that neither the schema's name nor a right on it matters.
Oid function_beside(Oid function, const char* name, Oid argument = InvalidOid,
                    Oid second = InvalidOid);

// Returns the statement that gives a user that function; palloc'ed.
const char* grant_line(Oid function, Oid user);

// Returns the statement that sets a setting for the role of the session, which keeps it when
// programs drop databases and make them anew; for the database, where that is a superuser.
const char* setting_line(const char* setting, const char* value);

// Throws an error unless a superuser calls, whatever was granted to whom.
void require_superuser(FunctionCallInfo fcinfo);

} // namespace flakeid
