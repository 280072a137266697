#include "settings/shared_node.hpp"

#include "server/extension.hpp"
#include "settings/cluster.hpp"
#include "settings/node.hpp"

extern "C" {
#include "catalog/pg_publication.h"
#include "catalog/pg_replication_origin.h"
#include "catalog/pg_subscription.h"
#include "commands/extension.h"
#include "replication/slot.h"
}

namespace flakeid {

namespace {

constexpr char citus_line[] =
    "LOAD 'flakeid'; ALTER SYSTEM SET flakeid.node = 'citus'; SELECT pg_reload_conf();";
// No number stands there: whatever is printed to one server may be printed to another.
constexpr char number_advice[] =
    "On each server, with a number for N that no other server has: LOAD 'flakeid'; ALTER SYSTEM "
    "SET flakeid.node = N; SELECT pg_reload_conf();";

bool is_published()
{
    bool found = false;
    each_row(PublicationRelationId, [&](HeapTuple, TupleDesc) { return found = true; });
    return found;
}

// The name of a subscription of this database, palloc'ed; nullptr: it has none.
const char* subscription_name()
{
    const char* name = nullptr;
    each_row(SubscriptionRelationId, [&](HeapTuple row, TupleDesc) {
        const auto* subscription = reinterpret_cast<Form_pg_subscription>(GETSTRUCT(row));
        if (subscription->subdbid == MyDatabaseId) {
            name = pstrdup(NameStr(subscription->subname));
        }
        return name != nullptr;
    });
    return name;
}

// The name of a replication origin that is no subscription's, palloc'ed; nullptr: there is none. An
// origin is of the server, and says nothing of a database.
const char* foreign_origin()
{
    constexpr char of_subscription[] = "pg_"; // which nobody else may begin a name with
    const char* found = nullptr;
    each_row(ReplicationOriginRelationId, [&](HeapTuple row, TupleDesc columns) {
        bool null;
        const Datum value = heap_getattr(row, Anum_pg_replication_origin_roname, columns, &null);
        const char* name = null ? of_subscription : TextDatumGetCString(value);
        found = strncmp(name, of_subscription, strlen(of_subscription)) == 0 ? nullptr : name;
        return found != nullptr;
    });
    return found;
}

// A slot of this database of a system with which several servers write.
struct WriterSlot {
    bool found;
    NameData name;
    NameData plugin;
};
static_assert(is_plain<WriterSlot>);

WriterSlot writer_slot()
{
    constexpr const char* plugins[] = {"pglogical_output", "spock_output", "bdr"};
    WriterSlot slot{};
    LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
    for (int i = 0; i < max_replication_slots && !slot.found; i++) {
        ReplicationSlot& one = ReplicationSlotCtl->replication_slots[i];
        if (one.in_use) {
            SpinLockAcquire(&one.mutex);
            slot.name = one.data.name;
            slot.plugin = one.data.plugin;
            const bool here = one.data.database == MyDatabaseId;
            SpinLockRelease(&one.mutex);
            for (const char* plugin : plugins) {
                slot.found = slot.found || (here && strcmp(NameStr(slot.plugin), plugin) == 0);
            }
        }
    }
    LWLockRelease(ReplicationSlotControlLock);
    return slot;
}

const char* multi_writer_name()
{
    for (const char* name : multi_writers) {
        // Its schema is looked for first: a session that begins has no row of pg_extension at hand.
        if (OidIsValid(get_namespace_oid(name, true)) &&
            OidIsValid(get_extension_oid(name, true))) {
            return name;
        }
    }
    return nullptr;
}

// other_servers(), of what the catalogs of Citus tell.
const char* other_servers(const Citus& citus)
{
    auto of_database = [](const char* what) {
        return psprintf("Database \"%s\" %s.", get_database_name(MyDatabaseId), what);
    };
    if (citus.has_others) {
        return of_database("is distributed by Citus");
    }
    if (const char* subscription = subscription_name()) {
        return of_database(psprintf("has subscription \"%s\"", subscription));
    }
    if (const char* extension = multi_writer_name()) {
        return of_database(psprintf("has extension %s", extension));
    }
    if (const WriterSlot slot = writer_slot(); slot.found) {
        return of_database(psprintf("has replication slot \"%s\" of %s", NameStr(slot.name),
                                    NameStr(slot.plugin)));
    }
    if (const char* origin = foreign_origin()) {
        return psprintf("The server has replication origin \"%s\", which is no subscription's.",
                        origin);
    }
    return nullptr;
}

// `evidence`: that there are others. `advice`: what to run, on which servers.
[[noreturn]] void throw_never_set(const char* evidence, const char* advice)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("this server is one of several, and flakeid.node was never set"),
            errdetail("%s Servers with the same node make the same ids, and a server that was "
                      "never given one has node 0.",
                      evidence),
            errhint("%s", advice));
}

[[noreturn]] void throw_same_everywhere()
{
    const char* database = quote_identifier(get_database_name(MyDatabaseId));
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("flakeid.node is a number set for a database or role, and this server is one of "
                   "a Citus cluster"),
            errdetail("Citus carries ALTER DATABASE and ALTER ROLE to every server, and servers "
                      "with the same node make the same ids."),
            errhint("Once: ALTER DATABASE %s RESET flakeid.node; or ALTER ROLE. On every server: "
                    "%s",
                    database, citus_line));
}

// Of a server that is no danger to another yet.
void warn_once(const char* message, const char* detail, const char* advice)
{
    static bool warned;
    if (!warned && !IsParallelWorker()) {
        warned = true;
        ereport(WARNING, errmsg("%s", message), errdetail("%s", detail), errhint("%s", advice));
    }
}

} // namespace

void refuse_shared_node()
{
    watch_catalogs();
    const bool number_of_database =
        node_setting.of_database && node_setting.source == NodeSource::number;
    if (!node_setting.by_default && !number_of_database) {
        return;
    }
    const Citus citus = citus_cluster();
    if (number_of_database) {
        if (citus.has_others) {
            throw_same_everywhere();
        }
        return;
    }
    if (const char* others = other_servers(citus)) {
        throw_never_set(others, citus.has_others ? psprintf("On every server: %s", citus_line)
                                                 : number_advice);
    }
    if (citus.present) {
        warn_once(
            "this database is of a Citus cluster of one server, and flakeid.node was never set",
            "When another server joins, this one makes no ids until flakeid.node is set.",
            psprintf("Run now: %s", citus_line));
    } else if (is_published()) {
        warn_once("this database is published, and flakeid.node was never set",
                  "When it has a subscription too, it makes no ids until flakeid.node is set.",
                  number_advice);
    }
}

const char* other_servers()
{
    return other_servers(citus_cluster());
}

} // namespace flakeid
