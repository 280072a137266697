// The other functions and variables of PostgreSQL that flakeid calls, over the servers of
// server.hpp.
#include "backend.hpp"

#include "checker.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace sim;

extern "C" {

// Variables of a process
PROCESS_LOCAL PGPROC* MyProc = nullptr;
PROCESS_LOCAL int MyProcPid = 0;
PROCESS_LOCAL Oid MyDatabaseId = InvalidOid;
PROCESS_LOCAL Latch* MyLatch = nullptr;
PROCESS_LOCAL sigjmp_buf* PG_exception_stack = nullptr;
PROCESS_LOCAL ErrorContextCallback* error_context_stack = nullptr;
PROCESS_LOCAL volatile sig_atomic_t InterruptPending = 0;
PROCESS_LOCAL volatile uint32 InterruptHoldoffCount = 0;
PROCESS_LOCAL volatile uint32 QueryCancelHoldoffCount = 0;
PROCESS_LOCAL volatile uint32 CritSectionCount = 0;
PROCESS_LOCAL PROC_HDR* ProcGlobal = nullptr;
PROCESS_LOCAL PGPROC* PreparedXactProcs = nullptr;
PROCESS_LOCAL VariableCache ShmemVariableCache = nullptr;
PROCESS_LOCAL LWLockPadded* MainLWLockArray = nullptr;
PROCESS_LOCAL char* BufferBlocks = nullptr;
PROCESS_LOCAL TimestampTz PgStartTime = 0;
PROCESS_LOCAL bool IsBinaryUpgrade = false;
PROCESS_LOCAL bool process_shared_preload_libraries_in_progress = false;
PROCESS_LOCAL shmem_request_hook_type shmem_request_hook = nullptr;
PROCESS_LOCAL shmem_startup_hook_type shmem_startup_hook = nullptr;
PROCESS_LOCAL char* GUC_check_errmsg_string = nullptr;
PROCESS_LOCAL char* GUC_check_errdetail_string = nullptr;
PROCESS_LOCAL char* GUC_check_errhint_string = nullptr;

// The same for all
int MaxBackends = most_backends;
int max_prepared_xacts = most_prepared;
int NBuffers = most_databases * files_each;
int NLocBuffer = 0;
Block* LocalBufferBlockPointers = nullptr;
int PostPortNumber = 5432;
static char no_name[] = "";
char* cluster_name = no_name;
Portal ActivePortal = nullptr;
uint64 SPI_processed = 0;
SPITupleTable* SPI_tuptable = nullptr;
static char context[8];
MemoryContext CurrentMemoryContext = reinterpret_cast<MemoryContext>(context);
MemoryContext TopMemoryContext = CurrentMemoryContext;
SnapshotData SnapshotAnyData;
const char* const GucSource_Names[] = {"default",
                                       "default",
                                       "environment variable",
                                       "configuration file",
                                       "command line",
                                       "global",
                                       "database",
                                       "user",
                                       "database user",
                                       "client",
                                       "override",
                                       "interactive",
                                       "test",
                                       "session"};
bool creating_extension = false;

// Clocks
int __wrap_clock_gettime(clockid_t clock, timespec* time)
{
    yield();
    if (running == nullptr) {
        *time = {};
        return 0;
    }
    int64_t us = steady_clock(here());
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        us = wall_clock(here()) + my_clock_error;
        if (clock == CLOCK_REALTIME_COARSE) {
            us -= us % (4 * ms); // as of the last timer interrupt
        }
        my_lowest_wall = std::min(my_lowest_wall, us);
        my_highest_wall = std::max(my_highest_wall, us);
    }
    time->tv_sec = us / second;
    time->tv_nsec = us % second * 1000;
    return 0;
}

TimestampTz GetCurrentTimestamp(void)
{
    return timestamp_of(wall_clock(here()));
}

TimestampTz GetCurrentTransactionStartTimestamp(void)
{
    return GetCurrentTimestamp();
}

// Who this is
int __wrap_gethostname(char* name, size_t size)
{
    snprintf(name, size, "db-%d", here().number);
    return 0;
}

bool superuser(void)
{
    return true;
}

Oid GetUserId(void)
{
    return 10;
}

Oid GetOuterUserId(void)
{
    return 10;
}

bool has_privs_of_role(Oid, Oid)
{
    return true;
}

AclResult pg_parameter_aclcheck(const char*, Oid, AclMode)
{
    return ACLCHECK_OK;
}

// Nothing is decoded here.
bool HistoricSnapshotActive(void)
{
    return false;
}

bool RecoveryInProgress(void)
{
    return here().in_recovery;
}

TimeLineID GetWALInsertionTimeLine(void)
{
    return static_cast<TimeLineID>(here().base.timeline);
}

// Shared memory
void RequestAddinShmemSpace(Size) {}

void* ShmemInitStruct(const char* name, Size size, bool* found)
{
    void*& memory = here().memory[name];
    *found = memory != nullptr;
    if (memory == nullptr) {
        memory = take_memory(here(), size);
    }
    return memory;
}

dsm_segment* dsm_create(Size size, int)
{
    here().segments.push_back(take_memory(here(), size));
    return static_cast<dsm_segment*>(here().segments.back());
}

dsm_segment* dsm_attach(dsm_handle handle)
{
    return static_cast<dsm_segment*>(here().segments[handle - 1]);
}

dsm_handle dsm_segment_handle(dsm_segment*)
{
    return static_cast<dsm_handle>(here().segments.size());
}

void* dsm_segment_address(dsm_segment* segment)
{
    return segment;
}

void dsm_pin_segment(dsm_segment*) {}
void dsm_pin_mapping(dsm_segment*) {}

// SPI, which asks for the names of prepared transactions
int SPI_connect(void)
{
    return 0;
}

int SPI_finish(void)
{
    return 0;
}

int SPI_execute_with_args(const char*, int, Oid*, Datum*, const char*, bool, long)
{
    return SPI_ERROR_ARGUMENT;
}

char* SPI_getvalue(HeapTuple, TupleDesc, int)
{
    return nullptr;
}

ArrayType* construct_array(Datum*, int, Oid, int, bool, char)
{
    return nullptr;
}

// Functions of types
Datum timestamptz_out(FunctionCallInfo)
{
    return 0;
}

Datum DirectFunctionCall1Coll(PGFunction, Oid, Datum)
{
    return CStringGetDatum(pstrdup("some moment"));
}

Datum DirectFunctionCall2Coll(PGFunction, Oid, Datum, Datum)
{
    return 0;
}

char* text_to_cstring(const text* t)
{
    return pnstrdup(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

char* get_namespace_name(Oid)
{
    return pstrdup("flakeid");
}

const char* quote_identifier(const char* name)
{
    return name;
}

char* quote_literal_cstr(const char* text)
{
    return pstrdup(text);
}

int pg_mbstrlen_with_len(const char*, int length)
{
    return length;
}

int pg_strcasecmp(const char* a, const char* b)
{
    return strcasecmp(a, b);
}

int pg_strncasecmp(const char* a, const char* b, size_t n)
{
    return strncasecmp(a, b, n);
}

uint64 hash_bytes_extended(const unsigned char* bytes, int count, uint64 seed)
{
    uint64_t hash = seed + static_cast<uint64_t>(count);
    for (int i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash;
}

uint32 hash_bytes(const unsigned char* bytes, int count)
{
    return static_cast<uint32>(hash_bytes_extended(bytes, count, 0));
}

size_t strlcpy(char* to, const char* from, size_t size)
{
    const size_t length = strlen(from);
    if (size > 0) {
        const size_t copied = std::min(length, size - 1);
        memcpy(to, from, copied);
        to[copied] = '\0';
    }
    return length;
}

} // extern "C"
