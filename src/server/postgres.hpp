// PostgreSQL, for every file of the server side, and what differs between its versions (in the
// shape of the newest one).
#pragma once

#include "core/plain.hpp"

#include <algorithm>

extern "C" {
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rangetypes.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"
}

// Soft input errors came with 16 (commit d9f7f5d32f).
#if PG_VERSION_NUM < 160000
#define ereturn(context, dummy_value, ...)                                                         \
    do {                                                                                           \
        ereport(ERROR, __VA_ARGS__);                                                               \
        return dummy_value;                                                                        \
    } while (0)
#endif

// Ranges report soft errors since 16 (commit d9f7f5d32f).
#if PG_VERSION_NUM < 160000
#define make_range(type, lower, upper, empty, context) make_range(type, lower, upper, empty)
#endif

// Memory of settings: malloc'ed up to 15, guc_malloc'ed since 16 (commit 407b50f2d4).
#if PG_VERSION_NUM < 160000
#define guc_malloc(elevel, size) malloc(size)
#define guc_free(pointer) free(pointer)
#endif

// The list of settings comes with its length since 16 (commit 3057465acf).
#if PG_VERSION_NUM < 160000
inline config_generic** get_guc_variables(int* count)
{
    *count = GetNumConfigOptions();
    return get_guc_variables();
}
#endif

// One function for the privileges of every kind of object came with 16 (commit c727f511bd).
#if PG_VERSION_NUM < 160000
#define function_aclcheck(oid, role, mode) pg_proc_aclcheck(oid, role, mode)
#else
#define function_aclcheck(oid, role, mode) object_aclcheck(ProcedureRelationId, oid, role, mode)
#endif

// Memberships come without the right to SET ROLE since 16 (commit 3d14e171e9).
#if PG_VERSION_NUM < 160000
inline bool member_can_set_role(Oid member, Oid role)
{
    return is_member_of_role(member, role);
}
#endif

// Returns the transaction that a process runs; it comes never again while the server runs. The
// names are other ones since 17 (commit ab355e3a88).
inline uint64_t running_transaction(const PGPROC* proc)
{
#if PG_VERSION_NUM < 170000
    return static_cast<uint64_t>(proc->backendId) << 32 | proc->lxid;
#else
    return static_cast<uint64_t>(proc->vxid.procNumber) << 32 | proc->vxid.lxid;
#endif
}

// Returns the number of a process that can run transactions, below MaxBackends.
inline uint32_t process_number(const PGPROC* proc)
{
    return static_cast<uint32_t>(proc - ProcGlobal->allProcs);
}

// Returns the latest transaction that had ended, in 64 bits. The variable got another name in 17
// (commit b31ba5310b).
inline uint64_t latest_completed_transaction()
{
#if PG_VERSION_NUM < 170000
    const volatile auto* latest = &ShmemVariableCache->latestCompletedXid.value;
#else
    const volatile auto* latest = &TransamVariables->latestCompletedXid.value;
#endif
    return *latest;
}

// Returns the number of a relation's file, which got another name in 16 (commit b0a55e4329).
inline Oid relation_file(Relation relation)
{
#if PG_VERSION_NUM < 160000
    return relation->rd_node.relNode;
#else
    return relation->rd_locator.relNumber;
#endif
}

// The modes of a buffer lock are an enum since 19.
#if PG_VERSION_NUM < 190000
using BufferLockMode = int;
#endif

// What the server looks up in the library; all else is hidden. PGDLLEXPORT does this since 16
// (commit 089480c077).
#define FLAKEID_EXPORT(...)                                                                        \
    _Pragma("GCC visibility push(default)") extern "C" {__VA_ARGS__} _Pragma("GCC visibility pop")

// An SQL function of the extension.
#define FLAKEID_FUNCTION(name)                                                                     \
    FLAKEID_EXPORT(PG_FUNCTION_INFO_V1(name); Datum name(PG_FUNCTION_ARGS);)                       \
    Datum name(PG_FUNCTION_ARGS)
