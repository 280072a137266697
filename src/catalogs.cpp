#include "catalogs.hpp"

#include "settings.hpp"

extern "C" {
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
            settings.generation++;
            return;
        }
    }
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
        SUBSCRIPTIONOID, [](Datum, auto, uint32) { settings.generation++; }, 0);
    CacheRegisterRelcacheCallback([](Datum, Oid table) { changed(watched_tables, table); }, 0);
}

void watch_table(Watched which, Oid table)
{
    watch_catalogs();
    watched_tables[static_cast<int>(which)] = table;
}

} // namespace flakeid
