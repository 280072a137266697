#include "lease.hpp"

#include "clock.hpp"
#include "horizon.hpp"
#include "settings.hpp"
#include "shared.hpp"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_publication.h"
#include "catalog/pg_subscription.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
}

namespace flakeid {

namespace {

// Does something under the lock that guards the table. It must not wait or raise an error.
template <typename Action>
auto locked(LWLockMode mode, Action action)
{
    LWLockAcquire(AddinShmemInitLock, mode);
    auto result = action();
    LWLockRelease(AddinShmemInitLock);
    return result;
}

int index_of(const Lease* lease)
{
    return static_cast<int>(lease - shared_leases()->leases);
}

bool serves(const Lease& lease, uint32_t node, uint32_t max_node)
{
    if (!lease.in_use || lease.wanted != node) {
        return false;
    }
    return node != any_node || lease.max_node == max_node ||
           (pg_atomic_read_u64(const_cast<pg_atomic_uint64*>(&lease.end_us)) != 0 &&
            lease.node <= max_node);
}

Lease* find(uint32_t node, uint32_t max_node)
{
    for (Lease& lease : shared_leases()->leases) {
        if (serves(lease, node, max_node)) {
            return &lease;
        }
    }
    return nullptr;
}

Lease* take(uint32_t node, uint32_t max_node)
{
    for (Lease& lease : shared_leases()->leases) {
        if (!lease.in_use) {
            pg_atomic_write_u64(&lease.end_us, 0);
            pg_atomic_write_u64(&lease.used_at, static_cast<uint64_t>(steady_us()));
            lease.start_us = lease.last_end_us = 0;
            lease.wanted = node;
            lease.max_node = max_node;
            lease.node = node;
            lease.failing = false;
            lease.in_use = true;
            return &lease;
        }
    }
    return nullptr;
}

void close_slot(Slot& slot)
{
    if (pg_atomic_read_u64(&slot.word) != closed_word) {
        slot.word_before = pg_atomic_exchange_u64(&slot.word, closed_word);
    }
}

// The last moment of the tick of a word; the end of the lease for a layout with a back field, whose
// ticks may have been later before.
int64_t last_moment(const Slot& slot, int64_t lease_end_us)
{
    const SlotKey& key = slot.key;
    if (slot.word_before == 0) {
        return 0;
    }
    if (key.back_bits > 0) {
        return lease_end_us - 1;
    }
    const uint64_t tick = slot_tick(key, slot.word_before);
    return key.epoch_us + static_cast<int64_t>(tick + 1) * key.tick_us - 1;
}

bool has_row(Oid catalog, AttrNumber column, Oid value)
{
    ScanKeyData key;
    ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
    Relation relation = table_open(catalog, AccessShareLock);
    SysScanDesc scan =
        systable_beginscan(relation, InvalidOid, false, nullptr, column == 0 ? 0 : 1, &key);
    const bool found = HeapTupleIsValid(systable_getnext(scan));
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
    return found;
}

bool takes_part_in_replication()
{
    return has_row(PublicationRelationId, 0, InvalidOid) ||
           has_row(SubscriptionRelationId, Anum_pg_subscription_subdbid, MyDatabaseId);
}

} // namespace

Lease* lease_want(uint32_t node, uint32_t max_node, bool or_none)
{
    (void)shared_leases();
    Lease* lease = locked(LW_SHARED, [&] { return find(node, max_node); });
    if (lease == nullptr) {
        lease = locked(LW_EXCLUSIVE, [&] {
            Lease* found = find(node, max_node);
            return found != nullptr ? found : take(node, max_node);
        });
    }
    if (lease == nullptr && !or_none) {
        ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("all %d leases of the server are taken", max_leases),
                errdetail("Every node that its databases use takes one."),
                errhint("Use fewer nodes. A lease that was not used for an hour is given back."));
    }
    return lease;
}

LeaseView lease_view(Lease* lease, uint32_t wanted)
{
    pg_atomic_write_u64(&lease->used_at, static_cast<uint64_t>(steady_us()));
    return locked(LW_SHARED, [&] {
        const uint64_t end_us = pg_atomic_read_u64(&lease->end_us);
        const bool same = lease->in_use && lease->wanted == wanted;
        return LeaseView{same,
                         same && end_us != 0,
                         lease->node,
                         lease->start_us,
                         static_cast<int64_t>(end_us),
                         lease->last_end_us};
    });
}

bool lease_open(Lease* lease, const LeaseView& view, Slot* slot, uint64_t first_word)
{
    if (slot->node != view.node) {
        return false;
    }
    if (pg_atomic_read_u64(&slot->word) != closed_word) {
        return true;
    }
    return locked(LW_EXCLUSIVE, [&] {
        const bool held = pg_atomic_read_u64(&lease->end_us) != 0 && lease->node == view.node &&
                          lease->start_us == view.start_us;
        if (held && !slot->yielded && pg_atomic_read_u64(&slot->word) == closed_word) {
            pg_atomic_write_u64(&slot->word, Max(first_word, slot->word_before + 1));
        }
        return held;
    });
}

void keeper_call()
{
    const LeaseTable* table = shared_leases();
    const bool kept = locked(LW_SHARED, [&] {
        if (table->keeper_pid != 0) {
            SetLatch(table->keeper_latch);
        }
        return table->keeper_pid != 0;
    });
    if (!kept) {
        keeper_start();
    }
}

void lease_call(Lease* lease)
{
    pg_atomic_write_u64(&lease->used_at, static_cast<uint64_t>(steady_us()));
    keeper_call();
}

bool lease_failing(const Lease* lease)
{
    return locked(LW_SHARED, [&] { return lease->failing; });
}

const char* lease_error(const Lease* lease)
{
    auto* text = static_cast<char*>(palloc0(lease_error_size));
    const LeaseTable* table = shared_leases();
    return locked(LW_SHARED, [&] {
        if (lease->failing) {
            strlcpy(text, table->errors[index_of(lease) % lease_error_count], lease_error_size);
        }
        return text;
    });
}

const char* lease_coordinator()
{
    auto* text = static_cast<char*>(palloc0(coordinator_name_size));
    const LeaseTable* table = shared_leases();
    return locked(LW_SHARED, [&] {
        strlcpy(text, table->coordinator, coordinator_name_size);
        return text;
    });
}

void lease_begin_force()
{
    LeaseTable* table = shared_leases();
    locked(LW_EXCLUSIVE, [&] {
        if (pg_atomic_exchange_u32(&table->in_force, 1) == 0) {
            uint32_t count;
            Slot* slots = taken_slots(&count);
            for (uint32_t i = 0; i < count; i++) {
                close_slot(slots[i]);
            }
        }
        return true;
    });
}

// One word is left out, so that a swap from before the slot was closed fails.
void lease_end_force()
{
    LeaseTable* table = shared_leases();
    locked(LW_EXCLUSIVE, [&] {
        pg_atomic_write_u32(&table->in_force, 0);
        uint32_t count;
        Slot* slots = taken_slots(&count);
        for (uint32_t i = 0; i < count; i++) {
            if (!slots[i].yielded && pg_atomic_read_u64(&slots[i].word) == closed_word) {
                pg_atomic_write_u64(&slots[i].word, slots[i].word_before + 1);
            }
        }
        return true;
    });
}

void lease_grant(Lease* lease, uint32_t node, const unsigned char* token, int64_t start_us,
                 int64_t end_us)
{
    locked(LW_EXCLUSIVE, [&] {
        lease->node = node;
        lease->start_us = start_us;
        lease->last_end_us = end_us;
        memcpy(lease->token, token, sizeof lease->token);
        lease->failing = false;
        pg_write_barrier();
        pg_atomic_write_u64(&lease->end_us, static_cast<uint64_t>(end_us));
        return true;
    });
}

void lease_extend(Lease* lease, int64_t end_us)
{
    locked(LW_EXCLUSIVE, [&] {
        lease->last_end_us = end_us;
        lease->failing = false;
        pg_atomic_write_u64(&lease->end_us, static_cast<uint64_t>(end_us));
        return true;
    });
}

int64_t lease_close(Lease* lease)
{
    return locked(LW_EXCLUSIVE, [&] {
        const auto end_us = static_cast<int64_t>(pg_atomic_exchange_u64(&lease->end_us, 0));
        int64_t last_us = lease->start_us;
        uint32_t count;
        Slot* slots = taken_slots(&count);
        for (uint32_t i = 0; i < count; i++) {
            if (slots[i].node == lease->node) {
                close_slot(slots[i]);
                last_us = Max(last_us, last_moment(slots[i], end_us));
            }
        }
        lease->last_end_us = Min(lease->last_end_us, wall_us());
        return last_us;
    });
}

void lease_forget(Lease* lease)
{
    locked(LW_EXCLUSIVE, [&] {
        lease->in_use = false;
        return true;
    });
}

void lease_set_error(Lease* lease, const char* error)
{
    LeaseTable* table = shared_leases();
    locked(LW_EXCLUSIVE, [&] {
        lease->failing = true;
        strlcpy(table->errors[index_of(lease) % lease_error_count], error, lease_error_size);
        return true;
    });
}

void warn_of_replication()
{
    static bool warned;
    if (warned || !settings.node.by_default || IsParallelWorker() || !takes_part_in_replication()) {
        return;
    }
    warned = true;
    ereport(
        WARNING,
        errmsg("this database takes part in logical replication, and its node is the default"),
        errdetail("Servers with the same node make the same ids."),
        errhint("Give every server a node of its own with flakeid.node, or let flakeid.coordinator "
                "hand them out."));
}

} // namespace flakeid
