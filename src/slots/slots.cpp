#include "slots/slots.hpp"

#include "core/step.hpp"
#include "server/messages.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace flakeid {

namespace {

constexpr int index_size = 2 * max_slots;

struct SlotTable {
    pg_atomic_uint32 leases_in_force;
    pg_atomic_uint32 count;
    pg_atomic_uint32 index[index_size]; // by hash of the key: number of the slot + 1
    Slot slots[max_slots];
};
static_assert(is_plain<SlotTable>);

void create(SlotTable* table)
{
    pg_atomic_init_u32(&table->leases_in_force, 0);
    pg_atomic_init_u32(&table->count, 0);
    for (pg_atomic_uint32& place : table->index) {
        pg_atomic_init_u32(&place, 0);
    }
}

Shared<SlotTable, create> shared;

constexpr char cut[] = "...";

bool same_key(const SlotKey& a, const SlotKey& b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

IdBits bits_of_key(const SlotKey& key)
{
    IdBits bits{};
    bits.tick_us = key.tick_us;
    bits.epoch_us = key.epoch_us;
    bits.time_shift = key.time_shift;
    bits.fixed = key.node;
    const int time_bits = key.time_bits == 0 ? word_bits - key.time_shift : key.time_bits;
    bits.varying = low_mask(time_bits) << key.time_shift |
                   low_mask(key.sequence_bits) << key.sequence_shift |
                   low_mask(key.back_bits) << key.back_shift;
    return bits;
}

uint32_t first_place(const SlotKey& key)
{
    return hash_bytes(reinterpret_cast<const unsigned char*>(&key), sizeof key) % index_size;
}

// The slot of a key, or nullptr and the place of the index where it belongs.
Slot* find(SlotTable& table, const SlotKey& key, uint32_t* place)
{
    for (*place = first_place(key);; *place = (*place + 1) % index_size) {
        const uint32_t number = pg_atomic_read_u32(&table.index[*place]);
        if (number == 0) {
            return nullptr;
        }
        pg_read_barrier();
        Slot& slot = table.slots[number - 1];
        if (same_key(slot.key, key)) {
            return &slot;
        }
    }
}

// A named layout gives way to a configured one where all that it made lies below one tick. With a
// back field ticks come again, and with another epoch they come at another time.
bool gives_way(const Slot& other, const SlotWanted& wanted)
{
    return wanted.configured && !other.configured && other.key.back_bits == 0 &&
           wanted.layout->back_bits == 0 && other.key.epoch_us == wanted.layout->epoch_us;
}

// The first slot that can make ids of `bits` too and does not give way, or nullptr. One that has
// yielded to another slot made some.
Slot* in_the_way(SlotTable& table, const SlotKey& key, const IdBits& bits, const SlotWanted& wanted)
{
    Assert(LWLockHeldByMe(AddinShmemInitLock));
    const uint32_t taken = pg_atomic_read_u32(&table.count);
    for (uint32_t i = 0; i < taken; i++) {
        Slot& other = table.slots[i];
        if (!same_key(other.key, key) && can_overlap(bits_of_key(other.key), bits) &&
            !gives_way(other, wanted)) {
            return &other;
        }
    }
    return nullptr;
}

// Closes every slot that gives way, so that a swap in flight fails. Returns the last word of
// `shape` in the last tick that one was issued in, those included that were closed for other nodes.
Word close_others(SlotTable& table, const SlotKey& key, const IdBits& bits, const WordShape& shape)
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    Word last = no_word;
    const uint32_t taken = pg_atomic_read_u32(&table.count);
    for (uint32_t i = 0; i < taken; i++) {
        Slot& other = table.slots[i];
        if (same_key(other.key, key) || !can_overlap(bits_of_key(other.key), bits)) {
            continue;
        }
        other.yielded = true;
        const Word word = close_word(other);
        const Word issued = word == closed_word ? other.word_before : word;
        other.word_before = issued;
        if (issued != no_word) {
            // A tick of the other layout may hold several of this one, or only a part.
            const int64_t end_us =
                (static_cast<int64_t>(slot_tick(other.key, issued)) + 1) * other.key.tick_us - 1;
            const auto tick = static_cast<Tick>(end_us / key.tick_us);
            last = std::max(last, last_of_tick(shape, 0, std::min(tick, shape.max_tick)));
        }
    }
    return last;
}

void sign(Slot& slot, const SlotWanted& wanted)
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    slot.configured = wanted.configured;
    slot.database = MyDatabaseId;
    if (strlcpy(slot.layout, wanted.name, slot_layout_size) >= slot_layout_size) {
        strcpy(slot.layout + slot_layout_size - sizeof cut, cut);
    }
}

// A new slot, from which words above `last` are issued, which may be as far ahead as in others of
// the layout.
Slot* add(SlotTable& table, const SlotKey& key, uint32_t place, const SlotWanted& wanted, Word last)
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    const uint32_t number = pg_atomic_read_u32(&table.count);
    Assert(number < max_slots && pg_atomic_read_u32(&table.index[place]) == 0);
    Slot& slot = table.slots[number];
    const bool leased = pg_atomic_read_u32(leases_in_force()) != 0;
    pg_atomic_init_u64(&slot.word, word_number(leased ? closed_word : last));
    pg_atomic_init_u64(&slot.most_ahead, 0);
    for (uint32_t i = 0; i < number; i++) {
        if (same_layout(table.slots[i].key, key)) {
            raise_to(&slot.most_ahead, pg_atomic_read_u64(&table.slots[i].most_ahead));
        }
    }
    slot.key = key;
    slot.node = wanted.node;
    slot.word_before = last;
    slot.settled = no_word;
    slot.yielded = false;
    sign(slot, wanted);
    pg_write_barrier();
    pg_atomic_write_u32(&table.index[place], number + 1);
    pg_atomic_write_u32(&table.count, number + 1);
    return &slot;
}

[[noreturn]] void throw_in_the_way(const Slot& other, const SlotWanted& wanted)
{
    const char* database = get_database_name(other.database);
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("layout \"%s\" on node %u can make the same ids as layout \"%s\" on node %u",
                   wanted.name, wanted.node, other.layout, other.node),
            database != nullptr
                ? errdetail("Database \"%s\" generated with that one since the server's start.",
                            database)
                : errdetail("A database that was dropped generated with that one since the "
                            "server's start."),
            wanted.configured
                ? errhint("Give one of them another node or an epoch at least a year away.")
                : errhint("Use a layout whose epoch lies at least a year away."));
}

[[noreturn]] void throw_all_taken()
{
    ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
            errmsg("all %d generators of the server are taken", max_slots),
            errdetail("Every combination of layout and node that was used since the server's start "
                      "takes one."),
            errhint("Use fewer layouts and nodes, and restart the server."));
}

} // namespace

SlotKey slot_key(const Layout& layout, uint32_t node)
{
    SlotKey key{};
    key.node = place_node(layout, node);
    key.tick_us = layout.tick_us;
    key.epoch_us = layout.epoch_us;
    const bool time_on_top = layout.fields[0].kind == FieldKind::time && layout.back_bits == 0;
    key.time_bits = time_on_top ? 0 : layout.time_bits;
    key.time_shift = layout.time_shift;
    key.sequence_bits = word_shape(layout).sequence_bits;
    key.sequence_shift = layout.sequence_shift;
    key.back_bits = layout.back_bits;
    key.back_shift = layout.back_shift;
    return key;
}

bool same_layout(const SlotKey& a, const SlotKey& b)
{
    SlotKey other = b;
    other.node = a.node;
    return same_key(a, other);
}

Word settled_word(const SlotKey& key)
{
    Word settled = no_word;
    uint32_t count;
    const Slot* slots = taken_slots(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (same_layout(slots[i].key, key)) {
            settled = std::max(settled, slots[i].settled);
        }
    }
    return settled;
}

Word opening_word(const Slot& slot)
{
    return std::max(slot.word_before, settled_word(slot.key)) + 1;
}

pg_atomic_uint32* leases_in_force()
{
    return &shared.get()->leases_in_force;
}

void slots_init()
{
    shared.add();
}

void throw_no_room_for_span()
{
    ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
            errmsg("all %d generators that the nodes of spans may have are taken",
                   max_slots - spare_slots),
            errdetail("Every combination of layout and node that was used since the server's start "
                      "takes one."),
            errhint("Spread the nodes over several servers, or restart the server."));
}

Tick slot_tick(const SlotKey& key, Word word)
{
    const uint64_t tick = word_number(word) >> key.sequence_bits;
    return Tick{key.time_bits > 0 ? tick & low_mask(key.time_bits) : tick};
}

Slot* take_slot(const SlotWanted& wanted)
{
    SlotTable& table = *shared.get();
    const SlotKey key = slot_key(*wanted.layout, wanted.node);
    uint32_t place;
    Slot* slot = find(table, key, &place);
    if (slot != nullptr && !slot->yielded && (slot->configured || !wanted.configured)) {
        return slot;
    }
    const IdBits bits = bits_of_key(key);
    const uint32_t room = max_slots - (wanted.further_node ? spare_slots : 0);
    const Slot* other = nullptr;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    slot = find(table, key, &place);
    const bool full = slot == nullptr && pg_atomic_read_u32(&table.count) >= room;
    if (slot != nullptr && !slot->yielded) {
        // Whatever can make the same ids was refused, or yielded, when one of the two was taken.
        if (wanted.configured && !slot->configured) {
            sign(*slot, wanted);
        }
    } else if (!full) {
        other = in_the_way(table, key, bits, wanted);
        if (other == nullptr) {
            const WordShape shape = word_shape(*wanted.layout);
            const Word last = close_others(table, key, bits, shape);
            slot = add(table, key, place, wanted, std::max(last, settled_word(key)));
        }
    }
    LWLockRelease(AddinShmemInitLock);
    if (other != nullptr) {
        throw_in_the_way(*other, wanted);
    }
    if (full && !wanted.further_node) {
        throw_all_taken();
    }
    return full ? nullptr : slot;
}

uint32_t slots_for_span(const Layout& layout, uint32_t first_node, uint32_t last_node)
{
    SlotKey key = slot_key(layout, 0);
    uint32_t count;
    const Slot* slots = taken_slots(&count);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = slots[i].node;
        if (node >= first_node && node <= last_node && !slots[i].yielded) {
            key.node = slots[i].key.node;
            taken += same_key(slots[i].key, key) ? 1 : 0;
        }
    }
    const uint32_t room = max_slots - spare_slots;
    return std::max<uint32_t>(1, taken + (count < room ? room - count : 0));
}

Slot* taken_slots(uint32_t* count)
{
    SlotTable* table = shared.get();
    *count = pg_atomic_read_u32(&table->count);
    pg_read_barrier();
    return table->slots;
}

int64_t furthest_ahead_us(int64_t now_us)
{
    int64_t ahead = PG_INT64_MIN;
    uint32_t count;
    Slot* slots = taken_slots(&count);
    for (uint32_t i = 0; i < count; i++) {
        const SlotKey& key = slots[i].key;
        const Word word{pg_atomic_read_u64(&slots[i].word)};
        const Tick tick = word == closed_word ? Tick{0} : slot_tick(key, word);
        if (tick > Tick{0}) {
            const int64_t start = static_cast<int64_t>(tick) * key.tick_us + key.epoch_us;
            ahead = std::max(ahead, start - now_us);
        }
    }
    return ahead;
}

bool same_slots(const Layout& a, const Layout& b)
{
    return same_layout(slot_key(a, 0), slot_key(b, 0));
}

} // namespace flakeid
