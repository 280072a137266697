// The functions and variables of PostgreSQL that flakeid calls, over the servers of server.hpp.
#include "server.hpp"

#include "checker.hpp"
#include "durable/durable.hpp"

extern "C" {
#include "access/generic_xlog.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/twophase.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "postmaster/postmaster.h"
#include "storage/bufmgr.h"
#include "storage/dsm.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "storage/spin.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc_tables.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}
#undef printf
#undef fprintf
#undef snprintf
#undef vsnprintf

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

extern "C" void _PG_init(void);

namespace sim {

namespace {

constexpr int most_callbacks = 8;
constexpr int most_held = 16;
constexpr int most_settings = 24;
constexpr size_t arena_size = 1 << 20;
constexpr Oid state_oid = 500, schema_oid = 501, extension_oid = 502;

struct Held {
    Lock* lock;
    bool exclusive;
    bool content; // an LWLock or the lock of a page, under which nothing waits
};

enum class Kind { text, number, choice };

struct Setting {
    const char* name;
    Kind kind;
    void* value;
    const config_enum_entry* options;
    void* check;
    void* assign;
    char reset[24];       // of numbers
    bool below_of_server; // no database or role may set it
};

PROCESS_LOCAL XactCallback my_callbacks[most_callbacks] = {nullptr};
PROCESS_LOCAL int my_callback_count = 0;
PROCESS_LOCAL Held my_held[most_held] = {};
PROCESS_LOCAL int my_held_count = 0;
PROCESS_LOCAL Setting my_settings[most_settings] = {};
PROCESS_LOCAL int my_setting_count = 0;
PROCESS_LOCAL int my_level = 0;   // of the error that is being made
PROCESS_LOCAL size_t my_used = 0; // of the arena
PROCESS_LOCAL Buffer my_record = InvalidBuffer;
PROCESS_LOCAL bool my_library = false; // is loaded
PROCESS_LOCAL SnapshotData my_snapshot = {};
PROCESS_LOCAL int my_further_opens =
    0; // of flakeid.state, which this process has locked for itself
PROCESS_LOCAL Oid my_scanned = InvalidOid; // the catalog, and how many of its rows were seen
PROCESS_LOCAL int my_scanned_rows = 0;
PROCESS_LOCAL TransactionId my_snapshot_xip[most_backends + most_prepared] = {};

char* arenas[most_processes];
char record_page[BLCKSZ]; // of the generic WAL record that is being made; its maker does not yield

void hold(Lock& lock, bool exclusive, bool content)
{
    acquire(lock, exclusive);
    Assert(my_held_count < most_held);
    my_held[my_held_count++] = {&lock, exclusive, content};
}

void let_go(Lock& lock)
{
    for (int i = my_held_count; i-- > 0;) {
        if (my_held[i].lock == &lock) {
            release(lock, my_held[i].exclusive);
            std::copy(my_held + i + 1, my_held + my_held_count, my_held + i);
            my_held_count--;
            return;
        }
    }
    broken_for_good("a lock is released that is not held");
}

bool holds_content()
{
    for (int i = 0; i < my_held_count; i++) {
        if (my_held[i].content) {
            return true;
        }
    }
    return false;
}

void nothing_is_held(const char* what)
{
    if (holds_content()) {
        broken_for_good("G4: %s while a lock is held", what);
    }
}

Lock& lock_of(LWLock* lock)
{
    return here().locks[reinterpret_cast<LWLockPadded*>(lock) - here().lwlocks];
}

TimestampTz timestamp_of(int64_t us)
{
    return us - static_cast<int64_t>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

int my_database()
{
    return static_cast<int>(MyDatabaseId - first_database);
}

// ---- Memory

void* take_memory(Server& server, size_t size)
{
    const auto spare = server.spare_memory.find(size);
    void* memory;
    if (spare != server.spare_memory.end()) {
        memory = spare->second;
        server.spare_memory.erase(spare);
    } else {
        memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    }
    server.memory_sizes[memory] = size;
    return memory;
}

void give_memory(Server& server, void* memory)
{
    server.spare_memory.insert({server.memory_sizes[memory], memory});
}

// ---- Pages of flakeid.state

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

int page_of(Buffer buffer)
{
    return buffer - 1;
}

uint64_t insert_wal(WalRecord record)
{
    Server& server = here();
    record.lsn = ++server.inserted;
    server.wal.push_back(record);
    return record.lsn;
}

} // namespace

// What a process has of its own.
PROCESS_LOCAL int my_seat = 0;
PROCESS_LOCAL uint64_t my_xid = 0;
PROCESS_LOCAL char my_message[512] = "";
PROCESS_LOCAL int my_error = 0;
PROCESS_LOCAL bool my_end = false;
PROCESS_LOCAL int64_t my_highest_wall = 0;
PROCESS_LOCAL bool cancel_pending = false, terminate_pending = false;

void (*on_log)(Server& server, const char* message);
void (*on_transaction_end)(bool committed);
void (*on_prepared_end)(int transaction, bool committed);

// ---- Life of a server

namespace {

void postmaster()
{
    become_backend(most_backends - 1, 0, {});
    Server& server = here();
    process_shared_preload_libraries_in_progress = true;
    load_library();
    process_shared_preload_libraries_in_progress = false;
    if (shmem_request_hook != nullptr) {
        shmem_request_hook();
    }
    if (shmem_startup_hook != nullptr) {
        shmem_startup_hook();
    }
    end_backend();
    server.image = take_image();
}

} // namespace

void start_server(Server& server, const Directory& directory)
{
    Assert(!server.up);
    server.up = true;
    server.panicked = false;
    server.life++;
    server.base = server.now = directory;
    server.wal.clear();
    server.flushed = server.inserted;
    for (int i = 0; i < most_databases; i++) {
        server.flushed_rows[i] = current_file(directory.databases[i]);
    }
    server.in_recovery = false;
    memset(server.lwlocks, 0, sizeof server.lwlocks);
    for (Lock& lock : server.locks) {
        lock = Lock{};
    }
    memset(server.procs, 0, sizeof server.procs);
    server.proc_header = PROC_HDR{};
    server.proc_header.allProcs = server.procs;
    server.variables = VariableCacheData{};
    server.now.next_xid += 100;
    server.start_us = wall_clock(server);
    server.variables.latestCompletedXid = FullTransactionIdFromU64(server.now.next_xid - 1);
    server.running_xids.clear();
    server.blocks.assign(static_cast<size_t>(most_databases) * files_each * BLCKSZ, 0);
    for (Replacing& replacing : server.replacing) {
        replacing = Replacing{};
    }
    for (size_t i = 0; i < server.now.prepared.size(); i++) {
        Prepared& prepared = server.now.prepared[i];
        prepared.ending = false;
        PGPROC& proc = server.procs[most_backends + i];
        proc.xid = static_cast<TransactionId>(prepared.xid);
        proc.databaseId = first_database + static_cast<Oid>(prepared.database);
        server.running_xids.insert(prepared.xid);
    }
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
    for (Lock& lock : server.relation_locks) {
        lock = Lock{};
    }
    server.image = pristine;
    if (server.preload) {
        Process& process = spawn(server, "postmaster", postmaster, pristine, true_us);
        while (process.alive) {
            run(process);
            true_us = std::max(true_us, std::min(process.wakes_at, true_us + second));
        }
    }
}

void stop_server(Server& server)
{
    kill_all_of(server);
    for (const auto& [name, memory] : server.memory) {
        give_memory(server, memory);
    }
    server.memory.clear();
    for (void* segment : server.segments) {
        give_memory(server, segment);
    }
    server.segments.clear();
    server.up = false;
}

// ---- Processes

void become_backend(int seat, int database, const Settings& role)
{
    Server& server = here();
    Assert(seat < most_backends);
    my_seat = seat;
    MyProc = &server.procs[seat];
    *MyProc = PGPROC{};
    MyProcPid = MyProc->pid = server.next_pid++;
    MyProc->backendId = seat + 1;
    MyProc->databaseId = MyDatabaseId = first_database + static_cast<Oid>(database);
    MyLatch = &MyProc->procLatch;
    MyLatch->owner_pid = running->number;
    ProcGlobal = &server.proc_header;
    PreparedXactProcs = server.procs + most_backends;
    ShmemVariableCache = &server.variables;
    PgStartTime = timestamp_of(server.start_us);
    MainLWLockArray = server.lwlocks;
    BufferBlocks = server.blocks.data();
    Settings& own = server.of_session[seat];
    own = server.of_database[database];
    for (const auto& [name, value] : role) {
        own[name] = value;
    }
    if (my_library) {
        reload_settings(); // it was preloaded
    }
}

void end_backend()
{
    *MyProc = PGPROC{};
}

void load_library()
{
    if (!my_library) {
        my_library = true;
        _PG_init();
    }
}

void send_cancel(Process& process)
{
    of(process, cancel_pending) = true;
    of(process, InterruptPending) = true;
    Latch* latch = of(process, MyLatch);
    if (latch != nullptr) {
        SetLatch(latch);
    }
}

void send_terminate(Process& process)
{
    of(process, terminate_pending) = true;
    send_cancel(process);
}

// ---- Transactions

void begin_transaction()
{
    MyProc->lxid = here().next_local_xid++;
    my_used = 0;
    yield();
}

uint64_t assign_xid()
{
    if (my_xid == 0) {
        Server& server = here();
        my_xid = server.now.next_xid++;
        MyProc->xid = static_cast<TransactionId>(my_xid);
        server.running_xids.insert(my_xid);
    }
    return my_xid;
}

namespace {

void call_back(XactEvent event)
{
    for (int i = 0; i < my_callback_count; i++) {
        my_callbacks[i](event, nullptr);
    }
}

// For all others the transaction has ended.
void leave_transaction()
{
    Server& server = here();
    if (my_xid != 0) {
        server.running_xids.erase(my_xid);
        auto& latest = server.variables.latestCompletedXid;
        latest =
            FullTransactionIdFromU64(std::max<uint64_t>(U64FromFullTransactionId(latest), my_xid));
    }
    MyProc->xid = InvalidTransactionId;
    MyProc->lxid = InvalidLocalTransactionId;
}

} // namespace

namespace {

// The transaction that replaced the file of flakeid.state ends.
void keep_file(bool commit)
{
    Server& server = here();
    DatabaseFiles& database = server.now.databases[my_database()];
    Replacing& replacing = server.replacing[my_database()];
    if (commit) {
        database.current = replacing.file;
        for (const WalRecord& record : server.wal) {
            if (record.kind == WalKind::page && record.file.number == database.current &&
                record.lsn <= server.flushed) {
                server.flushed_rows[my_database()] = record.file;
            }
        }
    }
    for (StateFile& file : database.files) {
        if (file.number != database.current) {
            file = StateFile{};
        }
    }
    replacing = Replacing{};
}

} // namespace

void end_transaction(bool commit)
{
    if (commit) {
        call_back(XACT_EVENT_PRE_COMMIT);
    }
    InterruptHoldoffCount++;
    Replacing& replacing = here().replacing[my_database()];
    const bool replaces = replacing.process == running->number;
    if (commit && my_xid != 0) {
        if (replaces) {
            insert_wal({WalKind::catalog, 0, 0, my_database(), {}, replacing.file, my_xid});
        }
        XLogFlush(insert_wal({WalKind::commit, 0, 0, 0, {}, InvalidOid, my_xid}));
    }
    if (replaces) {
        keep_file(commit);
    }
    yield();
    leave_transaction();
    if (on_transaction_end != nullptr) {
        on_transaction_end(commit);
    }
    yield();
    call_back(commit ? XACT_EVENT_COMMIT : XACT_EVENT_ABORT);
    my_xid = 0;
    InterruptHoldoffCount--;
    while (my_held_count > 0) {
        let_go(*my_held[my_held_count - 1].lock);
    }
    my_further_opens = 0;
    yield();
}

void prepare_transaction(int transaction)
{
    Server& server = here();
    call_back(XACT_EVENT_PRE_PREPARE);
    assign_xid();
    PGPROC* proc = PreparedXactProcs;
    while (proc < PreparedXactProcs + most_prepared && proc->xid != InvalidTransactionId) {
        proc++;
    }
    if (proc == PreparedXactProcs + most_prepared) {
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
                errmsg("maximum number of prepared transactions reached"));
    }
    proc->xid = static_cast<TransactionId>(my_xid); // taken
    proc->databaseId = MyDatabaseId;
    InterruptHoldoffCount++;
    XLogFlush(insert_wal({WalKind::commit, 0, 0, 0, {}, InvalidOid, my_xid}));
    server.now.prepared.push_back({my_xid, my_database(), transaction, false});
    note("xid %lld is prepared", static_cast<int64_t>(my_xid));
    yield();
    MyProc->xid = InvalidTransactionId;
    MyProc->lxid = InvalidLocalTransactionId;
    yield();
    call_back(XACT_EVENT_PREPARE);
    my_xid = 0;
    InterruptHoldoffCount--;
    yield();
}

bool end_prepared(bool commit)
{
    Server& server = here();
    auto& all = server.now.prepared;
    auto at = std::find_if(all.begin(), all.end(), [](const Prepared& prepared) {
        return prepared.database == my_database() && !prepared.ending;
    });
    if (at == all.end()) {
        return false;
    }
    at->ending = true;
    const Prepared prepared = *at;
    XLogFlush(insert_wal({WalKind::commit, 0, 0, 0, {}, InvalidOid, prepared.xid}));
    all.erase(std::find_if(all.begin(), all.end(),
                           [&](const Prepared& p) { return p.xid == prepared.xid; }));
    yield();
    server.running_xids.erase(prepared.xid);
    auto& latest = server.variables.latestCompletedXid;
    latest = FullTransactionIdFromU64(
        std::max<uint64_t>(U64FromFullTransactionId(latest), prepared.xid));
    if (on_prepared_end != nullptr) {
        on_prepared_end(prepared.transaction, commit);
    }
    yield();
    for (int i = 0; i < most_prepared; i++) {
        if (PreparedXactProcs[i].xid == static_cast<TransactionId>(prepared.xid)) {
            PreparedXactProcs[i].xid = InvalidTransactionId;
        }
    }
    return true;
}

void replace_state()
{
    Server& server = here();
    const int number = my_database();
    hold(server.relation_locks[number], true, false);
    assign_xid();
    DatabaseFiles& database = server.now.databases[number];
    int from = 0, to = 0;
    while (database.files[from].number != database.current) {
        from++;
    }
    while (database.files[to].number != InvalidOid) {
        to++;
    }
    StateFile file = read_block(server, number * files_each + from);
    file.number = server.now.next_file++;
    database.files[to] = file;
    const int page = number * files_each + to;
    write_block(server, page, file);
    server.relations[page].rd_node.relNode = file.number;
    PageSetLSN(block(server, page), insert_wal({WalKind::page, 0, 0, number, file, InvalidOid, 0}));
    server.replacing[number] = {running->number, my_xid, file.number};
    yield();
}

void abort_transaction()
{
    InterruptHoldoffCount = QueryCancelHoldoffCount = CritSectionCount = 0;
    my_record = InvalidBuffer;
    close_files();
    for (int i = my_held_count; i-- > 0;) {
        if (my_held[i].content) {
            let_go(*my_held[i].lock);
        }
    }
    end_transaction(false);
}

SnapshotData& take_snapshot()
{
    SnapshotData& snapshot = my_snapshot;
    TransactionId* xip = my_snapshot_xip;
    Server& server = here();
    snapshot = SnapshotData{};
    const uint64_t next = U64FromFullTransactionId(server.variables.latestCompletedXid) + 1;
    snapshot.xmax = static_cast<TransactionId>(next);
    snapshot.xmin = snapshot.xmax;
    snapshot.xip = xip;
    for (uint64_t xid : server.running_xids) {
        if (xid < next) {
            xip[snapshot.xcnt++] = static_cast<TransactionId>(xid);
        }
    }
    if (snapshot.xcnt > 0) {
        snapshot.xmin = xip[0];
    }
    return snapshot;
}

// ---- Settings

namespace {

Setting* find_setting(const char* name)
{
    for (int i = 0; i < my_setting_count; i++) {
        if (strcmp(my_settings[i].name, name) == 0) {
            return &my_settings[i];
        }
    }
    return nullptr;
}

bool set_text(Setting& setting, const char* value, GucSource source)
{
    char* text = strdup(value);
    void* extra = nullptr;
    auto check = reinterpret_cast<GucStringCheckHook>(setting.check);
    if (check != nullptr && !check(&text, &extra, source)) {
        free(text);
        return false;
    }
    auto assign = reinterpret_cast<GucStringAssignHook>(setting.assign);
    if (assign != nullptr) {
        assign(text, extra);
    }
    *static_cast<char**>(setting.value) = text;
    return true;
}

bool set_number(Setting& setting, const char* value, GucSource source)
{
    int number = 0;
    if (setting.kind == Kind::choice) {
        const config_enum_entry* option = setting.options;
        while (option->name != nullptr && strcmp(option->name, value) != 0) {
            option++;
        }
        if (option->name == nullptr) {
            return false;
        }
        number = option->val;
    } else {
        number = atoi(value);
    }
    (void)source;
    auto assign = reinterpret_cast<GucIntAssignHook>(setting.assign);
    if (assign != nullptr) {
        assign(number, nullptr);
    }
    *static_cast<int*>(setting.value) = number;
    return true;
}

bool set(Setting& setting, const char* value, GucSource source)
{
    const bool good = setting.kind == Kind::text ? set_text(setting, value, source)
                                                 : set_number(setting, value, source);
    if (good && source != PGC_S_SESSION && setting.kind != Kind::text) {
        strlcpy(setting.reset, value, sizeof setting.reset);
    }
    return good;
}

// What the configuration, or the session's database or role, says.
void set_as_configured(Setting& setting)
{
    const Settings& own = here().of_session[my_seat];
    const Settings& file = here().configuration;
    if (const auto at = own.find(setting.name); at != own.end()) {
        (void)set(setting, at->second.c_str(), PGC_S_DATABASE);
    } else if (const auto at = file.find(setting.name); at != file.end()) {
        (void)set(setting, at->second.c_str(), PGC_S_FILE);
    }
}

Setting& define(const char* name, Kind kind, void* value, void* check, void* assign)
{
    Assert(my_setting_count < most_settings);
    Setting& setting = my_settings[my_setting_count++];
    setting = {name, kind, value, nullptr, check, assign, "", false};
    return setting;
}

} // namespace

bool set_setting(const char* name, const char* value)
{
    Setting* setting = find_setting(name);
    return setting != nullptr && set(*setting, value, PGC_S_SESSION);
}

void reload_settings()
{
    for (int i = 0; i < my_setting_count; i++) {
        set_as_configured(my_settings[i]);
    }
}

} // namespace sim

using namespace sim;

// ---- What the glue calls

extern "C" {

// Variables of a process
PROCESS_LOCAL PGPROC* MyProc = nullptr;
PROCESS_LOCAL int MyProcPid = 0;
PROCESS_LOCAL Oid MyDatabaseId = InvalidOid;
PROCESS_LOCAL Latch* MyLatch = nullptr;
PROCESS_LOCAL sigjmp_buf* PG_exception_stack = nullptr;
PROCESS_LOCAL ErrorContextCallback* error_context_stack = nullptr;
PROCESS_LOCAL volatile sig_atomic_t InterruptPending = 0;
PROCESS_LOCAL volatile uint32 InterruptHoldoffCount = 0;
PROCESS_LOCAL volatile uint32 QueryCancelHoldoffCount = 0;
PROCESS_LOCAL volatile uint32 CritSectionCount = 0;
PROCESS_LOCAL PROC_HDR* ProcGlobal = nullptr;
PROCESS_LOCAL PGPROC* PreparedXactProcs = nullptr;
PROCESS_LOCAL VariableCache ShmemVariableCache = nullptr;
PROCESS_LOCAL LWLockPadded* MainLWLockArray = nullptr;
PROCESS_LOCAL char* BufferBlocks = nullptr;
PROCESS_LOCAL TimestampTz PgStartTime = 0;
PROCESS_LOCAL bool process_shared_preload_libraries_in_progress = false;
PROCESS_LOCAL shmem_request_hook_type shmem_request_hook = nullptr;
PROCESS_LOCAL shmem_startup_hook_type shmem_startup_hook = nullptr;
PROCESS_LOCAL char* GUC_check_errmsg_string = nullptr;
PROCESS_LOCAL char* GUC_check_errdetail_string = nullptr;
PROCESS_LOCAL char* GUC_check_errhint_string = nullptr;

// The same for all
int MaxBackends = most_backends;
int max_prepared_xacts = most_prepared;
int NBuffers = most_databases * files_each;
int NLocBuffer = 0;
Block* LocalBufferBlockPointers = nullptr;
int PostPortNumber = 5432;
static char no_name[] = "";
char* cluster_name = no_name;
Portal ActivePortal = nullptr;
uint64 SPI_processed = 0;
SPITupleTable* SPI_tuptable = nullptr;
static char context[8];
MemoryContext CurrentMemoryContext = reinterpret_cast<MemoryContext>(context);
MemoryContext TopMemoryContext = CurrentMemoryContext;
SnapshotData SnapshotAnyData;
const char* const GucSource_Names[] = {"default",
                                       "default",
                                       "environment variable",
                                       "configuration file",
                                       "command line",
                                       "global",
                                       "database",
                                       "user",
                                       "database user",
                                       "client",
                                       "override",
                                       "interactive",
                                       "test",
                                       "session"};
bool creating_extension = false;

// Clocks
int __wrap_clock_gettime(clockid_t clock, timespec* time)
{
    yield();
    if (running == nullptr) {
        *time = {};
        return 0;
    }
    int64_t us = steady_clock(here());
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        us = wall_clock(here());
        if (clock == CLOCK_REALTIME_COARSE) {
            us -= us % (4 * ms); // as of the last timer interrupt
        }
        my_highest_wall = std::max(my_highest_wall, us);
    }
    time->tv_sec = us / second;
    time->tv_nsec = us % second * 1000;
    return 0;
}

TimestampTz GetCurrentTimestamp(void)
{
    return timestamp_of(wall_clock(here()));
}

TimestampTz GetCurrentTransactionStartTimestamp(void)
{
    return GetCurrentTimestamp();
}

// Who this is
int __wrap_gethostname(char* name, size_t size)
{
    snprintf(name, size, "db-%d", here().number);
    return 0;
}

bool superuser(void)
{
    return true;
}

Oid GetUserId(void)
{
    return 10;
}

Oid GetOuterUserId(void)
{
    return 10;
}

bool has_privs_of_role(Oid, Oid)
{
    return true;
}

AclResult pg_parameter_aclcheck(const char*, Oid, AclMode)
{
    return ACLCHECK_OK;
}

bool RecoveryInProgress(void)
{
    return here().in_recovery;
}

TimeLineID GetWALInsertionTimeLine(void)
{
    return static_cast<TimeLineID>(here().base.timeline);
}

// Locks
bool LWLockAcquire(LWLock* lock, LWLockMode mode)
{
    yield();
    InterruptHoldoffCount++;
    hold(lock_of(lock), mode == LW_EXCLUSIVE, true);
    return true;
}

void LWLockRelease(LWLock* lock)
{
    let_go(lock_of(lock));
    InterruptHoldoffCount--;
    yield();
}

bool LWLockHeldByMe(LWLock* lock)
{
    for (int i = 0; i < my_held_count; i++) {
        if (my_held[i].lock == &lock_of(lock)) {
            return true;
        }
    }
    return false;
}

bool LWLockHeldByMeInMode(LWLock* lock, LWLockMode mode)
{
    for (int i = 0; i < my_held_count; i++) {
        if (my_held[i].lock == &lock_of(lock) && my_held[i].exclusive == (mode == LW_EXCLUSIVE)) {
            return true;
        }
    }
    return false;
}

void LWLockReleaseAll(void)
{
    for (int i = my_held_count; i-- > 0;) {
        if (my_held[i].content) {
            let_go(*my_held[i].lock);
        }
    }
    InterruptHoldoffCount = 0;
}

int s_lock(volatile slock_t* lock, const char*, int, const char*)
{
    while (TAS(lock)) {
        sleep_us(1);
    }
    return 0;
}

// Shared memory
void RequestAddinShmemSpace(Size) {}

void* ShmemInitStruct(const char* name, Size size, bool* found)
{
    void*& memory = here().memory[name];
    *found = memory != nullptr;
    if (memory == nullptr) {
        memory = take_memory(here(), size);
    }
    return memory;
}

dsm_segment* dsm_create(Size size, int)
{
    here().segments.push_back(take_memory(here(), size));
    return static_cast<dsm_segment*>(here().segments.back());
}

dsm_segment* dsm_attach(dsm_handle handle)
{
    return static_cast<dsm_segment*>(here().segments[handle - 1]);
}

dsm_handle dsm_segment_handle(dsm_segment*)
{
    return static_cast<dsm_handle>(here().segments.size());
}

void* dsm_segment_address(dsm_segment* segment)
{
    return segment;
}

void dsm_pin_segment(dsm_segment*) {}
void dsm_pin_mapping(dsm_segment*) {}

// Waits
int WaitLatch(Latch* latch, int events, long timeout_ms, uint32)
{
    nothing_is_held("a wait");
    if ((events & WL_TIMEOUT) != 0 && timeout_ms < 0) {
        broken_for_good("a wait has no end: its length is negative");
    }
    const int64_t until = (events & WL_TIMEOUT) != 0 ? true_us + timeout_ms * ms : never;
    while (!latch->is_set && true_us < until) {
        sleep_until(until);
    }
    return latch->is_set ? WL_LATCH_SET : WL_TIMEOUT;
}

void SetLatch(Latch* latch)
{
    latch->is_set = true;
    wake_number(latch->owner_pid);
}

void ResetLatch(Latch* latch)
{
    latch->is_set = false;
}

void ProcessInterrupts(void)
{
    if (InterruptHoldoffCount != 0 || CritSectionCount != 0) {
        return;
    }
    InterruptPending = 0;
    if (terminate_pending) {
        my_end = true;
        ereport(ERROR, errcode(ERRCODE_ADMIN_SHUTDOWN),
                errmsg("terminating connection due to administrator command"));
    }
    if (cancel_pending) {
        cancel_pending = false;
        ereport(ERROR, errcode(ERRCODE_QUERY_CANCELED),
                errmsg("canceling statement due to user request"));
    }
}

// Transactions
void RegisterXactCallback(XactCallback callback, void*)
{
    Assert(my_callback_count < most_callbacks);
    my_callbacks[my_callback_count++] = callback;
}

bool TransactionIdIsInProgress(TransactionId xid)
{
    for (uint64_t running_xid : here().running_xids) {
        if (static_cast<TransactionId>(running_xid) == xid) {
            return true;
        }
    }
    return false;
}

bool TransactionIdIsCurrentTransactionId(TransactionId xid)
{
    return my_xid != 0 && static_cast<TransactionId>(my_xid) == xid;
}

FullTransactionId GetTopFullTransactionIdIfAny(void)
{
    return FullTransactionIdFromU64(my_xid);
}

FullTransactionId GetTopFullTransactionId(void)
{
    return FullTransactionIdFromU64(assign_xid());
}

bool IsInParallelMode(void)
{
    return false;
}

// Errors
bool errstart(int level, const char*)
{
    my_level = level;
    my_error = 0;
    if (level >= ERROR && CritSectionCount > 0) {
        broken_for_good("an error in a critical section");
    }
    return level >= LOG;
}

bool errstart_cold(int level, const char* domain)
{
    return errstart(level, domain);
}

void errfinish(const char*, int, const char*)
{
    if (my_level < ERROR) {
        if (on_log != nullptr) {
            on_log(here(), my_message);
        }
        return;
    }
    InterruptHoldoffCount = QueryCancelHoldoffCount = 0;
    siglongjmp(*PG_exception_stack, 1);
}

int errcode(int sqlerrcode);
int errcode_for_file_access(void)
{
    return errcode(errno == ENOSPC ? ERRCODE_DISK_FULL : ERRCODE_IO_ERROR);
}

int errcode(int code)
{
    my_error = code;
    return 0;
}

int errmsg(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(my_message, sizeof my_message, format, arguments);
    va_end(arguments);
    return 0;
}

int errmsg_internal(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(my_message, sizeof my_message, format, arguments);
    va_end(arguments);
    return 0;
}

int errdetail(const char*, ...)
{
    return 0;
}

int errdetail_log(const char*, ...)
{
    return 0;
}

int errhint(const char*, ...)
{
    return 0;
}

void EmitErrorReport(void) {}
void FlushErrorState(void) {}

ErrorData* CopyErrorData(void)
{
    static ErrorData error;
    error.sqlerrcode = my_error;
    error.message = my_message;
    return &error;
}

void pg_re_throw(void)
{
    siglongjmp(*PG_exception_stack, 1);
}

void pre_format_elog_string(int, const char*) {}

char* format_elog_string(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(my_message, sizeof my_message, format, arguments);
    va_end(arguments);
    return my_message;
}

void GUC_check_errcode(int) {}

void ExceptionalCondition(const char* condition, const char*, const char* file, int line)
{
    const char* name = strrchr(file, '/');
    tell("at %s:%d", name == nullptr ? file : name + 1, line);
    broken_for_good("Assert(%s)", condition);
}

// Memory of a process: what it takes it keeps until its transaction ends
void* palloc(Size size)
{
    const int number = running == nullptr ? most_processes - 1 : running->number;
    if (arenas[number] == nullptr) {
        arenas[number] = static_cast<char*>(malloc(arena_size));
    }
    size = (size + 15) / 16 * 16;
    if (my_used + size > arena_size) {
        broken_for_good("a transaction takes more memory than the simulation has");
    }
    void* memory = arenas[number] + my_used;
    my_used += size;
    return memory;
}

void* palloc0(Size size)
{
    return memset(palloc(size), 0, size);
}

void pfree(void*) {}

char* pnstrdup(const char* text, Size length)
{
    length = strnlen(text, length);
    auto* copy = static_cast<char*>(palloc(length + 1));
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char* pstrdup(const char* text)
{
    return pnstrdup(text, strlen(text));
}

char* psprintf(const char* format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return pstrdup(text);
}

char* MemoryContextStrdup(MemoryContext, const char* text)
{
    return pstrdup(text);
}

void initStringInfo(StringInfo text)
{
    text->maxlen = 4096;
    text->data = static_cast<char*>(palloc0(static_cast<Size>(text->maxlen)));
    text->len = 0;
}

void appendStringInfoChar(StringInfo text, char c)
{
    if (text->len + 1 < text->maxlen) {
        text->data[text->len++] = c;
        text->data[text->len] = '\0';
    }
}

void appendStringInfoString(StringInfo text, const char* more)
{
    for (; *more != '\0'; more++) {
        appendStringInfoChar(text, *more);
    }
}

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
            return &here().relations[my_database() * files_each + i];
        }
    }
    broken_for_good("flakeid.state has no file");
}

void relation_close(Relation, LOCKMODE)
{
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
    if (server.failing_writes > 0 && chance.one_in(10 * server.failing_writes)) {
        note("the WAL cannot be flushed: PANIC");
        server.panicked = true;
        for (;;) {
            sleep_until(never);
        }
    }
    const uint64_t target = server.inserted;
    const int64_t until = true_us + chance.below(server.slowest_flush);
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

bool SearchSysCacheExists(int, Datum, Datum, Datum, Datum)
{
    return true;
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

// SPI, which asks for the names of prepared transactions
int SPI_connect(void)
{
    return 0;
}

int SPI_finish(void)
{
    return 0;
}

int SPI_execute_with_args(const char*, int, Oid*, Datum*, const char*, bool, long)
{
    return SPI_ERROR_ARGUMENT;
}

char* SPI_getvalue(HeapTuple, TupleDesc, int)
{
    return nullptr;
}

ArrayType* construct_array(Datum*, int, Oid, int, bool, char)
{
    return nullptr;
}

// Functions of types
Datum timestamptz_out(FunctionCallInfo)
{
    return 0;
}

Datum DirectFunctionCall1Coll(PGFunction, Oid, Datum)
{
    return CStringGetDatum(pstrdup("some moment"));
}

Datum DirectFunctionCall2Coll(PGFunction, Oid, Datum, Datum)
{
    return 0;
}

char* text_to_cstring(const text* t)
{
    return pnstrdup(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

char* get_namespace_name(Oid)
{
    return pstrdup("flakeid");
}

const char* quote_identifier(const char* name)
{
    return name;
}

char* quote_literal_cstr(const char* text)
{
    return pstrdup(text);
}

int pg_mbstrlen_with_len(const char*, int length)
{
    return length;
}

int pg_strcasecmp(const char* a, const char* b)
{
    return strcasecmp(a, b);
}

int pg_strncasecmp(const char* a, const char* b, size_t n)
{
    return strncasecmp(a, b, n);
}

uint64 hash_bytes_extended(const unsigned char* bytes, int count, uint64 seed)
{
    uint64_t hash = seed + static_cast<uint64_t>(count);
    for (int i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash;
}

uint32 hash_bytes(const unsigned char* bytes, int count)
{
    return static_cast<uint32>(hash_bytes_extended(bytes, count, 0));
}

size_t strlcpy(char* to, const char* from, size_t size)
{
    const size_t length = strlen(from);
    if (size > 0) {
        const size_t copied = std::min(length, size - 1);
        memcpy(to, from, copied);
        to[copied] = '\0';
    }
    return length;
}

// Settings
void DefineCustomStringVariable(const char* name, const char*, const char*, char** value,
                                const char* built_in, GucContext, int, GucStringCheckHook check,
                                GucStringAssignHook assign, GucShowHook)
{
    Setting& setting = define(name, Kind::text, value, reinterpret_cast<void*>(check),
                              reinterpret_cast<void*>(assign));
    (void)set(setting, built_in, PGC_S_DEFAULT);
    set_as_configured(setting);
}

void DefineCustomIntVariable(const char* name, const char*, const char*, int* value, int built_in,
                             int, int, GucContext, int, GucIntCheckHook, GucIntAssignHook assign,
                             GucShowHook)
{
    Setting& setting = define(name, Kind::number, value, nullptr, reinterpret_cast<void*>(assign));
    (void)set(setting, psprintf("%d", built_in), PGC_S_DEFAULT);
    set_as_configured(setting);
}

void DefineCustomEnumVariable(const char* name, const char*, const char*, int* value, int built_in,
                              const config_enum_entry* options, GucContext, int, GucEnumCheckHook,
                              GucEnumAssignHook assign, GucShowHook)
{
    Setting& setting = define(name, Kind::choice, value, nullptr, reinterpret_cast<void*>(assign));
    setting.options = options;
    for (const config_enum_entry* option = options; option->name != nullptr; option++) {
        if (option->val == built_in) {
            (void)set(setting, option->name, PGC_S_DEFAULT);
        }
    }
    set_as_configured(setting);
}

void MarkGUCPrefixReserved(const char*) {}

const char* GetConfigOptionResetString(const char* name)
{
    const Setting* setting = find_setting(name);
    Assert(setting != nullptr);
    if (strcmp(name, "flakeid.max_ahead") == 0) {
        max_ahead_is_asked(atoi(setting->reset) * ms);
    }
    return setting->reset;
}

int GetConfigOptionFlags(const char*, bool)
{
    return 0;
}

int GetNumConfigOptions(void)
{
    return 0;
}

config_generic** get_guc_variables(void)
{
    return nullptr;
}

} // extern "C"
