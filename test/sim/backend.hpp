// PostgreSQL's headers, and what the files that stand for PostgreSQL need of each other.
#pragma once

#include "server.hpp"

extern "C" {
#include "access/generic_xlog.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/twophase.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "postmaster/postmaster.h"
#include "storage/bufmgr.h"
#include "storage/dsm.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "storage/spin.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc_tables.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace sim {

// ---- Locks that the running process holds (locks.cpp). `content`: of an LWLock or a page, under
// which nothing waits.
void hold(Lock& lock, bool exclusive, bool content);
void let_go(Lock& lock);
void let_go_of_contents();
void let_go_of_all();
void nothing_is_held(const char* what); // else a rule is broken

// G6: a wait ends within a minute; then what is waited for is looked at again.
void must_end(int events, long timeout_ms);

// ---- Memory (server.cpp)
void* take_memory(Server& server, size_t size);

// ---- flakeid.state (state.cpp)
extern int my_further_opens;     // by the process that has locked it for itself
extern int my_opened;            // and not closed yet
extern int my_looks;             // since the process last waited, or began a transaction
void make_pages(Server& server); // as the server begins with them
void add_file(Server& server, int database, int place, const StateFile& file);
StateFile read_block(Server& server, int page);
uint64_t insert_wal(WalRecord record);

// ---- Errors, and the memory of a transaction (errors.cpp)
extern size_t my_used;
extern bool (*out_of_memory)(); // the world may say so
extern void (*on_error_report)();

TimestampTz timestamp_of(int64_t us);

} // namespace sim
