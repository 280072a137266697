#include "server/shared.hpp"

extern "C" {
#include "storage/dsm.h"
}

namespace flakeid {

namespace {

// The name and size of the header are the same in every version from 0.2.0 on, so that another
// version of the library finds it instead of making a second one.
constexpr char header_name[] = "flakeid";
constexpr size_t header_size = 128;
constexpr char memory_name[] = "flakeid memory";

// Processors fetch cache lines in pairs: no two parts share one.
constexpr size_t part_alignment = 128;

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
static_assert(is_plain<Header>);
static_assert(sizeof(Header) <= header_size, "the size of the header is fixed for ever");

SharedPart* first_part;
SharedPart* last_part;
bool attached;
bool preloaded; // the library, by the server

shmem_request_hook_type previous_request_hook;
shmem_startup_hook_type previous_startup_hook;

size_t part_size(const SharedPart& part)
{
    return TYPEALIGN(part_alignment, part.size());
}

size_t memory_size()
{
    size_t size = part_alignment;
    for (const SharedPart* part = first_part; part != nullptr; part = part->next) {
        size += part_size(*part);
    }
    return size;
}

void use(void* memory, bool create)
{
    if (create) {
        memset(memory, 0, memory_size());
    }
    auto* at = reinterpret_cast<char*>(TYPEALIGN(part_alignment, memory));
    for (SharedPart* part = first_part; part != nullptr; part = part->next) {
        if (create) {
            part->create(at);
        }
        part->memory = at;
        at += part_size(*part);
    }
    attached = true;
}

[[noreturn]] void throw_other_version(const char* detail)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("the running server uses another version of the flakeid library"),
            errdetail("%s", detail), errhint("Restart the server."));
}

// Makes memory by `action`, which may find no room for it, or memory of another size under its
// name: then an error says so, and what to do.
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

void* in_main_memory(bool* found)
{
    return ShmemInitStruct(memory_name, memory_size(), found);
}

// Stays as long as the server runs, and mapped as long as the session does.
void* in_segment(dsm_handle* handle, bool* found)
{
    *found = *handle != DSM_HANDLE_INVALID;
    dsm_segment* segment = *found ? dsm_attach(*handle) : dsm_create(memory_size(), 0);
    if (segment == nullptr) {
        elog(ERROR, "shared memory segment of flakeid is gone");
    }
    if (!*found) {
        dsm_pin_segment(segment);
        *handle = dsm_segment_handle(segment);
    }
    dsm_pin_mapping(segment);
    return dsm_segment_address(segment);
}

// AddinShmemInitLock must be held.
void create_or_find()
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
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
    bool found;
    void* memory = make_memory(false, [&] {
        return header->preloaded ? in_main_memory(&found) : in_segment(&header->segment, &found);
    });
    use(memory, !found);
}

void request_memory()
{
    if (previous_request_hook != nullptr) {
        previous_request_hook();
    }
    RequestAddinShmemSpace(header_size);
    RequestAddinShmemSpace(memory_size());
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

} // namespace

void shared_add(SharedPart* part)
{
    Assert(!attached && part->next == nullptr && part != last_part);
    (last_part == nullptr ? first_part : last_part->next) = part;
    last_part = part;
}

bool shared_preloaded()
{
    return preloaded;
}

void shared_attach()
{
    if (!attached) {
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        create_or_find();
        LWLockRelease(AddinShmemInitLock);
    }
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
