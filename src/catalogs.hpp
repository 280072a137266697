// Reading the server's catalogs, and noticing that they changed.
#pragma once

#include "postgres.hpp"

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

// Gives `action` this extension's row of pg_extension, where there is one, with its columns.
template <typename Action>
void extension_row(Action action)
{
    each_row(ExtensionRelationId, [&](HeapTuple row, TupleDesc columns) {
        const auto* extension = reinterpret_cast<Form_pg_extension>(GETSTRUCT(row));
        const bool ours = strcmp(NameStr(extension->extname), extension_name) == 0;
        if (ours) {
            action(row, columns);
        }
        return ours;
    });
}

// From now on generators of this session are made anew when subscriptions change, and when one of
// these extensions, with which several servers write, comes or goes. Each makes a schema of its own
// name.
constexpr const char* multi_writers[] = {"spock", "bdr"};
void watch_catalogs();

// The same when that table changes. Of each kind one table is watched, the last that was given;
// `table` may be invalid.
enum class Watched { citus_group, citus_nodes };
void watch_table(Watched which, Oid table);

} // namespace flakeid
