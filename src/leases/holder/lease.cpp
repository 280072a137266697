#include "leases/holder/lease.hpp"

#include "durable/server_horizon.hpp"
#include "server/clock.hpp"
#include "server/shared.hpp"
#include "settings/settings.hpp"
#include "slots/slots.hpp"
#include "server/stats.hpp"

namespace flakeid {

namespace {

void create(LeaseTable* table)
{
    for (LeaseText& text : table->texts) {
        text.lease = -1;
    }
    for (Lease& lease : table->leases) {
        pg_atomic_init_u64(&lease.end_us, 0);
        pg_atomic_init_u64(&lease.used_at, 0);
    }
}

Shared<LeaseTable, create> shared;

// The largest node counts only where any will do.
bool wants(const Lease& lease, uint32_t node, uint32_t max_node)
{
    return lease.wanted == node && (node != any_node || lease.max_node == max_node);
}

Lease* find(uint32_t node, uint32_t max_node)
{
    Assert(LWLockHeldByMe(AddinShmemInitLock));
    for (Lease& lease : shared_leases()->leases) {
        if (lease.in_use && wants(lease, node, max_node)) {
            return &lease;
        }
    }
    return nullptr;
}

// An entry that is not in use. One that was wanted for the same before is preferred: it knows its
// node.
Lease* take(uint32_t node, uint32_t max_node)
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    Lease* taken = nullptr;
    for (Lease& lease : shared_leases()->leases) {
        if (!lease.in_use && (taken == nullptr || wants(lease, node, max_node))) {
            taken = &lease;
        }
    }
    if (taken != nullptr) {
        const bool again = node == any_node && wants(*taken, node, max_node);
        Assert(pg_atomic_read_u64(&taken->end_us) == 0);
        pg_atomic_write_u64(&taken->used_at, static_cast<uint64_t>(steady_now()));
        taken->start_us = taken->last_end_us = 0;
        taken->previous = again ? taken->previous : any_node;
        taken->wanted = taken->node = node;
        taken->nodes = 1;
        taken->max_node = max_node;
        taken->trouble = Trouble::none;
        taken->in_use = true;
    }
    return taken;
}

void close_slot(Slot& slot)
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    if (Word{pg_atomic_read_u64(&slot.word)} != closed_word) {
        slot.word_before = close_word(slot);
    }
}

bool has_node(uint32_t first, uint32_t nodes, uint32_t node)
{
    return node >= first && node - first < nodes; // same with <=: that slot opens again
}

// The last moment of the tick of a slot's word. For a layout with a back field it is the end of the
// lease, since earlier words may have had later ticks.
int64_t last_moment(const Slot& slot, int64_t lease_end_us)
{
    const SlotKey& key = slot.key;
    if (slot.word_before == no_word) {
        return 0;
    }
    if (key.back_bits > 0) {
        return lease_end_us - 1;
    }
    const Tick tick = slot_tick(key, slot.word_before);
    return key.epoch_us + static_cast<int64_t>(tick + 1) * key.tick_us - 1;
}

} // namespace

void tenure_init()
{
    shared.add();
}

LeaseTable* shared_leases()
{
    return shared.get();
}

Lease* tenure_want(uint32_t node, uint32_t max_node, bool or_none)
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

uint32_t tenure_nodes(uint32_t first_node, uint32_t last_node)
{
    LeaseTable* table = shared_leases();
    return locked(LW_SHARED, [&] {
        uint32_t known = 0;
        uint32_t held = 0;
        uint32_t room = 0;
        for (Lease& lease : table->leases) {
            const bool ours =
                lease.in_use && lease.wanted >= first_node && lease.wanted <= last_node;
            known += ours ? 1 : 0;
            held += ours && lease.trouble != Trouble::in_use ? 1 : 0;
            room += lease.in_use ? 0 : 1;
        }
        return held + std::min(room, last_node - first_node + 1 - known);
    });
}

Tenure tenure_view(Lease* lease, uint32_t wanted, uint32_t max_node)
{
    lease_touch(lease); // same without: it is wanted again
    return locked(LW_SHARED, [&] {
        const uint64_t end_us = pg_atomic_read_u64(&lease->end_us);
        const bool same = lease->in_use && wants(*lease, wanted, max_node);
        return Tenure{same,
                      same && end_us != 0,
                      lease->node,
                      lease->nodes,
                      lease->start_us,
                      static_cast<int64_t>(end_us),
                      lease->last_end_us,
                      &lease->end_us};
    });
}

bool tenure_open(Lease* lease, const Tenure& view, Slot* slot, Word first_word)
{
    if (!has_node(view.node, view.nodes, slot->node)) {
        return false;
    }
    if (Word{pg_atomic_read_u64(&slot->word)} != closed_word) {
        return true;
    }
    return locked(LW_EXCLUSIVE, [&] {
        // same if true: lease_holds() is asked after it
        const bool held = pg_atomic_read_u64(&lease->end_us) != 0 && lease->node == view.node &&
                          lease->nodes == view.nodes && lease->start_us == view.start_us;
        if (held && !slot->yielded && Word{pg_atomic_read_u64(&slot->word)} == closed_word) {
            const Word word = std::max(first_word, opening_word(*slot));
            Assert(word > slot->word_before && word != closed_word);
            pg_atomic_write_u64(&slot->word, word_number(word));
        }
        return held;
    });
}

bool tenure_left_ahead(Lease* lease, int64_t now_us)
{
    const int64_t most_ahead_us = server_most_ahead_us();
    const int64_t furthest_us = now_us + most_ahead_us + max_generated_tick_us;
    auto lies_past = [&](const SlotKey& key, Word word) {
        const auto tick = static_cast<int64_t>(tick_number(slot_tick(key, word)));
        return key.epoch_us + tick * key.tick_us > furthest_us; // same with >=: a microsecond
    };
    return locked(LW_SHARED, [&] {
        uint32_t count;
        Slot* slots = taken_slots(&count);
        return lease->wanted == any_node && pg_atomic_read_u64(&lease->end_us) != 0 &&
               // same with <: a microsecond
               lease->start_us <= furthest_us && std::any_of(slots, slots + count, [&](Slot& slot) {
                   const Word word{pg_atomic_read_u64(&slot.word)};
                   return has_node(lease->node, lease->nodes, slot.node) && word != closed_word &&
                          lies_past(slot.key, word) && !lies_past(slot.key, settled_word(slot.key));
               });
    });
}

void lease_touch(Lease* lease)
{
    pg_atomic_write_u64(&lease->used_at, static_cast<uint64_t>(steady_now()));
}

bool tenure_failing(const Lease* lease)
{
    return locked(LW_SHARED, [&] { return lease->trouble != Trouble::none; });
}

void lease_begin_force()
{
    locked(LW_EXCLUSIVE, [&] {
        if (pg_atomic_exchange_u32(leases_in_force(), 1) == 0) {
            uint32_t count;
            Slot* slots = taken_slots(&count);
            for (uint32_t i = 0; i < count; i++) {
                // same without: a second guard
                close_slot(slots[i]); // whoever draws looks at leases_in_force() too
            }
        }
    });
}

void lease_end_force()
{
    locked(LW_EXCLUSIVE, [&] {
        pg_atomic_write_u32(leases_in_force(), 0);
        uint32_t count;
        Slot* slots = taken_slots(&count);
        for (uint32_t i = 0; i < count; i++) {
            if (!slots[i].yielded && Word{pg_atomic_read_u64(&slots[i].word)} == closed_word) {
                pg_atomic_write_u64(&slots[i].word, word_number(opening_word(slots[i])));
            }
        }
    });
}

void lease_resume(Lease* lease, const Grant& grant, int64_t stamped_us)
{
    locked(LW_EXCLUSIVE, [&] {
        Assert(lease->in_use && pg_atomic_read_u64(&lease->end_us) == 0);
        Assert(grant.start_us < grant.end_us);
        lease->node = grant.node;
        lease->nodes = grant.nodes;
        lease->start_us = grant.start_us;
        lease->last_end_us = grant.end_us;
        lease->previous = grant.node;
        lease->stamped_us = stamped_us;
        memcpy(lease->token, grant.token, sizeof lease->token);
        lease->trouble = Trouble::none;
        pg_write_barrier();
        pg_atomic_write_u64(&lease->end_us, static_cast<uint64_t>(grant.end_us));
    });
}

void lease_grant(Lease* lease, const Grant& grant, int64_t stamped_us)
{
    lease_resume(lease, grant, stamped_us);
    lease_note_answer();
    count(Counter::lease_grants);
}

void lease_extend(Lease* lease, int64_t end_us)
{
    locked(LW_EXCLUSIVE, [&] {
        Assert(end_us >= static_cast<int64_t>(pg_atomic_read_u64(&lease->end_us)));
        lease->last_end_us = end_us;
        lease->trouble = Trouble::none;
        pg_atomic_write_u64(&lease->end_us, static_cast<uint64_t>(end_us));
    });
    lease_note_answer();
    count(Counter::lease_renewals);
}

int64_t lease_close(Lease* lease)
{
    return locked(LW_EXCLUSIVE, [&] {
        const auto end_us = static_cast<int64_t>(pg_atomic_exchange_u64(&lease->end_us, 0));
        // same without + 1: a microsecond
        int64_t last_us = std::max(lease->start_us, std::min(lease->stamped_us + 1, end_us)) - 1;
        uint32_t count;
        Slot* slots = taken_slots(&count);
        for (uint32_t i = 0; i < count; i++) {
            if (has_node(lease->node, lease->nodes, slots[i].node)) {
                close_slot(slots[i]);
                last_us = std::max(last_us, last_moment(slots[i], end_us));
            }
        }
        // same with max: only messages tell it
        lease->last_end_us = std::min(lease->last_end_us, wall_us());
        return last_us;
    });
}

void lease_forget(Lease* lease)
{
    locked(LW_EXCLUSIVE, [&] { lease->in_use = false; });
}

bool lease_drew(uint32_t node, uint32_t nodes)
{
    return locked(LW_SHARED, [&] {
        uint32_t count;
        Slot* slots = taken_slots(&count);
        return std::any_of(slots, slots + count, [&](Slot& slot) {
            const Word word{pg_atomic_read_u64(&slot.word)};
            return has_node(node, nodes, slot.node) &&
                   (word == closed_word ? slot.word_before : word) != no_word;
        });
    });
}

uint64_t lease_words(const Lease* lease)
{
    uint64_t sum = 0;
    uint32_t count;
    Slot* slots = taken_slots(&count);
    for (uint32_t i = 0; i < count; i++) {
        sum += has_node(lease->node, lease->nodes, slots[i].node)
                   ? pg_atomic_read_u64(&slots[i].word)
                   : 0;
    }
    return sum;
}

} // namespace flakeid
