// flake_settled, and who holds it back.
#include "core/settled.hpp"
#include "functions/generator_of.hpp"
#include "functions/settled.hpp"
#include "generator/settled.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/pg_authid_d.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
}

using namespace flakeid;

namespace {

// A settled mark may rise while a statement runs, when a transaction ends that wrote nothing. All
// scans of a statement must stop at the same mark, so what was found first with a snapshot counts
// for as long as that is in use.
struct FoundMark {
    FoundMark* next;
    const SnapshotData* snapshot;
    uint64 sign;
    SlotKey key;
    int64_t settled;
};
static_assert(is_plain<FoundMark>);

FoundMark* found_marks; // of this transaction

// A snapshot that is in use is a copy. In a copy the server leaves this field at zero: here it
// tells a snapshot from an earlier one in the same place.
uint64 sign_of(SnapshotData* snapshot)
{
    static uint64 latest;
    if (snapshot->snapXactCompletionCount == 0) {
        snapshot->snapXactCompletionCount = ++latest;
    }
    return snapshot->snapXactCompletionCount;
}

// Returns the mark for a snapshot and layout. A new one does not have the snapshot's sign yet.
FoundMark* find_mark(const SnapshotData* snapshot, const SlotKey& key)
{
    for (FoundMark* found = found_marks; found != nullptr; found = found->next) {
        if (found->snapshot == snapshot && same_layout(found->key, key)) {
            return found;
        }
    }
    if (found_marks == nullptr) {
        auto* at_end = static_cast<MemoryContextCallback*>(
            MemoryContextAllocZero(TopTransactionContext, sizeof(MemoryContextCallback)));
        at_end->func = [](void*) { found_marks = nullptr; };
        MemoryContextRegisterResetCallback(TopTransactionContext, at_end);
    }
    auto* found =
        static_cast<FoundMark*>(MemoryContextAllocZero(TopTransactionContext, sizeof(FoundMark)));
    *found = FoundMark{found_marks, snapshot, 0, key, 0};
    found_marks = found;
    return found;
}

int64_t settled_for_statement(Generator& g)
{
    SnapshotData* snapshot = ActiveSnapshotSet() ? GetActiveSnapshot() : nullptr;
    if (snapshot == nullptr || snapshot->snapshot_type != SNAPSHOT_MVCC || !snapshot->copied) {
        return settled_id(g, *GetLatestSnapshot());
    }
    FoundMark* found = find_mark(snapshot, slot_key(g.layout, 0));
    const uint64 sign = sign_of(snapshot);
    if (found->sign != sign) {
        found->settled = settled_id(g, *snapshot);
        found->sign = sign;
    }
    return found->settled;
}

bool may_see(Oid role)
{
    return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
           has_privs_of_role(GetUserId(), role);
}

} // namespace

int64_t flakeid::settled_mark(Generator& g)
{
    require_settling(g);
    return settled_for_statement(g);
}

FLAKEID_FUNCTION(flakeid_settled)
{
    if (RecoveryInProgress()) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("a standby has no settled mark"),
                errdetail("The primary alone knows which transactions hold ids back."),
                errhint("Ask the primary, and read here what lies below its answer once this "
                        "server has replayed as far as the primary was then."));
    }
    return Int64GetDatum(settled_mark(generator_of(fcinfo, 0)));
}

// The pins that transactions of this database hold: one row for each transaction, layout and node.
FLAKEID_FUNCTION(flakeid_unsettled_now)
{
    InitMaterializedSRF(fcinfo, 0);
    if (RecoveryInProgress()) {
        return static_cast<Datum>(0);
    }
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    Pins& pins = *pins_begin();
    uint32_t count;
    const Slot* slots = taken_slots(&count);
    auto rows = [&](Holder& holder, int pid, TransactionId xid, Oid role, bool visible) {
        const uint32_t held = holder.unknown ? 1 : pg_atomic_read_u32(&holder.count);
        pg_read_barrier();
        for (uint32_t i = 0; i < held; i++) {
            const uint32_t number = pg_atomic_read_u32(&holder.pins[i].slot);
            const bool known = !holder.unknown && number != further_slots;
            const Slot& slot = slots[known ? number : 0];
            Datum values[] = {
                Int32GetDatum(pid),
                TransactionIdGetDatum(xid),
                ObjectIdGetDatum(role),
                TimestampTzGetDatum(holder.since),
                known ? CStringGetTextDatum(slot.layout) : static_cast<Datum>(0),
                Int32GetDatum(static_cast<int32>(slot.node)),
                Int64GetDatum(
                    id_of_pin(slot.key, Word{pg_atomic_read_u64(&holder.pins[i].lowest)})),
            };
            bool nulls[] = {pid == 0,
                            xid == InvalidTransactionId,
                            role == InvalidOid,
                            !visible || holder.unknown,
                            !known,
                            !known,
                            !visible || !known};
            static_assert(lengthof(values) == lengthof(nulls), "a null for each value");
            tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
        }
    };
    for (int i = 0; i < MaxBackends; i++) {
        Holder& holder = pins.holders[i];
        const PGPROC& proc = ProcGlobal->allProcs[i];
        if (is_held(holder, &proc) && holder.database == MyDatabaseId) {
            rows(holder, proc.pid, InvalidTransactionId, proc.roleId, may_see(proc.roleId));
        }
    }
    const uint32_t used = pg_atomic_read_u32(&pins.prepared_used);
    pg_read_barrier();
    for (uint32_t i = 0; i < used; i++) {
        Holder& place = pins.holders[static_cast<uint32_t>(MaxBackends) + i];
        const auto xid = static_cast<TransactionId>(pg_atomic_read_u64(&place.xid));
        pg_read_barrier();
        if (place.database == MyDatabaseId && TransactionIdIsNormal(xid) &&
            TransactionIdIsInProgress(xid)) {
            rows(place, 0, xid, InvalidOid, true);
        }
    }
    return static_cast<Datum>(0);
}
