#include "citus.hpp"

#include "catalogs.hpp"

extern "C" {
#include "catalog/pg_namespace.h"
}

namespace flakeid {

namespace {

constexpr char group_column[] = "groupid";
constexpr int32_t coordinator_group = 0;

// Gives `action` the group of each row until it returns true; false where there is no such table.
template <typename Action>
bool each_group(Watched which, const char* name, Action action)
{
    const Oid table = get_relname_relid(name, PG_CATALOG_NAMESPACE);
    watch_table(which, table);
    const AttrNumber column =
        OidIsValid(table) ? get_attnum(table, group_column) : InvalidAttrNumber;
    if (column == InvalidAttrNumber || get_atttype(table, column) != INT4OID) {
        return false;
    }
    each_row(table, [&](HeapTuple row, TupleDesc columns) {
        bool null;
        const Datum group = heap_getattr(row, column, columns, &null);
        return !null && action(DatumGetInt32(group));
    });
    return true;
}

} // namespace

Citus citus_cluster()
{
    Citus citus{};
    int32_t own = coordinator_group;
    citus.present = each_group(Watched::citus_group, "pg_dist_local_group", [&](int32_t group) {
        own = group;
        return true;
    });
    citus.group = static_cast<uint32_t>(own);
    citus.has_joined = citus.has_others = own != coordinator_group;
    (void)each_group(Watched::citus_nodes, "pg_dist_node", [&](int32_t group) {
        citus.has_joined = true;
        citus.has_others = citus.has_others || group != own;
        return citus.has_others;
    });
    return citus;
}

} // namespace flakeid
