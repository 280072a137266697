// Reading the server's catalogs, and noticing that they changed.
#pragma once

#include "postgres.hpp"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
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
