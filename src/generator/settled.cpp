#include "generator/settled.hpp"

#include "server/clock.hpp"
#include "core/settled.hpp"
#include "durable/server_horizon.hpp"
#include "server/shared.hpp"

extern "C" {
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "storage/procarray.h"
#include "utils/array.h"
#include "utils/snapmgr.h"
}

namespace flakeid {

namespace {

// What lies below everything that may still appear.
struct Lowest {
    const Generator& g;
    SlotKey key; // of any of its nodes
    Slot* slots;
    int64_t id;

    void take(Word word, uint64_t node_bits)
    {
        const uint64_t raw = raw_of_word(g.layout, g.shape, within_layout(g.shape, word));
        id = std::min(id, static_cast<int64_t>(raw | node_bits));
    }

    void take_pin(uint32_t slot, uint64_t pin)
    {
        if (slot == further_slots) {
            const int64_t tick = tick_of_us(g.layout, static_cast<int64_t>(pin));
            take(word_of(g.shape, 0, clamp_tick(g.shape, tick), 0), 0);
        } else if (same_layout(slots[slot].key, key)) {
            take(Word{pin}, slots[slot].key.node);
        }
    }

    void take_pins(Holder& holder)
    {
        for (uint32_t i = 0; i <= pins_each; i++) {
            uint64_t running, xid;
            uint32_t count, slot;
            uint64_t lowest;
            do { // the next transaction may set others
                running = pg_atomic_read_u64(&holder.running);
                xid = pg_atomic_read_u64(&holder.xid);
                pg_read_barrier();
                count = pg_atomic_read_u32(&holder.count);
                pg_read_barrier();
                slot = pg_atomic_read_u32(&holder.pins[i].slot);
                lowest = pg_atomic_read_u64(&holder.pins[i].lowest);
                pg_read_barrier();
            } while (pg_atomic_read_u64(&holder.running) != running ||
                     pg_atomic_read_u64(&holder.xid) != xid);
            if (i >= count || holder.database != MyDatabaseId) {
                return;
            }
            take_pin(slot, lowest);
        }
    }
};
static_assert(is_plain<Lowest>);

// Takes in what has not been drawn yet. A node that draws less than others is skipped to where they
// are.
void take_undrawn(Lowest& lowest)
{
    const Generator& g = lowest.g;
    // Other databases may drive the word further than ids of this one are kept from coming again,
    // and its row may be written further than the file of the server, which a copy may share.
    const Stamp of_row = row_stamp(g.horizon, g.kind);
    const Word last_covered = last_word_at(g, std::min(of_row, server_bound(g.kind)));
    const Word covered = last_covered == highest_word ? last_covered : last_covered + 1;
    lowest.take(covered, 0);
    // A mark further ahead than any id would not outlive a failover or a copy.
    const int64_t ahead_us = static_cast<int64_t>(g.limits.ahead) * g.layout.tick_us;
    const Stamp loaded_stamp =
        within_most_ahead(loaded_row_stamp(g.horizon, g.kind), g.tick.start_us, ahead_us);
    const Word before = last_word_at(g, loaded_stamp);
    const Word past_loaded = before == no_word || before == highest_word ? before : before + 1;
    Word furthest = no_word;
    // same with >=: a wait instead of a count
    uint64_t most_ahead = word_tick(g.shape, past_loaded) > g.limits.now ? g.limits.ahead : 0;
    int nodes = 0;
    Word first = highest_word;
    Slot* some = nullptr;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    uint32_t count;
    Slot* slots = taken_slots(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (!slots[i].yielded && same_layout(slots[i].key, lowest.key)) {
            const Word word{pg_atomic_read_u64(&slots[i].word)};
            furthest = std::max(furthest, word == closed_word ? slots[i].word_before : word);
            pg_read_barrier();
            most_ahead = std::max(most_ahead, pg_atomic_read_u64(&slots[i].most_ahead));
            some = &slots[i];
            nodes++;
        }
    }
    // same with >=: nobody draws in that tick
    const Word skipped = nodes > 1 ? skipped_word(g.shape, furthest, g.limits.now) : no_word;
    for (uint32_t i = 0; i < count && nodes > 0; i++) {
        if (slots[i].yielded || !same_layout(slots[i].key, lowest.key)) {
            continue;
        }
        raise_to(&slots[i].most_ahead, most_ahead); // or it would look like a clock set back
        raise_to(&slots[i].word, word_number(skipped));
        const Word word{pg_atomic_read_u64(&slots[i].word)};
        if (word != closed_word) {
            const Word next = std::max(word + 1, past_loaded);
            lowest.take(next, slots[i].key.node);
            first = std::min(first, next); // same with max: a gap
        }
    }
    if (first == highest_word) {
        first = std::max(furthest == no_word ? no_word : last_of_tick(g.shape, furthest) + 1,
                         past_loaded);
        lowest.take(first, 0);
    }
    if (some != nullptr) {
        some->settled = std::max(some->settled, used_up(g.shape, std::min(first, covered)));
    }
    LWLockRelease(AddinShmemInitLock);
}

SnapshotView view_of(const SnapshotData& snapshot)
{
    const uint64_t near = latest_completed_transaction();
    return {full_transaction(snapshot.xmin, near), full_transaction(snapshot.xmax, near),
            snapshot.xip, snapshot.xcnt};
}

// Tells whether each transaction that the snapshot does not see was kept when it ended, or goes on,
// where what ended is kept since the transaction `since` was the latest. Otherwise one of them may
// have ended before anybody kept it, or before prepared transactions of an earlier run were looked
// for: nobody knows its ids.
bool misses_nothing(const SnapshotView& view, uint64_t since)
{
    if (taken_after(view, since)) {
        return true;
    }
    if (view.next <= since) {
        return false;
    }
    for (size_t i = 0; i < view.running_count; i++) {
        if (!TransactionIdIsInProgress(view.running[i])) {
            return false;
        }
    }
    return true;
}

[[noreturn]] void throw_too_old()
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("the snapshot is too old for a settled mark"),
            errdetail("Since it was taken, a session has ended more than " UINT64_FORMAT
                      " transactions that drew ids.",
                      ended_kept - 1),
            errhint("Call flake_settled() soon after the transaction has begun, or in a "
                    "transaction that is READ COMMITTED."));
}

// What stands in an entry, which may be overwritten meanwhile: the caller looks for that after it.
struct EndedCopy {
    uint64_t xid, lowest;
    uint32_t slot;
    Oid database;

    void take_into(Lowest& into) const
    {
        if (database == MyDatabaseId) {
            into.take_pin(slot, lowest);
        }
    }
};
static_assert(is_plain<EndedCopy>);

EndedCopy copy_of(Ended& ended)
{
    return {pg_atomic_read_u64(&ended.xid), pg_atomic_read_u64(&ended.lowest),
            pg_atomic_read_u32(&ended.slot), pg_atomic_read_u32(&ended.database)};
}

// Takes in what one process ended, from the latest on. A process ends one transaction after the
// other: the snapshot that sees one sees all that were ended before it.
void take_latest(LatestEnded& latest, Lowest& lowest, const SnapshotView& view)
{
    for (uint64_t number = pg_atomic_read_u64(&latest.count); number-- > 0;) {
        pg_read_barrier();
        const EndedCopy ended = copy_of(latest.ended[number % ended_kept]);
        pg_read_barrier();
        // same with >: the entry before is too old
        if (pg_atomic_read_u64(&latest.count) - number >= ended_kept) {
            throw_too_old();
        }
        if (!unfinished(view, ended.xid)) {
            return;
        }
        ended.take_into(lowest);
    }
}

// The same of prepared transactions whose places went to others. Their order is that in which they
// lost their places.
void take_latest_prepared(Pins& pins, Lowest& lowest, const SnapshotView& view)
{
    for (uint64_t number = pg_atomic_read_u64(&pins.prepared_count); number-- > 0;) {
        pg_read_barrier();
        EndedPrepared& entry = pins.prepared[number % prepared_kept];
        const uint64_t completed = pg_atomic_read_u64(&entry.completed);
        const EndedCopy ended = copy_of(entry.ended);
        pg_read_barrier();
        // same with >: the entry before is too old
        if (pg_atomic_read_u64(&pins.prepared_count) - number >= prepared_kept) {
            throw_too_old();
        }
        if (taken_after(view, completed)) {
            return;
        }
        if (unfinished(view, ended.xid)) {
            ended.take_into(lowest);
        }
    }
}

// The names of prepared transactions, palloc'ed.
const char* names_of_prepared(Datum* xids, int count)
{
    Oid types[] = {XIDARRAYOID};
    Datum values[] = {
        PointerGetDatum(construct_array(xids, count, XIDOID, sizeof(TransactionId), true, 'i'))};
    MemoryContext caller = CurrentMemoryContext;
    const char* names = nullptr;
    SPI_connect();
    if (SPI_execute_with_args(
            "SELECT pg_catalog.string_agg(pg_catalog.quote_literal(gid), ', ' ORDER BY gid) "
            "FROM pg_catalog.pg_prepared_xacts WHERE transaction OPERATOR(pg_catalog.=) ANY ($1)",
            1, types, values, nullptr, true, 1) == SPI_OK_SELECT &&
        SPI_processed == 1) {
        const char* text = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
        names = text != nullptr ? MemoryContextStrdup(caller, text) : nullptr;
    }
    SPI_finish();
    return names;
}

[[noreturn]] void throw_unknown(Datum* xids, int count)
{
    const char* names = names_of_prepared(xids, count);
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("nobody knows which ids prepared transactions drew before the server's start"),
            names != nullptr ? errdetail("They are %s.", names) : 0,
            errhint("End them with COMMIT PREPARED or ROLLBACK PREPARED."));
}

void take_prepared(Pins& pins, Lowest& lowest, const SnapshotView& view)
{
    const uint32_t used = pg_atomic_read_u32(&pins.prepared_used);
    Datum* unknown = nullptr;
    int unknown_count = 0;
    pg_read_barrier();
    for (uint32_t i = 0; i < used; i++) {
        Holder& place = pins.holders[static_cast<uint32_t>(MaxBackends) + i];
        const uint64_t xid = pg_atomic_read_u64(&place.xid);
        pg_read_barrier();
        if (xid == 0 || !unfinished(view, xid)) {
            continue;
        }
        if (place.unknown && place.database == MyDatabaseId) {
            if (unknown == nullptr) {
                unknown = static_cast<Datum*>(palloc(sizeof(Datum) * used));
            }
            unknown[unknown_count++] = TransactionIdGetDatum(static_cast<TransactionId>(xid));
        }
        lowest.take_pins(place);
    }
    if (unknown != nullptr) {
        throw_unknown(unknown, unknown_count);
    }
}

} // namespace

void pin_words(Generator& g, Word word)
{
    uint32_t count;
    set_pin(static_cast<uint32_t>(g.slot - taken_slots(&count)), word,
            static_cast<uint64_t>(word_start_us(g, word)));
    g.pinned = transaction_number;
}

uint64_t polls_so_far()
{
    return pg_atomic_read_u64(&pins_begin()->polls);
}

bool pin_reserved(Generator& g)
{
    if (g.cache.next == g.cache.end ||
        (g.pinned != never_pinned && polls_so_far() != g.cache.polls)) {
        return false;
    }
    if (g.pinned != never_pinned) {
        pin_words(g, g.cache.next);
        pg_memory_barrier();
        if (polls_so_far() != g.cache.polls) {
            return false;
        }
    }
    g.cache.transaction = transaction_number;
    return true;
}

void require_settling(const Generator& g)
{
    if (can_settle(g.layout)) {
        return;
    }
    ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("ids of layout \"%s\" have no settled mark", g.name),
            g.layout.enciphered ? errdetail("Enciphered ids are spread evenly over all numbers.")
            : g.shape.has_back && time_ordered(g.layout)
                ? errdetail("They do not rise: after a clock was set back, ids come below "
                            "earlier ones.")
                : errdetail("Their highest field is neither the time nor a back field."));
}

int64_t settled_id(Generator& g, const SnapshotData& snapshot)
{
    if (snapshot.takenDuringRecovery) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the snapshot is from before this server's promotion"),
                errhint("Begin a new transaction."));
    }
    refresh_limits(g, wall_us());
    Pins& pins = *pins_begin();
    uint32_t count;
    Lowest lowest{g, slot_key(g.layout, 0), taken_slots(&count), PG_INT64_MAX};
    take_undrawn(lowest);
    pg_atomic_fetch_add_u64(&pins.polls, 1); // seldom: by pollers
    pg_memory_barrier();
    for (int i = 0; i < MaxBackends; i++) {
        if (is_held(pins.holders[i], &ProcGlobal->allProcs[i])) {
            lowest.take_pins(pins.holders[i]);
        }
    }
    pg_read_barrier();
    const SnapshotView view = view_of(snapshot);
    if (!misses_nothing(view, watch_from_now(pins))) {
        lowest.take(no_word, 0);
    }
    take_prepared(pins, lowest, view);
    pg_read_barrier();
    for (int i = 0; i < MaxBackends; i++) {
        take_latest(latest_ended(pins, i), lowest, view);
    }
    take_latest_prepared(pins, lowest, view);
    return lowest.id;
}

int64_t id_of_pin(const SlotKey& key, Word word)
{
    uint64_t raw = tick_number(slot_tick(key, word)) << key.time_shift |
                   (word_number(word) & low_mask(key.sequence_bits)) << key.sequence_shift |
                   key.node;
    if (key.back_bits > 0) {
        raw |= word_number(word) >> (key.sequence_bits + key.time_bits) << key.back_shift;
    }
    return static_cast<int64_t>(raw);
}

} // namespace flakeid
