#include "shared.hpp"

#include "clock.hpp"

#include "core/step.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace flakeid {

namespace {

// The name and the size are the same in every version, so that another version of the library
// finds this memory instead of making a second one.
constexpr char shared_name[] = "flakeid";
constexpr size_t shared_size = 40 * 1024;

// Raised when the meaning of the memory changes.
#ifndef FLAKEID_SHARED_VERSION
#define FLAKEID_SHARED_VERSION 2
#endif
constexpr uint32_t shared_version = FLAKEID_SHARED_VERSION;

constexpr int max_secret_marks = 32;

struct SecretMark {
    uint64_t file; // hash of the name
    uint64_t mark;
};

struct Shared {
    uint32_t version; // first in every version
    pg_atomic_uint32 slot_count;
    pg_atomic_uint32 horizon_count;
    pg_atomic_uint32 secret_mark_count;
    pg_atomic_uint64 clock_offset;
    Stats stats;
    LeaseTable leases;
    SecretMark secret_marks[max_secret_marks];
    Slot slots[max_slots];
    Horizon horizons[max_horizons];
};
static_assert(sizeof(Shared) <= shared_size, "the size of the shared memory is fixed for ever");

Shared* shared;

shmem_request_hook_type previous_request_hook;
shmem_startup_hook_type previous_startup_hook;

// AddinShmemInitLock must be held.
void create_or_find()
{
    bool found;
    auto* memory = static_cast<Shared*>(ShmemInitStruct(shared_name, shared_size, &found));
    if (!found) {
        memset(static_cast<void*>(memory), 0, shared_size);
        memory->version = shared_version;
        pg_atomic_init_u32(&memory->slot_count, 0);
        pg_atomic_init_u32(&memory->horizon_count, 0);
        pg_atomic_init_u32(&memory->secret_mark_count, 0);
        pg_atomic_init_u64(&memory->clock_offset, static_cast<uint64_t>(wall_us() - uptime_us()));
        stats_create(&memory->stats);
        pg_atomic_init_u32(&memory->leases.in_force, 0);
        for (Lease& lease : memory->leases.leases) {
            pg_atomic_init_u64(&lease.end_us, 0);
            pg_atomic_init_u64(&lease.used_at, 0);
        }
    } else if (memory->version != shared_version) {
        const uint32_t version = memory->version;
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the running server uses another version of the flakeid library"),
                errdetail("Its shared memory has format %u, this library has format %u.", version,
                          shared_version),
                errhint("Restart the server."));
    }
    shared = memory;
}

Shared* attach()
{
    if (unlikely(shared == nullptr)) {
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        create_or_find();
        LWLockRelease(AddinShmemInitLock);
    }
    return shared;
}

void request_memory()
{
    if (previous_request_hook != nullptr) {
        previous_request_hook();
    }
    RequestAddinShmemSpace(shared_size);
}

void create_memory()
{
    if (previous_startup_hook != nullptr) {
        previous_startup_hook();
    }
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    create_or_find();
    LWLockRelease(AddinShmemInitLock);
}

// The entry that `matches` accepts, otherwise nullptr.
template <typename Entry, typename Matches>
Entry* find(Entry* entries, pg_atomic_uint32* count, Matches matches)
{
    const uint32_t taken = pg_atomic_read_u32(count);
    pg_read_barrier();
    for (uint32_t i = 0; i < taken; i++) {
        if (matches(entries[i])) {
            pg_read_barrier();
            return &entries[i];
        }
    }
    return nullptr;
}

// The same, or a new one made by `fill` while fewer than `limit` are taken.
template <typename Entry, typename Matches, typename Fill>
Entry* find_or_take(Entry* entries, pg_atomic_uint32* count, uint32_t limit, Matches matches,
                    Fill fill)
{
    Entry* entry = find(entries, count, matches);
    if (entry == nullptr) {
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        entry = find(entries, count, matches);
        const uint32_t taken = pg_atomic_read_u32(count);
        if (entry == nullptr && taken < limit) {
            entry = &entries[taken];
            fill(*entry);
            pg_write_barrier();
            pg_atomic_write_u32(count, taken + 1);
        }
        LWLockRelease(AddinShmemInitLock);
    }
    return entry;
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

Slot* shared_slot(const SlotKey& key, uint32_t node, bool keep_spare)
{
    Shared* memory = attach();
    Slot* slot = find_or_take(
        memory->slots, &memory->slot_count, max_slots - (keep_spare ? spare_slots : 0),
        [&](const Slot& other) { return memcmp(&other.key, &key, sizeof key) == 0; },
        [&](Slot& fresh) {
            fresh.key = key;
            fresh.node = node;
            fresh.word_before = 0;
            pg_atomic_init_u64(&fresh.word,
                               pg_atomic_read_u32(&memory->leases.in_force) != 0 ? closed_word : 0);
        });
    if (slot == nullptr && !keep_spare) {
        ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("all %d generators of the server are taken", max_slots),
                errdetail("Every combination of layout and node that was used since the server's "
                          "start takes one."),
                errhint("Use fewer layouts and nodes, and restart the server."));
    }
    return slot;
}

Slot* shared_slots(uint32_t* count)
{
    Shared* memory = attach();
    *count = pg_atomic_read_u32(&memory->slot_count);
    pg_read_barrier();
    return memory->slots;
}

Horizon* shared_horizon()
{
    Shared* memory = attach();
    auto mine = [](const Horizon& other) { return other.database == MyDatabaseId; };
    auto fill = [](Horizon& fresh) {
        pg_atomic_init_u32(&fresh.file, InvalidOid);
        for (int kind = 0; kind < horizon_kinds; kind++) {
            pg_atomic_init_u64(&fresh.bound[kind], 0);
            pg_atomic_init_u64(&fresh.floor[kind], 0);
            pg_atomic_init_u64(&fresh.extended_at[kind], 0);
        }
        pg_write_barrier();
        fresh.database = MyDatabaseId;
    };
    Horizon* horizon =
        find_or_take(memory->horizons, &memory->horizon_count, max_horizons, mine, fill);
    // When all are taken, that of a dropped database: no session of it is left.
    for (int i = 0; horizon == nullptr && i < max_horizons; i++) {
        Horizon& other = memory->horizons[i];
        const Oid database = other.database;
        if (SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(database))) {
            continue;
        }
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        horizon = find(memory->horizons, &memory->horizon_count, mine);
        if (horizon == nullptr && other.database == database) {
            fill(other);
            horizon = &other;
        }
        LWLockRelease(AddinShmemInitLock);
    }
    if (horizon == nullptr) {
        ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("ids were generated in %d databases already", max_horizons),
                errdetail("Every database that generated ids since the server's start counts, "
                          "unless it was dropped."),
                errhint("Restart the server, or spread the databases over several servers."));
    }
    return horizon;
}

bool shared_secret_mark(const char* file, uint64_t mark)
{
    Shared* memory = attach();
    const uint64_t name = hash_bytes_extended(reinterpret_cast<const unsigned char*>(file),
                                              static_cast<int>(strlen(file)), 0);
    const SecretMark* entry = find_or_take(
        memory->secret_marks, &memory->secret_mark_count, max_secret_marks,
        [&](const SecretMark& other) { return other.file == name; },
        [&](SecretMark& fresh) {
            fresh = SecretMark{name, mark};
        });
    if (entry == nullptr) {
        ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("%d secret files were used already", max_secret_marks),
                errhint("Restart the server."));
    }
    return entry->mark == mark;
}

pg_atomic_uint64* shared_clock_offset()
{
    return &attach()->clock_offset;
}

Stats* shared_stats()
{
    return &attach()->stats;
}

LeaseTable* shared_leases()
{
    return &attach()->leases;
}

int64_t shared_ahead_us(int64_t now_us)
{
    Shared* memory = attach();
    int64_t ahead = PG_INT64_MIN;
    const uint32_t taken = pg_atomic_read_u32(&memory->slot_count);
    pg_read_barrier();
    for (uint32_t i = 0; i < taken; i++) {
        const SlotKey& key = memory->slots[i].key;
        const uint64_t word = pg_atomic_read_u64(&memory->slots[i].word);
        uint64_t tick = word == closed_word ? 0 : word >> key.sequence_bits;
        if (key.time_bits > 0) {
            tick &= (UINT64_C(1) << key.time_bits) - 1;
        }
        if (tick > 0) {
            const int64_t start = static_cast<int64_t>(tick) * key.tick_us + key.epoch_us;
            ahead = Max(ahead, start - now_us);
        }
    }
    return ahead;
}

void shared_init()
{
    if (process_shared_preload_libraries_in_progress) {
        previous_request_hook = shmem_request_hook;
        shmem_request_hook = request_memory;
        previous_startup_hook = shmem_startup_hook;
        shmem_startup_hook = create_memory;
    }
}

} // namespace flakeid
