// Processes of a server, and transactions.
#include "backend.hpp"

#include "checker.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

extern "C" void _PG_init(void);

namespace sim {

// What a process has of its own.
PROCESS_LOCAL int my_seat = 0;
PROCESS_LOCAL uint64_t my_xid = 0;
PROCESS_LOCAL char my_message[512] = "";
PROCESS_LOCAL int my_error = 0;
PROCESS_LOCAL bool my_end = false;
PROCESS_LOCAL int64_t my_clock_error = 0;
PROCESS_LOCAL int64_t my_lowest_wall = 0, my_highest_wall = 0;
PROCESS_LOCAL bool cancel_pending = false, terminate_pending = false;
PROCESS_LOCAL bool my_parallel = false;
PROCESS_LOCAL bool my_commits_wait = true;
PROCESS_LOCAL int my_place = -1;
PROCESS_LOCAL bool my_ending = false;
PROCESS_LOCAL uint64_t my_waits = 0;

void (*on_log)(Server& server, const char* message);
void (*on_row_flushed)(Server& server, int database, const StateFile& before,
                       const StateFile& after);
void (*on_transaction_end)(bool committed);
void (*on_prepared_end)(int transaction, bool committed);

namespace {

constexpr int most_callbacks = 8;
PROCESS_LOCAL XactCallback my_callbacks[most_callbacks] = {nullptr};
PROCESS_LOCAL int my_callback_count = 0;
PROCESS_LOCAL bool my_library = false; // is loaded
PROCESS_LOCAL SnapshotData my_snapshot = {};
PROCESS_LOCAL TransactionId my_snapshot_xip[most_backends + most_prepared] = {};

} // namespace

int my_database()
{
    return static_cast<int>(MyDatabaseId - first_database) % most_databases;
}

TimestampTz timestamp_of(int64_t us)
{
    return us - static_cast<int64_t>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

// ---- Processes

void become_backend(int seat, int database, const Settings& role)
{
    Server& server = here();
    Assert(seat < most_backends);
    my_seat = my_place = seat;
    MyProc = &server.procs[seat];
    *MyProc = PGPROC{};
    MyProcPid = MyProc->pid = server.next_pid++;
    MyProc->backendId = seat + 1;
    MyProc->databaseId = MyDatabaseId = oid_of(server.now, database);
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
    my_clock_error = 0;
    my_looks = 0;
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
        LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
        server.running_xids.erase(my_xid);
        server.ended_xids++;
        auto& latest = server.variables.latestCompletedXid;
        latest =
            FullTransactionIdFromU64(std::max<uint64_t>(U64FromFullTransactionId(latest), my_xid));
        LWLockRelease(ProcArrayLock);
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
        if (my_opened != 0) {
            broken("flakeid.state is left open"); // PostgreSQL warns of that
        }
    }
    my_opened = 0;
    InterruptHoldoffCount++;
    Replacing& replacing = here().replacing[my_database()];
    const bool replaces = replacing.process == running->number;
    if (commit && my_xid != 0) {
        if (replaces) {
            insert_wal({WalKind::catalog, 0, 0, my_database(), {}, replacing.file, my_xid});
        }
        const uint64_t commit_record =
            insert_wal({WalKind::commit, 0, 0, 0, {}, InvalidOid, my_xid});
        if (my_commits_wait || replaces) {
            XLogFlush(commit_record);
        }
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
    my_ending = true;
    call_back(commit ? XACT_EVENT_COMMIT : XACT_EVENT_ABORT);
    my_ending = false;
    my_xid = 0;
    InterruptHoldoffCount--;
    let_go_of_all();
    my_further_opens = 0;
    yield();
}

void lead_workers()
{
    MyProc->lockGroupLeader = MyProc;
    my_parallel = true;
}

void follow_leader(int place)
{
    MyProc->lockGroupLeader = &here().procs[place];
    my_place = place;
    my_parallel = true;
    begin_transaction();
}

void end_worker(bool good)
{
    if (good) {
        call_back(XACT_EVENT_PARALLEL_PRE_COMMIT);
    } else {
        InterruptHoldoffCount = QueryCancelHoldoffCount = CritSectionCount = 0;
        close_files();
        let_go_of_contents();
    }
    yield();
    leave_transaction();
    yield();
    call_back(good ? XACT_EVENT_PARALLEL_COMMIT : XACT_EVENT_PARALLEL_ABORT);
    let_go_of_all();
    end_backend();
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
    LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
    server.running_xids.erase(prepared.xid);
    server.ended_xids++;
    auto& latest = server.variables.latestCompletedXid;
    latest = FullTransactionIdFromU64(
        std::max<uint64_t>(U64FromFullTransactionId(latest), prepared.xid));
    if (on_prepared_end != nullptr) {
        on_prepared_end(prepared.transaction, commit);
    }
    LWLockRelease(ProcArrayLock);
    yield();
    for (int i = 0; i < most_prepared; i++) {
        if (PreparedXactProcs[i].xid == static_cast<TransactionId>(prepared.xid)) {
            PreparedXactProcs[i].xid = InvalidTransactionId;
        }
    }
    return true;
}

void replace_state(flakeid::Durable (*anew)())
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
    if (anew != nullptr) {
        set_durable(file, anew());
    }
    file.number = server.now.next_file++;
    add_file(server, number, to, file);
    server.replacing[number] = {running->number, my_xid, file.number};
    yield();
}

void abort_transaction()
{
    InterruptHoldoffCount = QueryCancelHoldoffCount = CritSectionCount = 0;
    close_files();
    let_go_of_contents();
    end_transaction(false);
}

void abort_subtransaction()
{
    InterruptHoldoffCount = QueryCancelHoldoffCount = 0;
    close_files();
    let_go_of_contents();
    my_opened = 0;
    if (here().replacing[my_database()].process != running->number) {
        let_go_of_all();
    }
    yield();
}

SnapshotData& take_snapshot()
{
    SnapshotData& snapshot = my_snapshot;
    TransactionId* xip = my_snapshot_xip;
    Server& server = here();
    LWLockAcquire(ProcArrayLock, LW_SHARED);
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
    LWLockRelease(ProcArrayLock);
    return snapshot;
}

} // namespace sim

using namespace sim;

extern "C" {

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
    return my_parallel;
}

} // extern "C"
