#include "settings/cluster.hpp"

#include "server/extension.hpp"
#include "settings/settings.hpp"

extern "C" {
#include "catalog/pg_namespace.h"
#include "utils/catcache.h"
#include "utils/inval.h"
}

namespace flakeid {

namespace {

constexpr const char* watched_schemas[] = {multi_writers[0], multi_writers[1], "citus"};

uint32 schema_hashes[lengthof(watched_schemas)];
Oid watched_tables[2];

// A hash or OID of zero is sent when anything may have changed.
template <typename T, size_t n>
void changed(const T (&watched)[n], T what)
{
    for (const T one : watched) {
        if (one != 0 && (what == 0 || what == one)) {
            settings_changed();
            return;
        }
    }
}

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

// The number of a column of pg_dist_node; InvalidAttrNumber: there is none of that type.
AttrNumber column_of(Oid table, const char* name, Oid type)
{
    const AttrNumber column = get_attnum(table, name);
    if (column != InvalidAttrNumber && get_atttype(table, column) != type) {
        return InvalidAttrNumber;
    }
    return column;
}

// Tells whether Citus knows a clone of the server of a group, which it does since 13.2: then the
// clone has another row, which names the server's.
bool is_cloned(int32_t group)
{
    const Oid table = get_relname_relid("pg_dist_node", PG_CATALOG_NAMESPACE);
    if (!OidIsValid(table)) {
        return false;
    }
    const AttrNumber clone = column_of(table, "nodeisclone", BOOLOID);
    const AttrNumber primary = column_of(table, "nodeprimarynodeid", INT4OID);
    const AttrNumber number = column_of(table, "nodeid", INT4OID);
    const AttrNumber of_group = column_of(table, group_column, INT4OID);
    if (clone == InvalidAttrNumber || primary == InvalidAttrNumber || number == InvalidAttrNumber ||
        of_group == InvalidAttrNumber) {
        return false;
    }
    bool cloned = false;
    each_row(table, [&](HeapTuple row, TupleDesc columns) {
        bool null;
        if (DatumGetBool(heap_getattr(row, clone, columns, &null))) {
            const Datum original = heap_getattr(row, primary, columns, &null);
            each_row(table, [&](HeapTuple other, TupleDesc) {
                cloned = cloned ||
                         (heap_getattr(other, number, columns, &null) == original &&
                          DatumGetInt32(heap_getattr(other, of_group, columns, &null)) == group);
                return cloned;
            });
        }
        return cloned;
    });
    return cloned;
}

} // namespace

void watch_catalogs()
{
    static bool watching;
    if (watching) {
        return;
    }
    watching = true;
    for (size_t i = 0; i < lengthof(watched_schemas); i++) {
        schema_hashes[i] =
            GetSysCacheHashValue1(NAMESPACENAME, CStringGetDatum(watched_schemas[i]));
    }
    CacheRegisterSyscacheCallback(
        NAMESPACENAME, [](Datum, auto, uint32 hash) { changed(schema_hashes, hash); }, 0);
    CacheRegisterSyscacheCallback(
        SUBSCRIPTIONOID, [](Datum, auto, uint32) { settings_changed(); }, 0);
    CacheRegisterSyscacheCallback(
        REPLORIGNAME, [](Datum, auto, uint32) { settings_changed(); }, 0);
    CacheRegisterRelcacheCallback([](Datum, Oid table) { changed(watched_tables, table); }, 0);
}

void watch_table(Watched which, Oid table)
{
    watch_catalogs();
    watched_tables[static_cast<int>(which)] = table;
}

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
    citus.is_cloned = citus.present && is_cloned(own);
    return citus;
}

} // namespace flakeid
