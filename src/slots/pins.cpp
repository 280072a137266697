#include "slots/pins.hpp"

#include "core/settled.hpp"
#include "server/shared.hpp"
#include "server/stats.hpp"

extern "C" {
#include "access/twophase.h"
#include "access/xact.h"
#include "storage/procarray.h"
}

namespace flakeid {

uint64_t transaction_number = 1;

namespace {

Pins* pins;           // set by pins_begin()
Holder* own;          // of this process
Holder* own_prepared; // while this session prepares its transaction

void create_holder(Holder& holder)
{
    pg_atomic_init_u32(&holder.count, 0);
    SpinLockInit(&holder.lock);
    pg_atomic_init_u32(&holder.pid, static_cast<uint32_t>(InvalidPid));
    pg_atomic_init_u64(&holder.running, 0);
    pg_atomic_init_u64(&holder.xid, 0);
    for (Pin& pin : holder.pins) {
        pg_atomic_init_u32(&pin.slot, 0);
        pg_atomic_init_u64(&pin.lowest, 0);
    }
}

// A place for each process, for each that prepares, for each transaction that is prepared, and for
// each one that was before the server was started.
size_t holder_count()
{
    return 2 * (static_cast<size_t>(MaxBackends) + static_cast<size_t>(max_prepared_xacts));
}

size_t latest_ended_begin()
{
    return offsetof(Pins, holders) + holder_count() * sizeof(Holder);
}

size_t size()
{
    return latest_ended_begin() + static_cast<size_t>(MaxBackends) * sizeof(LatestEnded);
}

// What is zero already stays untouched, so that it takes no memory before it is used.
void create(void* memory)
{
    auto* fresh = static_cast<Pins*>(memory);
    pg_atomic_init_u64(&fresh->polls, 0);
    SpinLockInit(&fresh->lock);
    pg_atomic_init_u32(&fresh->looked, 0);
    pg_atomic_init_u64(&fresh->watched_since, 0);
    fresh->prepared_places = static_cast<uint32_t>(MaxBackends + 2 * max_prepared_xacts);
    pg_atomic_init_u32(&fresh->prepared_used, 0);
    pg_atomic_init_u64(&fresh->prepared_count, 0);
    for (size_t i = 0; i < holder_count(); i++) {
        create_holder(fresh->holders[i]);
    }
}

SharedPart shared = {size, create, nullptr, nullptr};

void clear(Holder& holder)
{
    pg_atomic_write_u32(&holder.count, 0);
}

// A further pin, or the one that covers `slot` lowered to `word`. Nobody else may set one there
// meanwhile.
void lower(Holder& holder, uint32_t slot, Word word, uint64_t moment)
{
    const uint32_t count = pg_atomic_read_u32(&holder.count);
    uint32_t i = 0;
    while (i < std::min(count, pins_each) && pg_atomic_read_u32(&holder.pins[i].slot) != slot) {
        i++;
    }
    Pin& pin = holder.pins[i];
    const uint64_t lowest = i < pins_each ? word_number(word) : moment;
    if (i < count) {
        pg_atomic_write_u64(&pin.lowest, std::min(lowest, pg_atomic_read_u64(&pin.lowest)));
        return;
    }
    pg_atomic_write_u32(&pin.slot, i < pins_each ? slot : further_slots);
    pg_write_barrier();
    pg_atomic_write_u64(&pin.lowest, lowest);
    pg_write_barrier();
    pg_atomic_write_u32(&holder.count, i + 1);
}

void fill(Ended& ended, uint64_t xid, Holder& holder, uint32_t pin)
{
    pg_atomic_write_u64(&ended.xid, xid);
    pg_atomic_write_u64(&ended.lowest, pg_atomic_read_u64(&holder.pins[pin].lowest));
    pg_atomic_write_u32(&ended.slot, pg_atomic_read_u32(&holder.pins[pin].slot));
    pg_atomic_write_u32(&ended.database, holder.database);
}

// Keeps what this process's transaction held for snapshots from before its end. It has ended for
// all others, and its pins are not taken back yet.
void keep_ended(uint64_t xid)
{
    LatestEnded& latest = latest_ended(*pins, static_cast<int>(own - pins->holders));
    const uint32_t held = pg_atomic_read_u32(&own->count);
    for (uint32_t i = 0; i < held; i++) {
        pg_write_barrier();
        const uint64_t number = pg_atomic_read_u64(&latest.count);
        fill(latest.ended[number % ended_kept], xid, *own, i);
        pg_write_barrier();
        pg_atomic_write_u64(&latest.count, number + 1);
    }
    pg_write_barrier();
}

// The same of a prepared transaction, whose place goes to another.
void keep_prepared(Holder& place, uint64_t xid)
{
    const uint32_t held = pg_atomic_read_u32(&place.count);
    SpinLockAcquire(&pins->lock);
    const uint64_t completed = latest_completed_transaction();
    for (uint32_t i = 0; i < held; i++) {
        pg_write_barrier();
        const uint64_t number = pg_atomic_read_u64(&pins->prepared_count);
        EndedPrepared& entry = pins->prepared[number % prepared_kept];
        fill(entry.ended, xid, place, i);
        pg_atomic_write_u64(&entry.completed, completed);
        pg_write_barrier();
        pg_atomic_write_u64(&pins->prepared_count, number + 1);
    }
    SpinLockRelease(&pins->lock);
    pg_write_barrier();
}

bool is_running(uint64_t xid)
{
    return TransactionIdIsInProgress(static_cast<TransactionId>(xid));
}

// A place for a prepared transaction: one that was never used, or whose transaction has ended.
Holder* take_prepared(uint64_t xid)
{
    for (uint32_t i = 0; i < pins->prepared_places; i++) {
        Holder& place = pins->holders[static_cast<uint32_t>(MaxBackends) + i];
        const uint64_t before = pg_atomic_read_u64(&place.xid);
        if (before != 0 && (place.unknown || is_running(before))) {
            continue;
        }
        if (before != 0) {
            keep_prepared(place, before);
        }
        SpinLockAcquire(&pins->lock);
        const bool ours = pg_atomic_read_u64(&place.xid) == before;
        if (ours) {
            clear(place); // same without: the mark is lower meanwhile
            pg_write_barrier();
            pg_atomic_write_u64(&place.xid, xid);
            if (i >= pg_atomic_read_u32(&pins->prepared_used)) {
                pg_write_barrier();
                pg_atomic_write_u32(&pins->prepared_used, i + 1);
            }
        }
        SpinLockRelease(&pins->lock);
        if (ours) {
            return &place;
        }
    }
    elog(ERROR, "no place is left for a prepared transaction");
    pg_unreachable();
}

// Finds the prepared transactions that outlived a restart, which may have drawn anything. It runs
// before anything is drawn, so whatever else it finds has drawn nothing. AddinShmemInitLock must be
// held.
void look_for_prepared()
{
    const uint64_t now = latest_completed_transaction();
    for (int i = 0; i < max_prepared_xacts; i++) {
        const PGPROC& proc = PreparedXactProcs[i];
        const TransactionId xid = proc.xid;
        if (TransactionIdIsNormal(xid) && TransactionIdIsInProgress(xid)) {
            Holder& place = *take_prepared(full_transaction(xid, now));
            place.database = proc.databaseId;
            place.unknown = true;
        }
    }
}

// From now on this process takes back the pins in its place.
void attach()
{
    own = &pins->holders[process_number(MyProc)];
    SpinLockAcquire(&own->lock);
    if (pg_atomic_read_u64(&own->running) != running_transaction(MyProc)) {
        clear(*own);
    }
    pg_atomic_write_u32(&own->pid, static_cast<uint32_t>(MyProcPid));
    SpinLockRelease(&own->lock);
}

// Parallel workers may have set pins for a session that never drew itself.
void attach_leader()
{
    if (own == nullptr && MyProc->lockGroupLeader == MyProc && shared_attach_if_made()) {
        (void)pins_begin();
    }
}

bool holds_pins()
{
    // same with >=: writes a 0 over a 0
    return own != nullptr && pg_atomic_read_u32(&own->count) > 0;
}

void before_prepare()
{
    attach_leader();
    if (holds_pins()) {
        own_prepared = take_prepared(U64FromFullTransactionId(GetTopFullTransactionId()));
        own_prepared->database = MyDatabaseId;
        own_prepared->since = own->since;
    }
}

void hand_to_prepared()
{
    const uint32_t count = pg_atomic_read_u32(&own->count);
    for (uint32_t i = 0; i < count; i++) {
        pg_atomic_write_u32(&own_prepared->pins[i].slot, pg_atomic_read_u32(&own->pins[i].slot));
        pg_atomic_write_u64(&own_prepared->pins[i].lowest,
                            pg_atomic_read_u64(&own->pins[i].lowest));
    }
    pg_write_barrier();
    pg_atomic_write_u32(&own_prepared->count, count);
    pg_write_barrier();
}

void after_commit()
{
    const FullTransactionId xid = GetTopFullTransactionIdIfAny();
    if (FullTransactionIdIsValid(xid) && pg_atomic_read_u64(&pins->watched_since) != 0) {
        keep_ended(U64FromFullTransactionId(xid));
    }
}

// The server tells of commits and aborts after the transaction has ended for all others. In
// parallel workers these events have names of their own. One callback serves all that has to be
// done at the end of a transaction.
void at_transaction_event(XactEvent event, void*)
{
    stats_add_up();
    switch (event) {
    case XACT_EVENT_PRE_COMMIT:
        attach_leader();
        return;
    case XACT_EVENT_PRE_PREPARE:
        before_prepare();
        return;
    case XACT_EVENT_COMMIT:
        if (holds_pins()) {
            after_commit();
        }
        break;
    case XACT_EVENT_PREPARE:
        if (own_prepared != nullptr) {
            hand_to_prepared();
        }
        break;
    case XACT_EVENT_ABORT:
        break;
    case XACT_EVENT_PARALLEL_COMMIT:
    case XACT_EVENT_PARALLEL_ABORT:
        transaction_number++;
        return;
    case XACT_EVENT_PARALLEL_PRE_COMMIT:
        return;
    }
    if (holds_pins()) {
        clear(*own);
    }
    own_prepared = nullptr;
    transaction_number++;
}

} // namespace

Pins* pins_begin()
{
    if (unlikely(own == nullptr)) {
        shared_attach();
        pins = static_cast<Pins*>(shared.memory);
        attach();
    }
    if (unlikely(pg_atomic_read_u32(&pins->looked) == 0) && !RecoveryInProgress()) {
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        if (pg_atomic_read_u32(&pins->looked) == 0) {
            look_for_prepared();
            pg_write_barrier();
            pg_atomic_write_u32(&pins->looked, 1);
        }
        LWLockRelease(AddinShmemInitLock);
    }
    pg_read_barrier();
    return pins;
}

uint64_t watch_from_now(Pins& of)
{
    uint64_t since = pg_atomic_read_u64(&of.watched_since);
    if (unlikely(since == 0)) {
        LWLockAcquire(ProcArrayLock, LW_SHARED); // no transaction ends for others meanwhile
        const uint64_t now = latest_completed_transaction();
        // Who began it first, did for all.
        since = pg_atomic_compare_exchange_u64(&of.watched_since, &since, now) ? now : since;
        LWLockRelease(ProcArrayLock);
    }
    return since;
}

LatestEnded& latest_ended(Pins& of, int process)
{
    auto* first =
        reinterpret_cast<LatestEnded*>(reinterpret_cast<char*>(&of) + latest_ended_begin());
    return first[process];
}

void set_pin(uint32_t slot, Word word, uint64_t moment)
{
    (void)pins_begin();
    // Parallel workers of this process run while it is in parallel mode only.
    const bool alone = !IsInParallelMode();
    PGPROC* leader = alone || MyProc->lockGroupLeader == nullptr ? MyProc : MyProc->lockGroupLeader;
    Holder& holder = alone ? *own : pins->holders[process_number(leader)];
    if (!alone) {
        if (pg_atomic_read_u32(&holder.pid) != static_cast<uint32_t>(leader->pid)) {
            shared_note_unknown_leader();
        }
        SpinLockAcquire(&holder.lock);
    }
    const uint64_t running = running_transaction(leader);
    if (pg_atomic_read_u64(&holder.running) != running) {
        clear(holder); // same without: it counts for nobody
        pg_write_barrier();
        pg_atomic_write_u64(&holder.running, running);
        pg_write_barrier();
    }
    holder.database = MyDatabaseId;
    holder.since = GetCurrentTransactionStartTimestamp();
    lower(holder, slot, word, moment);
    if (!alone) {
        SpinLockRelease(&holder.lock);
    }
}

void pins_init()
{
    shared_add(&shared);
    RegisterXactCallback(at_transaction_event, nullptr);
}

} // namespace flakeid
