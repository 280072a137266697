// What flakeid keeps of a database whatever happens: one row of numbers in flakeid.state.
//
// flakeid.state is a materialized view, because the server itself refuses everybody else's writes
// to one: INSERT, UPDATE, TRUNCATE, publications and subscriptions do not reach it, and pg_dump
// leaves it out. The library changes its row in place, by generic WAL records, which need no
// transaction. So what it wrote stays when a transaction is rolled back. What copies the row
// (VACUUM FULL, a tablespace, REFRESH, which asks flakeid.state_now()) copies the numbers.
//
// Locking: whoever reads or writes the numbers holds the lock of the page, under which nothing
// waits, flushes or raises an error. Whoever relies on what he wrote or read flushes up to the
// page's LSN first. The lock of the relation is held until what follows from the numbers is
// published.
#pragma once

#include "core/stamp.hpp"
#include "server/postgres.hpp"

extern "C" {
#include "utils/snapmgr.h"
}

namespace flakeid {

constexpr int key_fingerprint_cells = 8;

// The largest sum of max_ttl and max_skew that any realm of leases may have.
constexpr int64_t most_lease_hold_s = 2 * 86400;

// Of what follows. A library that does not know it refuses the row.
constexpr int64_t durable_format = 1;

// One column of flakeid.state each, in this order.
struct Durable {
    int64_t format;
    Stamped stamped;        // of this database
    Origin origin;          // of the server that wrote it
    int64_t assigned;       // what node and coordinator were set (assigned.hpp)
    int64_t lease_clock_us; // how far the clock of leases was at least; it is written once a second
    int64_t lease_rest_us;  // since when nothing is handed out; 0: it is
    int64_t
        lease_origin; // hash of the server, its incarnation and the database; 0: none handed out
    int64_t lease_hold_s; // the longest that a lease may have counted, ever
    int64_t lease_term;   // number of the last one that began (leases/rules/term.hpp)
    int64_t lost;         // not 0: nobody knows the stamps
    int64_t key_fingerprints[key_fingerprint_cells]; // of the keys of sealed ids (fingerprints.hpp)
    int64_t check;                                   // hash of all of these
};
constexpr int durable_cells = sizeof(Durable) / sizeof(int64_t);
static_assert(sizeof(Durable) == 200);

uint64_t durable_check(const Durable& durable);

struct DurablePage {
    Relation relation;
    Buffer buffer;       // locked; invalid where there is no page, and after durable_flush()
    BufferLockMode lock; // of the buffer
    XLogRecPtr lsn;      // up to which durable_flush() flushed
};

// Opens and locks flakeid.state. Raises an error when the extension of this database is another
// version's or was damaged.
DurablePage durable_open(BufferLockMode buffer_lock, LOCKMODE mode = AccessShareLock);

// Reads the numbers of a page. False when there is no row, or not one that flakeid wrote, or one of
// another format: `durable` is zero then, but for its format.
bool durable_read(const DurablePage& page, Durable* durable);

// Writes the numbers. The page must be locked exclusively and have a row.
void durable_write(const DurablePage& page, Durable durable);

// Unlocks the page and flushes what it says. The relation stays locked.
void durable_flush(DurablePage& page);

// Tells whether what was read or written is safe from a crash, so that it may be published.
bool durable_is_flushed(const DurablePage& page);

void durable_close(const DurablePage& page, LOCKMODE mode = AccessShareLock);

// Say why the numbers cannot be used. `format` is not 0: the row is one of that format.
[[noreturn]] void throw_state_lost(int64_t format = 0);
[[noreturn]] void throw_state_replaced();

// Reads the numbers, and returns when they are durable. False where durable_read() is, and in
// logical decoding: its snapshot names the file that was the state's then, which may be gone.
// Where it is true, `then` is given the page first, while no other row can take its place.
template <typename Then>
bool durable_look(Durable* durable, Then then)
{
    if (HistoricSnapshotActive()) {
        *durable = Durable{};
        return false;
    }
    DurablePage page = durable_open(BUFFER_LOCK_SHARE);
    const bool known = durable_read(page, durable);
    durable_flush(page);
    if (known) {
        then(page);
    }
    durable_close(page);
    return known;
}

inline bool durable_look(Durable* durable)
{
    return durable_look(durable, [](const DurablePage&) {});
}

struct DurableChange {
    DurablePage page; // unlocked; to be closed when what follows is published
    Durable durable;
    bool changed;
};

// Lets `alter`, which is given the page and the numbers, alter them, and makes them durable. It
// runs under the lock of the page. Raises an error when there are none.
template <typename Alter>
DurableChange durable_change(Alter alter, LOCKMODE mode = AccessShareLock)
{
    Durable before;
    DurableChange change{durable_open(BUFFER_LOCK_EXCLUSIVE, mode), {}, false};
    const bool readable = durable_read(change.page, &before);
    if (readable) {
        change.durable = before;
        alter(change.page, change.durable);
        change.changed = memcmp(&change.durable, &before, sizeof before) != 0;
        if (change.changed) {
            durable_write(change.page, change.durable);
        }
    }
    durable_flush(change.page);
    if (!readable) {
        throw_state_lost(before.format);
    }
    return change;
}

// Does the same where nothing follows that must wait for it. Returns what the numbers are then.
template <typename Alter>
Durable durable_alter(Alter alter)
{
    const DurableChange change =
        durable_change([&](const DurablePage&, Durable& durable) { alter(durable); });
    durable_close(change.page);
    return change.durable;
}

// Tells whether an older file comes back in the place of this one should the current transaction,
// or a part of it, be rolled back.
bool durable_may_go_back(const DurablePage& page);

// Returns the number that tells the file of the page from others of the database.
Oid durable_file(const DurablePage& page);

static_assert(is_plain<Durable, DurablePage, DurableChange>);

} // namespace flakeid
