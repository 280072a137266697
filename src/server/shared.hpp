// The memory that all sessions and databases of the server share: where it is, and whose part is
// where.
//
// A small header has a name for ever. The rest stands in the server's main memory when the library
// is preloaded, and otherwise in a segment of its own that the first session makes: other
// extensions need the little that the main memory has to spare.
//
// Locking: AddinShmemInitLock, the server's own, is held to create the memory, to take an entry of
// a SharedTable, and for slots, pins, leases, settled marks and horizons (slots.hpp, pins.hpp,
// lease.hpp, settled.hpp, horizon.hpp). Nothing waits, reads a file or writes under it; the
// segment is made under it. No lock: what is below SharedTable::count, and atomics.
//
// Why no lock of our own? It would have to lie in the memory that this one is held to create, and
// every process would have to name its tranche, for which PostgreSQL 19 has other functions than 15
// to 18. It would keep nobody from waiting: an id that is drawn takes no lock, other extensions
// hold this one while they create their memory, and flakeid holds it for a loop over its slots.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

// Databases of one server that may make ids, dropped ones left out.
constexpr int max_databases = 256;

// What one owner keeps there. `create` is given zeroed memory.
struct SharedPart {
    size_t (*size)();
    void (*create)(void* memory);
    SharedPart* next;
    void* memory; // of this session; nullptr: not attached yet
};

// Adds a part. Every session adds the same parts in the same order, when the library is loaded.
void shared_add(SharedPart* part);

// Prepares the memory. Called after all parts were added.
void shared_init();

// Tells whether the library is in shared_preload_libraries.
bool shared_preloaded();

// Attaches this session to the memory.
void shared_attach();

// Does the same where there is memory of this version. False: there is none, or it is another
// version's, where this session has nothing, since it would be told that first: an error says so
// only where a parallel worker may have set something for a leader that was not attached.
bool shared_attach_if_made();
// Tells that a parallel worker is about to.
void shared_note_unknown_leader();

// The part of one type; `create` is given it zeroed.
template <typename T, void (*create)(T*)>
class Shared {
public:
    void add() { shared_add(&part_); }

    T* get()
    {
        if (unlikely(part_.memory == nullptr)) {
            shared_attach();
        }
        return static_cast<T*>(part_.memory);
    }

private:
    SharedPart part_ = {[] { return sizeof(T); },
                        [](void* memory) { create(static_cast<T*>(memory)); }, nullptr, nullptr};
};

// Raises *shared to `value`, unless it is as high.
inline void raise_to(pg_atomic_uint64* shared, uint64_t value)
{
    uint64_t seen = pg_atomic_read_u64(shared);
    while (seen < value && !pg_atomic_compare_exchange_u64(shared, &seen, value)) {
    }
}

// A table whose entries are taken one after another and stay, unless their owner is gone. They are
// read without a lock below the count, which is raised last.
template <typename Entry, int limit>
struct SharedTable {
    pg_atomic_uint32 count;
    Entry entries[limit];

    // Returns the entry that `matches` accepts, otherwise nullptr.
    template <typename Matches>
    Entry* find(Matches matches)
    {
        const uint32_t taken = pg_atomic_read_u32(&count);
        pg_read_barrier();
        for (uint32_t i = 0; i < taken; i++) {
            if (matches(entries[i])) {
                pg_read_barrier();
                return &entries[i];
            }
        }
        return nullptr;
    }

    // Returns the entry that `matches` accepts, or one made by `fill`, a new one or one that
    // `is_free` accepts; nullptr when all are taken. A session that dies under the lock leaves an
    // entry that is free or above the count, which is filled anew.
    template <typename Matches, typename Fill>
    Entry* find_or_take(
        Matches matches, Fill fill, bool (*is_free)(Entry&) = [](Entry&) { return false; })
    {
        Entry* entry = find(matches);
        if (entry == nullptr) {
            LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
            entry = find(matches);
            entry = entry != nullptr ? entry : take(fill, is_free);
            LWLockRelease(AddinShmemInitLock);
        }
        return entry;
    }

private:
    // With the lock held.
    template <typename Fill>
    Entry* take(Fill fill, bool (*is_free)(Entry&))
    {
        Entry* entry = find(is_free);
        const uint32_t taken = pg_atomic_read_u32(&count);
        Assert(taken <= limit);
        if (entry != nullptr) {
            fill(*entry);
        } else if (taken < limit) {
            entry = &entries[taken];
            fill(*entry);
            pg_write_barrier();
            pg_atomic_write_u32(&count, taken + 1);
        }
        return entry;
    }
};

static_assert(is_plain<SharedPart>);

} // namespace flakeid
