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
    bool led_unknown; // a parallel worker set pins for a leader that is not attached
};
static_assert(is_plain<Header>);
static_assert(sizeof(Header) <= header_size, "the size of the header is fixed for ever");

SharedPart* first_part;
SharedPart* last_part;
bool attached;
Header* header; // of the memory that this session is attached to
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

void* make_header()
{
    bool found;
    auto* memory = static_cast<Header*>(ShmemInitStruct(header_name, header_size, &found));
    if (!found) {
        memset(static_cast<void*>(memory), 0, header_size);
        memory->version = shared_version;
        memory->preloaded = preloaded;
        memory->segment = DSM_HANDLE_INVALID;
    }
    return memory;
}

// nullptr: the memory under its name has another size, or there was none and there is no room. No
// other lock of the server's memory may be held: PostgreSQL 19 leaves its own to the end of the
// transaction then, and nobody else can name it.
Header* header_or_none()
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    MemoryContext caller = CurrentMemoryContext;
    const uint32 holdoff = InterruptHoldoffCount - 1; // without that of the lock
    void* volatile found = nullptr;
    PG_TRY();
    {
        found = make_header();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller);
        FlushErrorState();
        LWLockReleaseAll();
        InterruptHoldoffCount = holdoff;
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    }
    PG_END_TRY();
    return static_cast<Header*>(found);
}

[[noreturn]] void throw_other_format(const Header& other)
{
    throw_other_version(psprintf("Its shared memory has format %u, this library has format %u.",
                                 other.version, shared_version));
}

// AddinShmemInitLock must be held.
void create_or_find()
{
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    auto* there = static_cast<Header*>(make_memory(true, make_header));
    if (there->version != shared_version) {
        throw_other_format(*there);
    }
    bool found;
    void* memory = make_memory(false, [&] {
        return there->preloaded ? in_main_memory(&found) : in_segment(&there->segment, &found);
    });
    use(memory, !found);
    header = there;
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

bool shared_attach_if_made()
{
    if (!attached) {
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        const Header* there = header_or_none();
        const bool ours = there != nullptr && there->version == shared_version;
        if (there != nullptr && !ours && there->led_unknown) {
            throw_other_format(*there);
        }
        if (ours && (there->preloaded || there->segment != DSM_HANDLE_INVALID)) {
            create_or_find();
        }
        LWLockRelease(AddinShmemInitLock);
    }
    return attached;
}

void shared_note_unknown_leader()
{
    Assert(attached);
    header->led_unknown = true;
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
