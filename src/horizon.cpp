#include "horizon.hpp"

#include "clock.hpp"
#include "errors.hpp"
#include "settings.hpp"

namespace flakeid {

namespace {

constexpr char true_name[] = "horizon";
constexpr char copy_name[] = "horizon_copy";

// What the two pages say. flake_horizon keeps the plain stamp as its last_value and the one of
// layouts with a back field as its log_cnt; the copy keeps the later moment of both and the back
// count as its last_value, and the timeline it was written on as its log_cnt.
struct Durable {
    uint64_t stamp[horizon_kinds];
    uint64_t copy;
    TimeLineID timeline;
};

uint64_t copy_of(const Durable& durable)
{
    return stamp_of(
        stamp_back(durable.stamp[back_horizon]),
        Max(stamp_us(durable.stamp[plain_horizon]), stamp_us(durable.stamp[back_horizon])));
}

// True when the copy was set by a restore: setval leaves no timeline. That the copy is larger would
// not tell, because back count and time together have no order that serves both kinds.
bool restored(const Durable& durable)
{
    return durable.timeline == 0 && durable.copy != 0;
}

uint64_t restored_stamp(const Durable& durable, HorizonKind kind)
{
    return kind == plain_horizon ? stamp_of(0, stamp_us(durable.copy)) : durable.copy;
}

FormData_pg_sequence_data* sequence_data(Page page)
{
    ItemId item = PageGetItemId(page, FirstOffsetNumber);
    auto* tuple = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
    return reinterpret_cast<FormData_pg_sequence_data*>(reinterpret_cast<char*>(tuple) +
                                                        tuple->t_hoff);
}

// The two sequences, opened and their pages pinned and locked. The relations stay open until what
// was read is published, so that horizon_repair can shut everybody else out; nobody else waits for
// that.
struct Pages {
    Relation true_relation, copy_relation;
    Buffer true_buffer, copy_buffer;
    LOCKMODE mode;
};

Relation open_sequence(const char* name, Oid function, LOCKMODE mode)
{
    const Oid schema = get_namespace_oid("flakeid", true);
    const Oid relation = get_relname_relid(name, schema);
    if (!OidIsValid(relation)) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("sequence flakeid.%s of extension flakeid is missing", name),
                errhint("Restore it from a backup, or drop and create the extension again."));
    }
    return relation_open(relation, mode);
}

Pages open_pages(Oid function, BufferLockMode lock, LOCKMODE mode = AccessShareLock)
{
    Pages pages;
    pages.mode = mode;
    pages.true_relation = open_sequence(true_name, function, mode);
    pages.copy_relation = open_sequence(copy_name, function, AccessShareLock);
    pages.true_buffer = ReadBuffer(pages.true_relation, 0);
    pages.copy_buffer = ReadBuffer(pages.copy_relation, 0);
    LockBuffer(pages.true_buffer, lock);
    LockBuffer(pages.copy_buffer, lock);
    return pages;
}

void unlock_pages(const Pages& pages)
{
    UnlockReleaseBuffer(pages.copy_buffer);
    UnlockReleaseBuffer(pages.true_buffer);
}

void close_relations(const Pages& pages)
{
    relation_close(pages.copy_relation, AccessShareLock);
    relation_close(pages.true_relation, pages.mode);
}

Durable read_pages(const Pages& pages)
{
    const FormData_pg_sequence_data* truth = sequence_data(BufferGetPage(pages.true_buffer));
    const FormData_pg_sequence_data* copy = sequence_data(BufferGetPage(pages.copy_buffer));
    Durable durable;
    durable.stamp[plain_horizon] = static_cast<uint64_t>(truth->last_value);
    durable.stamp[back_horizon] = static_cast<uint64_t>(truth->log_cnt);
    durable.copy = static_cast<uint64_t>(copy->last_value);
    durable.timeline = static_cast<TimeLineID>(copy->log_cnt);
    return durable;
}

XLogRecPtr pages_lsn(const Pages& pages)
{
    return Max(PageGetLSN(BufferGetPage(pages.true_buffer)),
               PageGetLSN(BufferGetPage(pages.copy_buffer)));
}

void write_pages(const Pages& pages, const Durable& durable)
{
    GenericXLogState* record = GenericXLogStart(pages.true_relation);
    FormData_pg_sequence_data* truth =
        sequence_data(GenericXLogRegisterBuffer(record, pages.true_buffer, 0));
    FormData_pg_sequence_data* copy =
        sequence_data(GenericXLogRegisterBuffer(record, pages.copy_buffer, 0));
    truth->last_value = static_cast<int64>(durable.stamp[plain_horizon]);
    truth->log_cnt = static_cast<int64>(durable.stamp[back_horizon]);
    copy->last_value = static_cast<int64>(copy_of(durable));
    copy->log_cnt = GetWALInsertionTimeLine();
    copy->is_called = true;
    GenericXLogFinish(record);
}

// Lets `raise` change stamps and floors, makes the stamps durable, and publishes them.
//
// A floor is published before its page is written, because any session that extends publishes the
// bound that it finds on the page; and it moves the bound in any case, because sessions look at the
// floor only when the bound has moved.
template <typename Raise>
void change(Horizon* horizon, Oid function, Raise raise)
{
    uint64_t floor[horizon_kinds] = {};
    uint64_t bound[horizon_kinds];
    const Pages pages = open_pages(function, BUFFER_LOCK_EXCLUSIVE);
    const Durable before = read_pages(pages);
    Durable durable = before;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        bound[kind] = pg_atomic_read_u64(&horizon->bound[kind]);
        if (restored(before)) {
            floor[kind] = restored_stamp(before, static_cast<HorizonKind>(kind));
        }
    }
    raise(durable, floor);
    for (int kind = 0; kind < horizon_kinds; kind++) {
        // The bound is later than the page when the extension was dropped and created again.
        durable.stamp[kind] = Max(durable.stamp[kind], bound[kind]);
        if (floor[kind] > pg_atomic_read_u64(&horizon->floor[kind])) {
            raise_to(&horizon->floor[kind], floor[kind]);
            durable.stamp[kind] = Max(durable.stamp[kind], Max(floor[kind], bound[kind] + 1));
        }
    }
    const bool changed = memcmp(durable.stamp, before.stamp, sizeof before.stamp) != 0 ||
                         before.timeline != GetWALInsertionTimeLine();
    if (changed) {
        write_pages(pages, durable);
    }
    const XLogRecPtr lsn = pages_lsn(pages);
    unlock_pages(pages);

    XLogFlush(lsn);
    for (int kind = 0; kind < horizon_kinds; kind++) {
        if (durable.stamp[kind] > bound[kind]) {
            raise_to(&horizon->extended_at[kind], static_cast<uint64_t>(steady_us()));
            raise_to(&horizon->bound[kind], durable.stamp[kind]);
        }
    }
    close_relations(pages);
    if (changed) {
        count_extension();
    }
}

// After a promotion ids begin past all that an extension can have allowed which this server missed:
// one extension and a tick past the bound, or, when the last one was long ago, whatever was within
// reach of the lost server's clock.
uint64_t promoted_floor(uint64_t stamp)
{
    const int64_t missed = stamp_us(stamp) + extension_us + max_generated_tick_us;
    // Of the database or the configuration, not what this session has set.
    const int64_t reach =
        strtol(GetConfigOptionResetString("flakeid.max_ahead"), nullptr, 10) * us_per_ms;
    return stamp_of(stamp_back(stamp), Max(missed, wall_us() + reach));
}

// After a start. Of several sessions that do this at once the first one counts: it extends the
// horizon only after its floor is published, so that no other mistakes that extension for the
// floor.
void load(Horizon* horizon, Oid function)
{
    const Pages pages = open_pages(function, BUFFER_LOCK_SHARE);
    const Durable durable = read_pages(pages);
    const XLogRecPtr lsn = pages_lsn(pages);
    unlock_pages(pages);
    XLogFlush(lsn);
    const bool fresh = durable.copy == 0; // CREATE EXTENSION is about to write the first one
    const bool promoted = durable.timeline != GetWALInsertionTimeLine() && !fresh;
    for (int i = 0; i < horizon_kinds; i++) {
        const auto kind = static_cast<HorizonKind>(i);
        uint64_t floor = durable.stamp[kind];
        if (restored(durable)) {
            floor = Max(floor, restored_stamp(durable, kind));
        }
        if (promoted) {
            floor = promoted_floor(floor);
        }
        floor = Max(floor, 1); // 0: not loaded yet
        uint64_t unloaded = 0;
        pg_atomic_compare_exchange_u64(&horizon->floor[kind], &unloaded, floor);
        uint64_t bound = 0;
        pg_atomic_compare_exchange_u64(&horizon->bound[kind], &bound,
                                       pg_atomic_read_u64(&horizon->floor[kind]));
    }
    close_relations(pages);
}

} // namespace

void check_leap(int64_t now_us)
{
    const auto offset = static_cast<int64_t>(pg_atomic_read_u64(shared_clock_offset()));
    const int64_t uptime = uptime_us();
    const int64_t leap = now_us - uptime - offset;
    if (settings.max_leap_us > 0 && leap > settings.max_leap_us) {
        ereport(
            ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("the wall clock ran ahead of the uptime clock by %s since the server's start",
                   duration_text(leap)),
            errdetail("The wall clock says %s, the uptime clock %s; flakeid.max_leap is %s.",
                      moment_text(now_us), moment_text(uptime + offset),
                      duration_text(settings.max_leap_us)),
            errhint("Correct the clock. If the new time is right, run SELECT "
                    "flake_accept_clock() as a superuser."));
    }
}

Horizon* horizon_attach(Oid function)
{
    if (RecoveryInProgress()) {
        ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                errmsg("cannot generate ids during recovery"),
                errhint("Generate ids on the primary, or promote this server."));
    }
    Horizon* horizon = shared_horizon();
    if (pg_atomic_read_u64(&horizon->bound[back_horizon]) == 0) {
        load(horizon, function);
    }
    return horizon;
}

int64_t horizon_extend(Horizon* horizon, HorizonKind kind, uint64_t needed, int64_t now_us,
                       Oid function)
{
    observe_clock();
    check_leap(now_us);
    const uint64_t wanted =
        Max(needed, stamp_of(stamp_back(needed),
                             Min(stamp_us(needed) + extension_us, now_us + settings.max_ahead_us)));
    int64_t wait_us = 0;
    change(horizon, function, [&](Durable& durable, uint64_t*) {
        const uint64_t page = durable.stamp[kind];
        const uint64_t bound = pg_atomic_read_u64(&horizon->bound[kind]);
        if (page > bound || bound >= wanted) {
            return; // another session's extension is on its way, or has arrived
        }
        const auto last = static_cast<int64_t>(pg_atomic_read_u64(&horizon->extended_at[kind]));
        const int64_t since = steady_us() - last;
        if (last == 0 || since >= extension_interval_us || stamp_back(wanted) > stamp_back(bound)) {
            durable.stamp[kind] = wanted;
        } else if (bound < needed) {
            wait_us = extension_interval_us - since;
        }
    });
    return wait_us;
}

void horizon_raise(Horizon* horizon, int64_t us, Oid function)
{
    change(horizon, function, [&](Durable& durable, uint64_t* floor) {
        for (int kind = 0; kind < horizon_kinds; kind++) {
            const uint64_t latest =
                Max(durable.stamp[kind], pg_atomic_read_u64(&horizon->bound[kind]));
            floor[kind] = Max(floor[kind], stamp_of(stamp_back(latest), us));
        }
    });
}

bool horizon_repair(Horizon* horizon, int64_t now_us, Oid function)
{
    bool lowered = false;
    const int64_t right_us = now_us + settings.max_ahead_us;
    bool ahead = false;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        ahead = ahead || stamp_us(pg_atomic_read_u64(&horizon->bound[kind])) > right_us;
    }
    if (!ahead) {
        return false;
    }
    // Shuts out whoever extends; nobody else has a lock on this sequence.
    const Pages pages = open_pages(function, BUFFER_LOCK_EXCLUSIVE, AccessExclusiveLock);
    const Durable before = read_pages(pages);
    Durable durable = before;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        uint64_t stamp = Max(durable.stamp[kind], pg_atomic_read_u64(&horizon->bound[kind]));
        if (restored(before)) {
            stamp = Max(stamp, restored_stamp(before, static_cast<HorizonKind>(kind)));
        }
        const uint64_t right = stamp_of(stamp_back(stamp), right_us);
        lowered = lowered || stamp > right;
        durable.stamp[kind] = Min(stamp, right);
    }
    if (lowered) {
        write_pages(pages, durable);
    }
    const XLogRecPtr lsn = pages_lsn(pages);
    unlock_pages(pages);
    XLogFlush(lsn);
    for (int kind = 0; lowered && kind < horizon_kinds; kind++) {
        pg_atomic_write_u64(&horizon->floor[kind], durable.stamp[kind]);
        pg_atomic_write_u64(&horizon->bound[kind], durable.stamp[kind]);
    }
    close_relations(pages);
    return lowered;
}

} // namespace flakeid
