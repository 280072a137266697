#include "durable/durable.hpp"

#include "server/extension.hpp"
#include "settings/settings.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "commands/extension.h"
#include "common/hashfn.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"
}

namespace flakeid {

namespace {

constexpr char schema_name[] = "flakeid";
constexpr char relation_name[] = "state";

// Calls `see` with every version of the rows that the key finds, also of those that are gone.
template <typename See>
void scan_versions(Oid catalog, Oid index, ScanKeyData key, See see)
{
    Relation relation = table_open(catalog, AccessShareLock);
    SysScanDesc scan = systable_beginscan(relation, index, true, SnapshotAny, 1, &key);
    for (HeapTuple tuple; HeapTupleIsValid(tuple = systable_getnext(scan));) {
        see(tuple);
    }
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
}

// True when this transaction removed or replaced that version, and a rollback, if only to a
// savepoint, brings it back.
bool removed_here(HeapTuple tuple)
{
    const HeapTupleHeader header = tuple->t_data;
    if ((header->t_infomask & HEAP_XMAX_INVALID) != 0 ||
        HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask)) {
        return false;
    }
    const TransactionId remover = HeapTupleHeaderGetUpdateXid(header);
    return TransactionIdIsCurrentTransactionId(remover) &&
           HeapTupleHeaderGetXmin(header) != remover;
}

// True when this transaction has replaced a file of the state other than `file`, or the whole
// extension. A state that it dropped with its schema counts too.
bool replaced_here(Oid file)
{
    bool replaced = false;
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_class_relname, BTEqualStrategyNumber, F_NAMEEQ,
                CStringGetDatum(relation_name));
    scan_versions(RelationRelationId, ClassNameNspIndexId, key, [&](HeapTuple tuple) {
        const auto* row = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
        replaced = replaced || (row->relkind == RELKIND_MATVIEW && row->relnatts == durable_cells &&
                                row->relfilenode != file && removed_here(tuple));
    });
    ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
                CStringGetDatum(extension_name));
    scan_versions(ExtensionRelationId, ExtensionNameIndexId, key,
                  [&](HeapTuple tuple) { replaced = replaced || removed_here(tuple); });
    return replaced;
}

bool made_here(Oid relation)
{
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    const bool made = HeapTupleIsValid(tuple) &&
                      TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
    if (HeapTupleIsValid(tuple)) {
        ReleaseSysCache(tuple);
    }
    return made;
}

// The numbers on a page, or nullptr when it holds anything but one row of them. The row stands
// where the server puts the first row of a file; one that came later is somebody else's.
int64_t* cells(Page page)
{
    if (PageIsNew(page) || PageGetMaxOffsetNumber(page) != FirstOffsetNumber) {
        return nullptr;
    }
    ItemId item = PageGetItemId(page, FirstOffsetNumber);
    if (!ItemIdIsNormal(item) || ItemIdGetOffset(item) != MAXALIGN(ItemIdGetOffset(item)) ||
        ItemIdGetLength(item) < SizeofHeapTupleHeader ||
        ItemIdGetOffset(item) + ItemIdGetLength(item) > BLCKSZ) {
        return nullptr;
    }
    auto* row = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
    if (HeapTupleHeaderGetNatts(row) != durable_cells || (row->t_infomask & HEAP_HASNULL) != 0 ||
        row->t_hoff != MAXALIGN(row->t_hoff) ||
        ItemIdGetLength(item) != row->t_hoff + sizeof(Durable)) {
        return nullptr;
    }
    return reinterpret_cast<int64_t*>(reinterpret_cast<char*>(row) + row->t_hoff);
}

// The state of this database, locked; nullptr where there is none.
Relation find_state(LOCKMODE mode)
{
    for (;;) {
        const Oid schema = get_namespace_oid(schema_name, true);
        const Oid oid = OidIsValid(schema) ? get_relname_relid(relation_name, schema) : InvalidOid;
        if (!OidIsValid(oid) || get_rel_relkind(oid) != RELKIND_MATVIEW ||
            getExtensionOfObject(RelationRelationId, oid) !=
                get_extension_oid(extension_name, true)) {
            return nullptr;
        }
        Relation relation = try_relation_open(oid, mode);
        if (relation != nullptr) {
            return relation;
        }
        // It was dropped while this session waited for its lock. There may be another one.
    }
}

// True where the SQL objects are those of this library, or nobody knows.
bool objects_fit(const char* version)
{
    return version == nullptr || strcmp(version, FLAKEID_VERSION) == 0;
}

// `version` is that of the SQL objects.
[[noreturn]] void throw_state_missing(const char* version)
{
    if (!objects_fit(version)) {
        throw_objects_do_not_fit(extension_name, version);
    }
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("extension %s of this database does not fit the library", extension_name),
            errdetail("There is no view flakeid.state."),
            errhint("If schema flakeid was renamed, give it its name back; otherwise restore the "
                    "database."));
}

} // namespace

uint64_t durable_check(const Durable& durable)
{
    return hash_bytes_extended(reinterpret_cast<const unsigned char*>(&durable),
                               offsetof(Durable, check), 0) &
           PG_INT64_MAX;
}

DurablePage durable_open(BufferLockMode buffer_lock, LOCKMODE mode)
{
    Assert(!HistoricSnapshotActive());
    DurablePage page{find_state(mode), InvalidBuffer, buffer_lock, InvalidXLogRecPtr};
    if (page.relation == nullptr || RelationGetNumberOfAttributes(page.relation) != durable_cells) {
        // Read once: an update may commit at any moment, and the error must not say half of it.
        const char* version = objects_version(extension_name);
        if (page.relation == nullptr && objects_fit(version)) {
            InvalidateSystemCaches(); // it has committed, and this session has not heard of it
            page.relation = find_state(mode);
        }
        if (page.relation == nullptr ||
            RelationGetNumberOfAttributes(page.relation) != durable_cells) {
            throw_state_missing(version);
        }
    }
    if (RelationGetNumberOfBlocks(page.relation) > 0) {
        page.buffer = ReadBuffer(page.relation, 0);
        LockBuffer(page.buffer, buffer_lock);
    }
    return page;
}

bool durable_read(const DurablePage& page, Durable* durable)
{
    *durable = Durable{};
    const int64_t* found = BufferIsValid(page.buffer) ? cells(BufferGetPage(page.buffer)) : nullptr;
    if (found == nullptr) {
        return false;
    }
    memcpy(durable, found, sizeof *durable);
    if (durable_check(*durable) != static_cast<uint64_t>(durable->check)) {
        *durable = Durable{};
        return false;
    }
    if (durable->format != durable_format) {
        const int64_t format = durable->format;
        *durable = Durable{};
        durable->format = format;
        return false;
    }
    return true;
}

void durable_write(const DurablePage& page, Durable durable)
{
    Assert(BufferIsValid(page.buffer) && page.lock == BUFFER_LOCK_EXCLUSIVE);
    durable.check = static_cast<int64_t>(durable_check(durable));
    GenericXLogState* record = GenericXLogStart(page.relation);
    memcpy(cells(GenericXLogRegisterBuffer(record, page.buffer, 0)), &durable, sizeof durable);
    GenericXLogFinish(record);
}

void durable_flush(DurablePage& page)
{
    if (BufferIsValid(page.buffer)) {
        page.lsn = PageGetLSN(BufferGetPage(page.buffer));
        UnlockReleaseBuffer(page.buffer);
        page.buffer = InvalidBuffer;
        // After pg_resetwal the page's LSN may lie past the end of the WAL.
        if (!RecoveryInProgress() && page.lsn <= GetXLogInsertRecPtr()) {
            XLogFlush(page.lsn);
        }
    }
}

bool durable_is_flushed(const DurablePage& page)
{
    return !BufferIsValid(page.buffer) &&
           (page.lsn <= GetFlushRecPtr(nullptr) || page.lsn > GetXLogInsertRecPtr());
}

void durable_close(const DurablePage& page, LOCKMODE mode)
{
    relation_close(page.relation, mode);
}

Oid durable_file(const DurablePage& page)
{
    return relation_file(page.relation);
}

bool durable_may_go_back(const DurablePage& page)
{
    return made_here(RelationGetRelid(page.relation)) && replaced_here(durable_file(page));
}

void throw_state_lost(int64_t format)
{
    if (format != 0 && format != durable_format) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the state of database \"%s\" is of format " INT64_FORMAT,
                       get_database_name(MyDatabaseId), format),
                errdetail("This library knows format " INT64_FORMAT ".", durable_format),
                errhint("Install the later version of flakeid that this server had."));
    }
    ereport(
        ERROR, errcode(ERRCODE_DATA_CORRUPTED),
        errmsg("the horizon of database \"%s\" is lost", get_database_name(MyDatabaseId)),
        errdetail("Nobody knows up to when ids of this database were made: flakeid.state was "
                  "emptied or changed by something else than flakeid."),
        errhint("Run REFRESH MATERIALIZED VIEW flakeid.state; SELECT flakeid.raise_horizon(now() + "
                "'" INT64_FORMAT " ms'); as a superuser, with a later moment if an id was "
                "stamped after it.",
                settings.max_ahead_us / us_per_ms));
}

void throw_state_replaced()
{
    ereport(
        ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        errmsg("cannot make ids in the transaction that replaces the durable state of flakeid"),
        errdetail("It dropped, updated or rewrote the extension or flakeid.state, and may still be "
                  "rolled back."),
        errhint("Commit first."));
}

} // namespace flakeid
