// Until when this server may stamp ids with a node: without a coordinator for ever, with one inside
// its tenure of the node, which a lease gives. This is all that rooms outside of src/leases know of
// leases; src/leases/holder answers. A generator asks what stands in the first part.
//
// What a draw may rely on, and who keeps it:
//   start_us <= stamp of every id < end_us      the draw, with first_tick and last_tick
//   end_us only rises while a tenure is held    the lease worker; another start is another tenure
//   end_us is 0 before a slot is closed, and a slot is closed before its node is given back: so a
//   swap from before fails, and who swapped asks again whether his tenure holds.
#pragma once

#include "slots/slots.hpp"

namespace flakeid {

constexpr uint32_t any_node = UINT32_MAX;

struct Lease; // an entry of the lease worker's table

struct Tenure {
    bool same; // false: nobody wanted it for long, and the entry is another node's now
    bool held;
    uint32_t node;  // that is or was held, the first one
    uint32_t nodes; // how many, from that one on
    int64_t start_us, end_us;
    int64_t last_end_us;         // 0: none was held
    const pg_atomic_uint64* end; // `end_us` as it is at any moment; 0: not held
};

// ---- The draw's part.

// Asks for a node, or for any_node up to max_node. When all entries are taken, it is an error, or
// nullptr with `or_none`.
Lease* tenure_want(uint32_t node, uint32_t max_node, bool or_none);

// Returns the tenure as it is now.
Tenure tenure_view(Lease* lease, uint32_t wanted, uint32_t max_node);

// Opens the slot of a tenure that was viewed as held. False when it is not held any more: view
// again.
bool tenure_open(Lease* lease, const Tenure& tenure, Slot* slot, Word first_word);

// Tells whether the last attempt to get or prolong it failed.
bool tenure_failing(const Lease* lease);

// Tells of a tenure of any node whether its ids lie further ahead of the clock than sessions draw,
// so that another node serves at once.
bool tenure_left_ahead(Lease* lease, int64_t now_us);

// Wakes who takes leases, or starts him.
void tenure_call();

// The tenure of a generator's node, as its limits were made from it.
struct HeldTenure {
    Lease* entry;                // nullptr: there is no coordinator
    const pg_atomic_uint64* end; // Tenure::end
    int64_t end_us;              // 0: not held
    Tick first_tick, last_tick;  // that lie in it as a whole
    uint32_t wanted_node;        // the node, or any_node
    // That any_node may become: of flakeid.layout, so that naming another one takes no lease.
    uint32_t max_node;
    pg_atomic_uint32* in_force; // not 0: there are leases
};

// Tells whether the tenure is held as the limits have it, and the slot is open. To be asked after
// the word was read, so that a word and limits of two tenures never come together.
inline bool tenure_holds(const HeldTenure& tenure, Word word)
{
    pg_read_barrier();
    return word != closed_word && tenure.end_us != 0 &&
           pg_atomic_read_u64(const_cast<pg_atomic_uint64*>(tenure.end)) ==
               static_cast<uint64_t>(tenure.end_us);
}

// Tells whether leases began after a generator without one was made. To be asked after a word was
// swapped in: then the word counts for nothing.
inline bool leases_began(const HeldTenure& tenure)
{
    return pg_atomic_read_u32(tenure.in_force) != 0;
}

// ---- What people are told.

// In two forms: ordinary roles are told the kind of trouble, the log and members of pg_monitor all.
struct TenureReasons {
    const char* for_user;
    const char* for_log;
    const char* hint; // nullptr: it passes by itself
};
TenureReasons tenure_reasons(const Lease* lease); // why it is not held or not prolonged
TenureReasons tenure_grantor();                   // what a message calls the coordinator

// Returns how many nodes of a span this server has, or may ask for.
uint32_t tenure_nodes(uint32_t first_node, uint32_t last_node);

// Gives `row` a line of flakeid.status each. `until_us` 0: none ends it.
using TenureRow = void (*)(void* to, const char* name, const char* value, int64_t until_us);
void tenure_tell(TenureRow row, void* to);

// ---- Settings, dumps and the server's start.

// Takes over what a dump says of the leases that its database handed out.
void tenure_restore_hold(int64_t hold_s);
void tenure_restore_term(int64_t number);

// Adds the part of the shared memory; starts the lease worker with a preloaded server.
void tenure_init();
void tenure_start();

static_assert(is_plain<Tenure, HeldTenure, TenureReasons>);

} // namespace flakeid
