#include "shared.hpp"

#include "clock.hpp"

extern "C" {
#include "common/hashfn.h"
#include "storage/dsm.h"
}

namespace flakeid {

namespace {

// The name and size of the header are the same in every version from 0.2.0 on, so that another
// version of the library finds it instead of making a second one.
constexpr char header_name[] = "flakeid";
constexpr size_t header_size = 128;
constexpr char memory_name[] = "flakeid memory";

// Raised when the meaning of the memory changes.
#ifndef FLAKEID_SHARED_VERSION
#define FLAKEID_SHARED_VERSION 2
#endif
constexpr uint32_t shared_version = FLAKEID_SHARED_VERSION;

struct Header {
    uint32_t version; // first in every version
    bool preloaded;   // the rest is in the main memory
    dsm_handle segment;
};
static_assert(sizeof(Header) <= header_size, "the size of the header is fixed for ever");

constexpr int max_secret_marks = 1024;

struct SecretMark {
    uint64_t file; // hash of the name
    uint64_t mark;
};

struct Shared {
    pg_atomic_uint32 horizon_count;
    pg_atomic_uint32 secret_mark_count;
    pg_atomic_uint64 clock_offset;
    Stats stats;
    LeaseTable leases;
    SecretMark secret_marks[max_secret_marks];
    Horizon horizons[max_horizons];
    SlotTable slots;
};

Shared* shared;
bool preloaded; // the library, by the server

shmem_request_hook_type previous_request_hook;
shmem_startup_hook_type previous_startup_hook;

void initialize(Shared* memory)
{
    memset(static_cast<void*>(memory), 0, sizeof *memory);
    pg_atomic_init_u32(&memory->horizon_count, 0);
    pg_atomic_init_u32(&memory->secret_mark_count, 0);
    pg_atomic_init_u64(&memory->clock_offset, static_cast<uint64_t>(wall_us() - uptime_us()));
    stats_create(&memory->stats);
    create_leases(&memory->leases);
    pg_atomic_init_u32(&memory->slots.count, 0);
    for (pg_atomic_uint32& place : memory->slots.index) {
        pg_atomic_init_u32(&place, 0);
    }
}

[[noreturn]] void throw_other_version(const char* detail)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("the running server uses another version of the flakeid library"),
            errdetail("%s", detail), errhint("Restart the server."));
}

// Does what raises an error when there is no memory for it, or other memory of the same name.
template <typename Action>
void* make_memory(bool named_for_ever, Action action)
{
    MemoryContext caller = CurrentMemoryContext;
    void* volatile made = nullptr;
    PG_TRY();
    {
        made = action();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller);
        const ErrorData* error = CopyErrorData();
        FlushErrorState();
        // That a name has memory of another size is the one error without a code of its own.
        if (named_for_ever && error->sqlerrcode == ERRCODE_INTERNAL_ERROR) {
            throw_other_version(error->message);
        }
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
                errmsg("the server has no shared memory left for flakeid"),
                errdetail("%s", error->message),
                errhint("Add flakeid to shared_preload_libraries and restart the server."));
    }
    PG_END_TRY();
    return made;
}

Shared* in_main_memory()
{
    bool found;
    auto* memory = static_cast<Shared*>(ShmemInitStruct(memory_name, sizeof(Shared), &found));
    if (!found) {
        initialize(memory);
    }
    return memory;
}

// Stays as long as the server runs, and mapped as long as the session does.
Shared* in_segment(dsm_handle* handle)
{
    const bool found = *handle != DSM_HANDLE_INVALID;
    dsm_segment* segment = found ? dsm_attach(*handle) : dsm_create(sizeof(Shared), 0);
    if (segment == nullptr) {
        elog(ERROR, "shared memory segment of flakeid is gone");
    }
    auto* memory = static_cast<Shared*>(dsm_segment_address(segment));
    if (!found) {
        initialize(memory);
        dsm_pin_segment(segment);
        *handle = dsm_segment_handle(segment);
    }
    dsm_pin_mapping(segment);
    return memory;
}

// AddinShmemInitLock must be held.
void create_or_find()
{
    auto* header = static_cast<Header*>(make_memory(true, [] {
        bool found;
        auto* memory = static_cast<Header*>(ShmemInitStruct(header_name, header_size, &found));
        if (!found) {
            memset(static_cast<void*>(memory), 0, header_size);
            memory->version = shared_version;
            memory->preloaded = preloaded;
            memory->segment = DSM_HANDLE_INVALID;
        }
        return static_cast<void*>(memory);
    }));
    if (header->version != shared_version) {
        throw_other_version(psprintf("Its shared memory has format %u, this library has format %u.",
                                     header->version, shared_version));
    }
    shared = static_cast<Shared*>(make_memory(false, [=] {
        return static_cast<void*>(header->preloaded ? in_main_memory()
                                                    : in_segment(&header->segment));
    }));
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
    RequestAddinShmemSpace(header_size);
    RequestAddinShmemSpace(sizeof(Shared));
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

SlotTable* shared_slots()
{
    return &attach()->slots;
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

void shared_init()
{
    preloaded = process_shared_preload_libraries_in_progress;
    if (preloaded) {
        previous_request_hook = shmem_request_hook;
        shmem_request_hook = request_memory;
        previous_startup_hook = shmem_startup_hook;
        shmem_startup_hook = create_memory;
    }
}

} // namespace flakeid
