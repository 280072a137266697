// flakeid.state: its pages, its WAL records, its rows in the catalogs.
#include "backend.hpp"

#include "checker.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace sim {

PROCESS_LOCAL int my_further_opens = 0;
PROCESS_LOCAL int my_opened = 0;
PROCESS_LOCAL int my_looks = 0;

namespace {

constexpr Oid state_oid = 500, schema_oid = 501, extension_oid = 502;

PROCESS_LOCAL Buffer my_record = InvalidBuffer;
PROCESS_LOCAL Oid my_scanned = InvalidOid; // the catalog, and how many of its rows were seen
PROCESS_LOCAL int my_scanned_rows = 0;
char record_page[BLCKSZ]; // of the generic WAL record that is being made; its maker does not yield

constexpr size_t row_header = MAXALIGN(SizeofHeapTupleHeader);
static_assert(row_header == 24, "the row has no nulls");

char* block(Server& server, int page)
{
    return server.blocks.data() + static_cast<size_t>(page) * BLCKSZ;
}

void write_block(Server& server, int page, const StateFile& file)
{
    char* at = block(server, page);
    memset(at, 0, BLCKSZ);
    auto* header = reinterpret_cast<PageHeader>(at);
    const size_t length = row_header + row_size;
    const size_t offset = BLCKSZ - MAXALIGN(length);
    header->pd_lower = SizeOfPageHeaderData + (file.has_row ? sizeof(ItemIdData) : 0);
    header->pd_upper = static_cast<LocationIndex>(file.has_row ? offset : BLCKSZ);
    header->pd_special = BLCKSZ;
    header->pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
    if (file.has_row) {
        ItemIdSetNormal(&header->pd_linp[0], static_cast<unsigned>(offset),
                        static_cast<unsigned>(length));
        auto* row = reinterpret_cast<HeapTupleHeader>(at + offset);
        row->t_infomask = HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID;
        row->t_hoff = row_header;
        HeapTupleHeaderSetNatts(row, flakeid::durable_cells);
        memcpy(at + offset + row_header, file.row, row_size);
    }
}

int page_of(Buffer buffer)
{
    return buffer - 1;
}

} // namespace

StateFile read_block(Server& server, int page)
{
    const char* at = block(server, page);
    StateFile file;
    file.number = server.now.databases[page / files_each].files[page % files_each].number;
    file.has_row = reinterpret_cast<const PageHeaderData*>(at)->pd_lower > SizeOfPageHeaderData;
    if (file.has_row) {
        memcpy(file.row, at + BLCKSZ - MAXALIGN(row_header + row_size) + row_header, row_size);
    }
    return file;
}

uint64_t insert_wal(WalRecord record)
{
    Server& server = here();
    record.lsn = ++server.inserted;
    server.wal.push_back(record);
    return record.lsn;
}

void make_pages(Server& server)
{
    server.blocks.assign(static_cast<size_t>(most_databases) * files_each * BLCKSZ, 0);
    for (int page = 0; page < most_databases * files_each; page++) {
        DatabaseFiles& database = server.now.databases[page / files_each];
        StateFile& file = database.files[page % files_each];
        if (file.number != database.current) {
            file = StateFile{};
        }
        server.page_locks[page] = Lock{};
        server.relations[page] = RelationData{};
        server.relation_forms[page] = FormData_pg_class{};
        server.relations[page].rd_id = state_oid;
        server.relations[page].rd_rel = &server.relation_forms[page];
        server.relation_forms[page].relnatts = flakeid::durable_cells;
        server.relations[page].rd_node.relNode = file.number;
        write_block(server, page, file);
    }
}

void add_file(Server& server, int database, int place, const StateFile& file)
{
    server.now.databases[database].files[place] = file;
    const int page = database * files_each + place;
    write_block(server, page, file);
    server.relations[page].rd_node.relNode = file.number;
    PageSetLSN(block(server, page),
               insert_wal({WalKind::page, 0, 0, database, file, InvalidOid, 0}));
}

void drop_database(Server& server, int database, const flakeid::Durable& row)
{
    server.base = replayed(server, server.inserted); // a checkpoint
    server.flushed = server.inserted;
    server.wal.clear();
    DatabaseFiles fresh;
    fresh.dropped = server.base.databases[database].dropped + 1;
    fresh.current = fresh.files[0].number = server.base.next_file++;
    set_durable(fresh.files[0], row);
    server.base.databases[database] = server.now.databases[database] = fresh;
    server.now.next_file = server.base.next_file;
    for (int i = 0; i < most_databases; i++) {
        server.flushed_rows[i] = current_file(server.base.databases[i]);
    }
    for (int place = 0; place < files_each; place++) {
        const int page = database * files_each + place;
        write_block(server, page, fresh.files[place]);
        server.relations[page].rd_node.relNode = fresh.files[place].number;
    }
}

} // namespace sim

using namespace sim;

extern "C" {

// The durable row
Oid get_namespace_oid(const char*, bool)
{
    return schema_oid;
}

Oid get_relname_relid(const char* name, Oid)
{
    return strcmp(name, "state") == 0 ? state_oid : InvalidOid;
}

char get_rel_relkind(Oid)
{
    return RELKIND_MATVIEW;
}

Oid getExtensionOfObject(Oid, Oid)
{
    return extension_oid;
}

Oid get_extension_oid(const char*, bool)
{
    return extension_oid;
}

Relation try_relation_open(Oid, LOCKMODE mode)
{
    yield();
    if (++my_looks > 1000) {
        broken_for_good("G4: a session looks at flakeid.state again and again, and never rests");
    }
    Lock& lock = here().relation_locks[my_database()];
    if (lock.exclusive == running->number) {
        my_further_opens++;
    } else {
        hold(lock, mode == AccessExclusiveLock, false);
    }
    const DatabaseFiles& files = here().now.databases[my_database()];
    const Replacing& replacing = here().replacing[my_database()];
    const Oid mine = replacing.process == running->number ? replacing.file : files.current;
    for (int i = 0; i < files_each; i++) {
        if (files.files[i].number == mine) {
            my_opened++;
            return &here().relations[my_database() * files_each + i];
        }
    }
    broken_for_good("flakeid.state has no file");
}

void relation_close(Relation, LOCKMODE)
{
    my_opened--;
    if (my_further_opens > 0) {
        my_further_opens--;
    } else {
        let_go(here().relation_locks[my_database()]);
    }
    yield();
}

BlockNumber RelationGetNumberOfBlocksInFork(Relation, ForkNumber)
{
    return 1;
}

Buffer ReadBuffer(Relation relation, BlockNumber)
{
    yield();
    return static_cast<Buffer>(relation - here().relations) + 1;
}

void LockBuffer(Buffer buffer, int mode)
{
    InterruptHoldoffCount++;
    hold(here().page_locks[page_of(buffer)], mode == BUFFER_LOCK_EXCLUSIVE, true);
}

void UnlockReleaseBuffer(Buffer buffer)
{
    let_go(here().page_locks[page_of(buffer)]);
    InterruptHoldoffCount--;
    yield();
}

GenericXLogState* GenericXLogStart(Relation)
{
    return reinterpret_cast<GenericXLogState*>(record_page);
}

Page GenericXLogRegisterBuffer(GenericXLogState*, Buffer buffer, int)
{
    my_record = buffer;
    memcpy(record_page, block(here(), page_of(buffer)), BLCKSZ);
    return record_page;
}

XLogRecPtr GenericXLogFinish(GenericXLogState*)
{
    const int page = page_of(my_record);
    my_record = InvalidBuffer;
    memcpy(block(here(), page), record_page, BLCKSZ);
    const uint64_t lsn = insert_wal(
        {WalKind::page, 0, 0, page / files_each, read_block(here(), page), InvalidOid, 0});
    PageSetLSN(block(here(), page), lsn);
    return lsn;
}

void XLogFlush(XLogRecPtr lsn)
{
    Server& server = here();
    nothing_is_held("a flush");
    if (lsn > server.inserted) {
        broken_for_good("a flush past the end of the WAL");
    }
    if (lsn <= server.flushed) {
        yield();
        return;
    }
    if (server.wal_fails && server.failing_writes > 0 &&
        chance.one_in(10 * server.failing_writes)) {
        note("the WAL cannot be flushed: PANIC");
        server.panicked = true;
        for (;;) {
            sleep_until(never);
        }
    }
    const uint64_t target = server.inserted;
    const int64_t until = true_us + flush_time(server);
    while (true_us < until) {
        sleep_until(until);
    }
    for (size_t i = server.wal.size(); i > 0 && server.wal[i - 1].lsn > server.flushed; i--) {
        if (server.wal[i - 1].lsn <= target) {
            server.wal[i - 1].flushed_at = true_us;
        }
    }
    for (const WalRecord& record : server.wal) {
        if (record.kind == WalKind::page && record.lsn > server.flushed && record.lsn <= target &&
            record.file.number == server.now.databases[record.database].current) {
            if (on_row_flushed != nullptr) {
                on_row_flushed(server, record.database, server.flushed_rows[record.database],
                               record.file);
            }
            server.flushed_rows[record.database] = record.file;
        }
    }
    server.flushed = std::max(server.flushed, target);
}

XLogRecPtr GetFlushRecPtr(TimeLineID*)
{
    return here().flushed;
}

XLogRecPtr GetXLogInsertRecPtr(void)
{
    return here().inserted;
}

// Catalogs
char* get_database_name(Oid database)
{
    return psprintf("database%u", database - first_database);
}

bool SearchSysCacheExists(int cache, Datum key, Datum, Datum, Datum)
{
    const auto place = static_cast<int>(DatumGetObjectId(key) - first_database) % most_databases;
    return cache != DATABASEOID || oid_of(here().now, place) == DatumGetObjectId(key);
}

// A row of pg_class or pg_extension, as far as durable.cpp looks at it. The next one takes its
// place.
static HeapTuple catalog_row(Oid file, uint64_t maker, uint64_t remover)
{
    alignas(MAXIMUM_ALIGNOF) static char bytes[row_header + sizeof(FormData_pg_class)];
    static HeapTupleData tuple;
    memset(bytes, 0, sizeof bytes);
    auto* header = reinterpret_cast<HeapTupleHeader>(bytes);
    header->t_hoff = row_header;
    header->t_infomask = static_cast<uint16>((maker == 0 ? HEAP_XMIN_FROZEN : 0) |
                                             (remover == 0 ? HEAP_XMAX_INVALID : 0));
    HeapTupleHeaderSetXmin(header, static_cast<TransactionId>(maker));
    HeapTupleHeaderSetXmax(header, static_cast<TransactionId>(remover));
    auto* form = reinterpret_cast<Form_pg_class>(bytes + row_header);
    form->relkind = RELKIND_MATVIEW;
    form->relnatts = flakeid::durable_cells;
    form->relfilenode = file;
    tuple.t_data = header;
    tuple.t_len = sizeof bytes;
    return &tuple;
}

static const Replacing* my_replacing()
{
    const Replacing& replacing = here().replacing[my_database()];
    return replacing.process == running->number ? &replacing : nullptr;
}

HeapTuple SearchSysCache1(int, Datum)
{
    const Replacing* replacing = my_replacing();
    return replacing == nullptr ? catalog_row(here().now.databases[my_database()].current, 0, 0)
                                : catalog_row(replacing->file, replacing->xid, 0);
}

void ReleaseSysCache(HeapTuple) {}

void InvalidateSystemCaches(void) {}

static void no_catalogs()
{
    broken_for_good("the simulation has no such catalog");
}

Relation table_open(Oid catalog, LOCKMODE)
{
    if (catalog != RelationRelationId && catalog != ExtensionRelationId) {
        no_catalogs();
    }
    my_scanned = catalog;
    return nullptr;
}

void table_close(Relation, LOCKMODE) {}

SysScanDesc systable_beginscan(Relation, Oid, bool, Snapshot, int, ScanKey)
{
    my_scanned_rows = 0;
    return nullptr;
}

// Every version of the row, also those that are gone.
HeapTuple systable_getnext(SysScanDesc)
{
    const Oid current = here().now.databases[my_database()].current;
    const Replacing* replacing = my_scanned == RelationRelationId ? my_replacing() : nullptr;
    switch (my_scanned_rows++) {
    case 0:
        return catalog_row(current, 0, replacing == nullptr ? 0 : replacing->xid);
    case 1:
        return replacing == nullptr ? nullptr : catalog_row(replacing->file, replacing->xid, 0);
    default:
        return nullptr;
    }
}

void systable_endscan(SysScanDesc) {}
void ScanKeyInit(ScanKey, AttrNumber, StrategyNumber, RegProcedure, Datum) {}

TransactionId HeapTupleGetUpdateXid(HeapTupleHeader)
{
    return InvalidTransactionId;
}

Datum nocachegetattr(HeapTuple, int, TupleDesc)
{
    no_catalogs();
    return 0;
}

Datum getmissingattr(TupleDesc, int, bool*)
{
    no_catalogs();
    return 0;
}

void heap_datum_check(HeapTupleHeader, TupleDesc) {}

Datum heap_getsysattr(HeapTuple, int, TupleDesc, bool*)
{
    no_catalogs();
    return 0;
}

Datum setval_oid(FunctionCallInfo)
{
    no_catalogs();
    return 0;
}

} // extern "C"
