// The generators of the server: one slot for every combination of layout and node.
//
// Locking: AddinShmemInitLock is held to take a slot, to let one yield, for leases (lease.hpp) and
// for settled marks (settled.hpp); it guards Slot from `database` on. No lock: the index, where a
// place is written once, after its slot; `key` and `node`, which never change; `word` and
// `most_ahead`, which are atomic; `yielded`, where the word is closed_word.
//
// Nobody who draws holds anything, so a session may stop for any time, or die, between two lines:
//   1. It read a word, and another session draws it: its swap fails, and it looks again.
//   2. It read a word, and the slot is closed: the same, since closed_word stands there.
//   3. It swapped just before the slot is closed: close_word() returns that word, and whatever
//      begins after it (a lease, a layout that comes first) begins past it.
//   4. It read a word, and the slot is closed and opened again: opening_word() lies past all words
//      from before, so its swap fails.
//   5. The server forgets all memory after a crash: all slots are gone, and the horizon says where
//      words begin (horizon.hpp).
#pragma once

#include "core/layout.hpp"
#include "core/overlap.hpp"
#include "core/presets.hpp"
#include "core/step.hpp"
#include "server/postgres.hpp"
#include "server/shared.hpp"

namespace flakeid {

// What tells one generator from another. Fields' names and the cipher are left out, and so is the
// width of the time where it is the highest field: such ids are the same.
struct SlotKey {
    uint64_t node; // in its place in the raw id
    int64_t tick_us;
    int64_t epoch_us;
    uint8_t time_bits, time_shift; // 0 bits: up to the highest
    uint8_t sequence_bits, sequence_shift;
    uint8_t back_bits, back_shift;
    uint8_t unused[2];
};

constexpr int slot_layout_size = 160; // longer texts are cut

// The state of one generator. Processors fetch cache lines in pairs: no two slots share one.
struct alignas(128) Slot {
    pg_atomic_uint64 word; // Word issued last, no_word since the server's start, or closed_word
    pg_atomic_uint64
        most_ahead; // ticks: the largest max_ahead of those who drew ahead of the clock
    SlotKey key;
    uint32_t node;
    // AddinShmemInitLock guards what follows. `yielded` is also read without it, where the word is
    // closed_word.
    Oid database;     // that took it, the first one that did so as configured if any did
    Word word_before; // of a closed slot: `word` before
    Word settled;     // slots of the layout that are opened from now on begin past this word
    bool configured;  // by flakeid.layout, rather than by layouts that were named in a call
    bool yielded;     // closed for ever, because a configured layout can make the same ids
    char layout[slot_layout_size]; // for messages
};

// Nothing is issued from a slot whose word this is. Only layouts without a node have such a word,
// as their very last one.
constexpr Word closed_word = highest_word;

// Puts `word` in the place of *last. False, and *last is what stands there, when that is another.
inline bool swap_word(Slot& slot, Word* last, Word word)
{
    uint64_t expected = word_number(*last);
    const bool swapped = pg_atomic_compare_exchange_u64(&slot.word, &expected, word_number(word));
    *last = Word{expected};
    return swapped;
}

// Closes the slot, and returns the word that stood there.
inline Word close_word(Slot& slot)
{
    return Word{pg_atomic_exchange_u64(&slot.word, word_number(closed_word))};
}

static_assert(sizeof(Slot) == 256, "a slot is two pairs of cache lines");

// Ordinary roles can take a slot for every preset and first node of a database, whatever they do:
// other layouts are for superusers (generator.cpp), and further nodes of spans leave the spare
// slots alone. So nobody can take the room of another.
constexpr int spare_slots = preset_count * max_databases;
constexpr int max_slots = 2 * spare_slots;

void slots_init();

// Returns the number that is not 0 while slots are opened for leases only. The lease worker sets
// it, under the lock.
pg_atomic_uint32* leases_in_force();

struct SlotWanted {
    const Layout* layout;
    const char* name; // of the layout, for messages
    uint32_t node;
    bool configured;   // flakeid.layout
    bool further_node; // of a span
};

// Returns the slot of a layout and node, for as long as the server runs. nullptr when only spare
// ones are left for a further node. An error when all are taken, or when another layout that can
// make the same ids comes first: flakeid.layout of some database comes before a layout that is only
// named in calls, and otherwise the earlier one comes first.
Slot* take_slot(const SlotWanted& wanted);

// Returns how many nodes of a span have a slot, or can have one.
uint32_t slots_for_span(const Layout& layout, uint32_t first_node, uint32_t last_node);

// There is no slot for a node of a span that the caller named.
[[noreturn]] void throw_no_room_for_span();

// Returns all slots that were taken, in their order.
Slot* taken_slots(uint32_t* count);

// Returns the tick of a word of the slot, without its back count.
Tick slot_tick(const SlotKey& key, Word word);

// Returns how far the word that is furthest ahead of the wall clock lies ahead of it.
int64_t furthest_ahead_us(int64_t now_us);

SlotKey slot_key(const Layout& layout, uint32_t node);

// Tells whether both make the ids of one layout, each for its node.
bool same_layout(const SlotKey& a, const SlotKey& b);

// Returns the word that counts as issued last when a slot of this layout is opened: flake_settled()
// may have promised that none is issued up to there. AddinShmemInitLock must be held.
Word settled_word(const SlotKey& key);

// Returns settled_word() for a closed slot, and one word more, so that a swap from before it was
// closed fails.
Word opening_word(const Slot& slot);

// Tells whether two layouts share their slots, node by node.
bool same_slots(const Layout& a, const Layout& b);

static_assert(is_plain<SlotKey, Slot, SlotWanted>);

} // namespace flakeid
