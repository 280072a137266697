// Nodes for ids of old rows: flakeid.convert() makes such ids for moments at which this server may
// have made others, so each table takes a node that nothing else of the server has.
//
// What is taken stands in the setting flakeid.old_row_nodes of the table's database, since
// pg_db_role_setting is one catalog for all databases of the server: what is written there is part
// of the transaction that makes the ids or takes them back, outlives a crash, reaches standbys, and
// goes through pg_dump -C and pg_upgrade. A database that is dropped gives back what it had.
//
// Locking: a lock of a shared object that no other code takes, until the transaction ends, so that
// whoever takes a node sees all that was taken before.
// Rejected: a file beside flakeid/horizon, and shared memory. Both would have to be brought
// together with a transaction that may be rolled back, and no standby has the file.
#include "durable/server_horizon.hpp"
#include "functions/owner.hpp"
#include "server/extension.hpp"
#include "settings/node.hpp"
#include "settings/role_settings.hpp"
#include "settings/settings.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/pg_authid_d.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
}

using namespace flakeid;

namespace {

// So many nodes are looked at, from the highest one down.
constexpr int64_t most_candidates = 4096;

// What one database can take: everybody who owns a table takes nodes.
constexpr int most_taken = 1024;

// What a table took.
struct Taken {
    uint32_t node;
    Oid table;
};

// The setting's text is "format;node:table node:table ...".
constexpr int list_format = 1;

[[noreturn]] void throw_other_list(Oid database, const char* list)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("setting %s of database \"%s\" is of another format", old_row_nodes_name,
                   get_database_name(database)),
            errdetail("It is \"%s\", and this library knows format %d, which begins with \"%d;\".",
                      list, list_format, list_format),
            errhint("Install the later version of flakeid that this server had."));
}

// Reads the next one, before which `at` stands; false where none is left.
bool next_taken(const char** at, Taken* taken)
{
    int length = 0;
    if (sscanf(*at, " %u:%u%n", &taken->node, &taken->table, &length) != 2 || length == 0) {
        return false;
    }
    *at += length;
    return true;
}

// Calls `see` for what each database has taken, as it is now.
template <typename See>
void for_all_taken(See see)
{
    each_role_setting(old_row_nodes_name, [&](Oid database, Oid role, const char* list) {
        if (OidIsValid(role) || *list == '\0') {
            return;
        }
        int format = 0;
        int length = 0;
        if (sscanf(list, "%d;%n", &format, &length) != 1 || format != list_format || length == 0) {
            throw_other_list(database, list);
        }
        const char* at = list + length;
        for (Taken taken; next_taken(&at, &taken);) {
            see(database, taken);
        }
        if (*at != '\0') {
            throw_other_list(database, list);
        }
    });
}

void lock_taken()
{
    LockSharedObject(DbRoleSettingRelationId, InvalidOid, 0, ExclusiveLock);
}

// Replaces what this database has taken.
void write_taken(const char* list)
{
    VariableSetStmt* statement = makeNode(VariableSetStmt);
    statement->name = pstrdup(old_row_nodes_name);
    if (*list == '\0') {
        statement->kind = VAR_RESET;
    } else {
        A_Const* value = makeNode(A_Const);
        value->val.sval.type = T_String;
        value->val.sval.sval = pstrdup(list);
        value->location = -1;
        statement->kind = VAR_SET_VALUE;
        statement->args = list_make1(value);
    }
    Oid caller = InvalidOid;
    int context = 0;
    GetUserIdAndSecContext(&caller, &context);
    SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, context | SECURITY_LOCAL_USERID_CHANGE);
    AlterSetting(MyDatabaseId, InvalidOid, statement);
    SetUserIdAndSecContext(caller, context);
    CommandCounterIncrement();
}

struct OfDatabase {
    StringInfoData text;
    int count;
};

void append(OfDatabase* list, Taken taken)
{
    if (list->count == 0) {
        appendStringInfo(&list->text, "%d;", list_format);
    }
    appendStringInfo(&list->text, "%s%u:%u", list->count == 0 ? "" : " ", taken.node, taken.table);
    list->count++;
}

// Returns what this database has taken, but for one.
OfDatabase taken_here(Taken left_out)
{
    OfDatabase list{};
    initStringInfo(&list.text);
    for_all_taken([&](Oid database, Taken taken) {
        if (database == MyDatabaseId &&
            (taken.node != left_out.node || taken.table != left_out.table)) {
            append(&list, taken);
        }
    });
    return list;
}

void require_owner(Oid table)
{
    require_known_objects(tables_extension);
    if (!has_privs_of_role(GetUserId(), owner_of(table))) {
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("must be owner of table %s", get_rel_name(table)));
    }
}

// Returns the nodes that ids of old rows cannot have.
List* nodes_taken(ArrayType* besides)
{
    List* nodes = NIL;
    for_all_taken(
        [&](Oid, Taken taken) { nodes = lappend_int(nodes, static_cast<int>(taken.node)); });
    if (besides != nullptr) {
        Datum* numbers;
        bool* nulls;
        int count;
        deconstruct_array(besides, INT4OID, sizeof(int32), true, TYPALIGN_INT, &numbers, &nulls,
                          &count);
        for (int i = 0; i < count; i++) {
            nodes = nulls[i] ? nodes : lappend_int(nodes, DatumGetInt32(numbers[i]));
        }
    }
    return nodes;
}

// Returns the highest node of the layout in effect that is free and that this server never had; -1:
// there is none.
int64_t highest_free(const List* taken)
{
    const NodeSpan span = configured_span(settings.layout);
    const int64_t highest = settings.layout.max_node;
    for (int64_t node = highest; node >= 0 && highest - node < most_candidates; node--) {
        const auto number = static_cast<uint32_t>(node);
        const bool ours = span.problem == nullptr && number >= span.first && number <= span.last;
        if (!ours && !server_has_node(number) &&
            !list_member_int(taken, static_cast<int>(number))) {
            return node;
        }
    }
    return -1;
}

static_assert(is_plain<Taken, OfDatabase>);

} // namespace

// old_row_node(table, wanted, besides, take): the node that a table gets, or takes; null: none is
// left, or not the one that is wanted.
FLAKEID_FUNCTION(flakeid_old_row_node)
{
    if (PG_ARGISNULL(0) || PG_ARGISNULL(3)) {
        PG_RETURN_NULL();
    }
    const Oid table = PG_GETARG_OID(0);
    require_owner(table);
    require_good_settings();
    if (PG_GETARG_BOOL(3)) {
        lock_taken();
    }
    const List* taken = nodes_taken(PG_ARGISNULL(2) ? nullptr : PG_GETARG_ARRAYTYPE_P(2));
    const int64_t node = PG_ARGISNULL(1) ? highest_free(taken) : PG_GETARG_INT32(1);
    OfDatabase here = taken_here({0, InvalidOid});
    if (node < 0 || node > settings.layout.max_node || here.count >= most_taken ||
        list_member_int(taken, static_cast<int>(node))) {
        PG_RETURN_NULL();
    }
    if (PG_GETARG_BOOL(3)) {
        append(&here, {static_cast<uint32_t>(node), table});
        write_taken(here.text.data);
    }
    PG_RETURN_INT32(static_cast<int32>(node));
}

FLAKEID_FUNCTION(flakeid_release_old_row_node)
{
    const Oid table = PG_GETARG_OID(0);
    require_owner(table);
    lock_taken();
    const OfDatabase before = taken_here({0, InvalidOid});
    const OfDatabase after = taken_here({static_cast<uint32_t>(PG_GETARG_INT32(1)), table});
    if (after.count < before.count) {
        write_taken(after.text.data);
    }
    PG_RETURN_VOID();
}
