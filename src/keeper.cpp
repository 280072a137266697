// The keeper of leases: a background worker, attached to no database, that takes the leases that
// sessions want from the coordinator, renews them at a third of their length, and gives them back
// at a clean stop. It holds no lock while it waits; all its waits end when its latch is set.
#include "clock.hpp"
#include "errors.hpp"
#include "lease.hpp"
#include "settings.hpp"
#include "shared.hpp"

#include <libpq-fe.h>

extern "C" {
#include "libpq/pqsignal.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "postmaster/postmaster.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
}

namespace flakeid {

namespace {

constexpr int64_t connect_limit_us = 10 * us_per_s;
constexpr int64_t query_limit_us = 10 * us_per_s;
constexpr int64_t release_limit_us = 3 * us_per_s; // of all releases at a stop, together
constexpr int64_t first_backoff_us = 100 * us_per_ms;
constexpr int64_t last_backoff_us = 5 * us_per_s;
constexpr int64_t longest_sleep_us = 60 * us_per_s;
constexpr int64_t idle_limit_us = 3600 * us_per_s; // an unused lease is given back
constexpr int64_t start_limit_us = 10 * us_per_s;  // a keeper that was asked for has begun by then
constexpr int64_t patience_us = 3 * us_per_s;      // a node that was given back is free by then
constexpr int64_t least_renewal_us = 500 * us_per_ms;
constexpr int restart_s = 1;
constexpr int max_parameters = 5;

// When to try each lease again, on the steady clock. 0: at once.
int64_t due_us[max_leases];
int64_t backoff_us[max_leases];
bool refused[max_leases]; // the coordinator said that a lease is not to be renewed
int64_t patient_until_us; // steady clock: till then a node in use is one just given back

PGconn* connection;
char* functions;        // of the extension there: what the names of those that it calls begin with
char* used_coordinator; // as `connection` and the leases were made with
char* used_realm;
int64_t connect_due_us;
int64_t connect_backoff_us;
bool away;             // the log says so already
bool stopping;         // the latch does not end waits any more
int64_t stop_limit_us; // steady clock
char last_error[lease_error_size];
bool last_error_in_use; // it was that somebody has the node

void remember_error(const char* text)
{
    last_error_in_use = false;
    size_t used = strlcpy(last_error, text, sizeof last_error);
    used = Min(used, sizeof last_error - 1);
    while (used > 0 && (last_error[used - 1] == '\n' || last_error[used - 1] == '.')) {
        last_error[--used] = '\0';
    }
    for (char* at = last_error; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\t' ? ' ' : *at;
    }
}

// Keeps a text for good.
void replace(char** kept, const char* text)
{
    char* copy = MemoryContextStrdup(TopMemoryContext, text);
    if (*kept != nullptr) {
        pfree(*kept);
    }
    *kept = copy;
}

int64_t grown(int64_t backoff)
{
    return backoff == 0 ? first_backoff_us : Min(2 * backoff, last_backoff_us);
}

// The last error ends here, so that a lease's coordinator is asked in time but not all the time.
void postpone(int index)
{
    backoff_us[index] = grown(backoff_us[index]);
    due_us[index] = steady_us() + backoff_us[index];
}

// At a third of the length; earlier when the coordinator's clock is behind this server's.
void plan_renewal(int index, int64_t end_us)
{
    const int64_t left_us = Max(least_renewal_us, (end_us - wall_us()) / 2);
    backoff_us[index] = 0;
    due_us[index] = steady_us() + Min(settings.lease_ttl_s * us_per_s / 3, left_us);
}

void disconnect()
{
    PQfinish(connection);
    connection = nullptr;
}

bool interrupted()
{
    return !stopping && (ShutdownRequestPending || ConfigReloadPending);
}

// Waits for the socket until `limit_us` of the steady clock. False when that passed or the keeper
// is to do something else. Sessions that set the latch do not end it, and new settings do not when
// `settled`: the answer to a question that was asked counts, or a lease that was given is lost.
bool wait_for_socket(int events, int64_t limit_us, bool settled)
{
    for (;;) {
        const int64_t left_us = Min(limit_us, stopping ? stop_limit_us : limit_us) - steady_us();
        if (left_us <= 0) {
            remember_error("the coordinator did not answer in time");
            return false;
        }
        const int happened = WaitLatchOrSocket(
            MyLatch, events | WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, PQsocket(connection),
            static_cast<long>((left_us + us_per_ms - 1) / us_per_ms), PG_WAIT_EXTENSION);
        if ((happened & WL_LATCH_SET) != 0) {
            ResetLatch(MyLatch);
        }
        if (interrupted() && (!settled || ShutdownRequestPending)) {
            remember_error("the keeper of leases was interrupted");
            return false;
        }
        if ((happened & events) != 0) {
            return true;
        }
    }
}

// A query and its parameters. nullptr when no answer came; the connection is closed then.
PGresult* query(const char* sql, int count, const char* const* values)
{
    const int64_t limit_us = steady_us() + query_limit_us;
    if (PQsendQueryParams(connection, sql, count, nullptr, values, nullptr, nullptr, 0) != 1) {
        remember_error(PQerrorMessage(connection));
        disconnect();
        return nullptr;
    }
    PGresult* result = nullptr;
    for (;;) {
        const int unsent = PQflush(connection);
        bool good = unsent >= 0;
        while (good && (unsent > 0 || PQisBusy(connection) != 0)) {
            good = wait_for_socket(WL_SOCKET_READABLE | (unsent > 0 ? WL_SOCKET_WRITEABLE : 0),
                                   limit_us, true);
            if (good && PQconsumeInput(connection) != 1) {
                remember_error(PQerrorMessage(connection));
                good = false;
            }
            if (unsent > 0) {
                break;
            }
        }
        if (!good) {
            PQclear(result);
            disconnect();
            return nullptr;
        }
        if (unsent > 0) {
            continue;
        }
        PGresult* next = PQgetResult(connection);
        if (next == nullptr) {
            break;
        }
        PQclear(result);
        result = next;
    }
    if (PQstatus(connection) != CONNECTION_OK) {
        remember_error(PQerrorMessage(connection));
        PQclear(result);
        disconnect();
        return nullptr;
    }
    return result;
}

// The rows of an answer; false when it is an error, which is remembered.
bool answered(PGresult* result)
{
    if (result == nullptr) {
        return false;
    }
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1) {
        return true;
    }
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    remember_error(message == nullptr  ? "unexpected answer"
                   : detail == nullptr ? message
                                       : psprintf("%s. %s", message, detail));
    last_error_in_use =
        state != nullptr && strcmp(state, unpack_sql_state(ERRCODE_OBJECT_IN_USE)) == 0;
    PQclear(result);
    return false;
}

bool open_connection()
{
    const char* const keywords[] = {"fallback_application_name", "dbname", nullptr};
    const char* const values[] = {"flakeid", used_coordinator, nullptr};
    const int64_t limit_us = steady_us() + connect_limit_us;
    connection = PQconnectStartParams(keywords, values, 1);
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (connection != nullptr && PQstatus(connection) != CONNECTION_BAD &&
           status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
        if (!wait_for_socket(status == PGRES_POLLING_READING ? WL_SOCKET_READABLE
                                                             : WL_SOCKET_WRITEABLE,
                             limit_us, false)) {
            disconnect();
            return false;
        }
        status = PQconnectPoll(connection);
    }
    if (connection == nullptr || PQstatus(connection) != CONNECTION_OK) {
        remember_error(connection == nullptr ? "out of memory" : PQerrorMessage(connection));
        disconnect();
        return false;
    }
    PGresult* result =
        query("SELECT CASE WHEN e.extversion OPERATOR(pg_catalog.=) '0.1.0' "
              "THEN pg_catalog.quote_ident(n.nspname) OPERATOR(pg_catalog.||) '.flake_lease_' "
              "ELSE 'flakeid.lease_' END FROM pg_catalog.pg_extension e "
              "JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace "
              "WHERE e.extname OPERATOR(pg_catalog.=) 'flakeid'",
              0, nullptr);
    if (result != nullptr && PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 0) {
        remember_error("extension flakeid is not installed in the coordinator's database");
        PQclear(result);
        disconnect();
        return false;
    }
    if (!answered(result)) {
        disconnect();
        return false;
    }
    replace(&functions, PQgetvalue(result, 0, 0));
    PQclear(result);
    return true;
}

// True with a connection. One line in the log for each change.
bool connected()
{
    if (connection != nullptr && PQstatus(connection) == CONNECTION_OK) {
        return true;
    }
    disconnect();
    if (!stopping && steady_us() < connect_due_us) {
        return false;
    }
    if (open_connection()) {
        connect_due_us = connect_backoff_us = 0;
        if (away) {
            away = false;
            ereport(LOG, errmsg("coordinator of leases \"%s\" is back", settings.coordinator_name));
        }
        return true;
    }
    if (!interrupted()) {
        connect_backoff_us = grown(connect_backoff_us);
        connect_due_us = steady_us() + connect_backoff_us;
        if (!away && !stopping) {
            away = true;
            ereport(
                LOG,
                errmsg("coordinator of leases \"%s\" cannot be reached", settings.coordinator_name),
                errdetail("%s.", last_error));
        }
    }
    return false;
}

const char* token_text(const Lease* lease)
{
    return DatumGetCString(DirectFunctionCall1(uuid_out, PointerGetDatum(lease->token)));
}

const char* seconds_text(int64_t us)
{
    return psprintf(INT64_FORMAT ".%06d", us / us_per_s, static_cast<int>(us % us_per_s));
}

int64_t seconds_us(PGresult* result, int column)
{
    return strtoll(PQgetvalue(result, 0, column), nullptr, 10) * us_per_s;
}

void fail(Lease* lease, int index)
{
    if (interrupted()) {
        due_us[index] = 0;
        return;
    }
    if (connection != nullptr && last_error_in_use && steady_us() < patient_until_us) {
        due_us[index] = steady_us() + first_backoff_us;
        return;
    }
    if (!lease_failing(lease) && connection != nullptr) {
        ereport(LOG,
                errmsg("coordinator of leases \"%s\" gives no lease", settings.coordinator_name),
                errdetail("%s.", last_error));
    }
    lease_set_error(lease, last_error);
    postpone(index);
}

// Tells the coordinator the last moment of a lease that is closed. What is not told runs out.
void release(Lease* lease, int64_t last_us)
{
    if (!connected()) {
        return;
    }
    const char* const values[] = {token_text(lease), seconds_text(last_us)};
    PGresult* result =
        query(psprintf("SELECT %srelease($1::pg_catalog.uuid, "
                       "pg_catalog.to_timestamp($2::pg_catalog.numeric::pg_catalog.float8))",
                       functions),
              2, values);
    if (answered(result)) {
        PQclear(result);
    }
}

// What this server calls itself to the coordinator.
const char* holder_name()
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return cluster_name[0] != '\0' ? psprintf("%s:%d %s", host, PostPortNumber, cluster_name)
                                   : psprintf("%s:%d", host, PostPortNumber);
}

void acquire(Lease* lease, int index)
{
    if (!connected()) {
        fail(lease, index);
        return;
    }
    const bool any = lease->wanted == any_node;
    const char* const values[max_parameters] = {settings.realm, holder_name(),
                                                psprintf("%d s", settings.lease_ttl_s),
                                                any ? nullptr : psprintf("%u", lease->wanted),
                                                any ? psprintf("%u", lease->max_node) : nullptr};
    PGresult* result = query(
        psprintf(
            "SELECT node, token, pg_catalog.date_part('epoch', lease_start)::pg_catalog.int8, "
            "pg_catalog.date_part('epoch', lease_end)::pg_catalog.int8 "
            "FROM %sacquire($1::pg_catalog.text, $2::pg_catalog.text, $3::pg_catalog.interval, "
            "$4::pg_catalog.int4, $5::pg_catalog.int4)",
            functions),
        max_parameters, values);
    if (!answered(result)) {
        fail(lease, index);
        return;
    }
    const auto node = static_cast<uint32_t>(strtoul(PQgetvalue(result, 0, 0), nullptr, 10));
    const Datum token = DirectFunctionCall1(uuid_in, CStringGetDatum(PQgetvalue(result, 0, 1)));
    const int64_t start_us = seconds_us(result, 2);
    const int64_t end_us = seconds_us(result, 3);
    PQclear(result);
    lease_grant(lease, node, DatumGetUUIDP(token)->data, start_us, end_us);
    refused[index] = false;
    if (wall_us() >= end_us) {
        release(lease, lease_close(lease));
        remember_error(psprintf("it gave a lease until %s, and this server's clock says %s",
                                moment_text(end_us), moment_text(wall_us())));
        fail(lease, index);
        return;
    }
    plan_renewal(index, end_us);
    ereport(LOG, errmsg("node %u is leased to this server", node),
            errdetail("Coordinator \"%s\" gave it from %s on.", settings.coordinator_name,
                      moment_text(start_us)));
}

void renew(Lease* lease, int index)
{
    if (!connected()) {
        fail(lease, index);
        return;
    }
    const auto known_us = static_cast<int64_t>(pg_atomic_read_u64(&lease->end_us));
    const char* const values[] = {token_text(lease), psprintf("%d s", settings.lease_ttl_s),
                                  seconds_text(known_us)};
    PGresult* result = query(
        psprintf(
            "SELECT pg_catalog.date_part('epoch', %srenew($1::pg_catalog.uuid, "
            "$2::pg_catalog.interval, "
            "pg_catalog.to_timestamp($3::pg_catalog.numeric::pg_catalog.float8)))::pg_catalog.int8",
            functions),
        3, values);
    if (!answered(result)) {
        refused[index] = connection != nullptr;
        fail(lease, index);
        return;
    }
    const int64_t end_us = Max(known_us, seconds_us(result, 0));
    lease_extend(lease, end_us);
    PQclear(result);
    plan_renewal(index, end_us);
}

void release_all()
{
    stopping = true;
    stop_limit_us = steady_us() + release_limit_us;
    int64_t last_us[max_leases];
    LeaseTable* table = shared_leases();
    // First of all no id is made any more.
    for (int i = 0; i < max_leases; i++) {
        Lease* lease = &table->leases[i];
        last_us[i] =
            lease->in_use && pg_atomic_read_u64(&lease->end_us) != 0 ? lease_close(lease) : 0;
    }
    for (int i = 0; i < max_leases; i++) {
        if (last_us[i] != 0) {
            release(&table->leases[i], last_us[i]);
        }
        due_us[i] = backoff_us[i] = 0;
        refused[i] = false;
    }
    patient_until_us = steady_us() + patience_us;
    disconnect();
    stopping = false;
}

// One look at a lease. Returns when the next is due, on the steady clock.
int64_t attend(Lease* lease, int index)
{
    const int64_t steady = steady_us();
    const auto end_us = static_cast<int64_t>(pg_atomic_read_u64(&lease->end_us));
    const auto used_us = static_cast<int64_t>(pg_atomic_read_u64(&lease->used_at));
    const bool idle = steady - used_us > idle_limit_us;
    if (end_us == 0) {
        if (idle) {
            lease_forget(lease);
            return steady + longest_sleep_us;
        }
        if (steady >= due_us[index]) {
            acquire(lease, index);
        }
    } else if (wall_us() >= end_us || idle) {
        const int64_t last_us = lease_close(lease);
        if (!idle) {
            ereport(
                LOG, errmsg("the lease of node %u ended at %s", lease->node, moment_text(end_us)),
                errdetail("%s.", last_error[0] != '\0' ? last_error
                                                       : "This server was stopped, or its clock "
                                                         "was set"));
        }
        release(lease, last_us);
        refused[index] = false;
        due_us[index] = 0;
        return 0;
    } else if (!refused[index] && steady >= due_us[index]) {
        renew(lease, index);
    }
    const auto new_end_us = static_cast<int64_t>(pg_atomic_read_u64(&lease->end_us));
    if (new_end_us == 0) {
        return due_us[index];
    }
    const int64_t left_us = Max(0, new_end_us - wall_us());
    return refused[index] ? steady_us() + left_us : Min(due_us[index], steady_us() + left_us);
}

void detach(int, Datum)
{
    LeaseTable* table = shared_leases();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    if (table->keeper_pid == MyProcPid) {
        table->keeper_pid = 0;
        table->keeper_latch = nullptr;
        table->keeper_asked_at = 0;
    }
    LWLockRelease(AddinShmemInitLock);
}

// False when there is a keeper already.
bool attach()
{
    LeaseTable* table = shared_leases();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const bool alone = table->keeper_pid == 0;
    if (alone) {
        table->keeper_pid = MyProcPid;
        table->keeper_latch = MyLatch;
    }
    LWLockRelease(AddinShmemInitLock);
    return alone;
}

bool has_coordinator()
{
    return settings.coordinator[0] != '\0' && settings.coordinator_problem == nullptr;
}

// Takes over the settings: true when there is a coordinator.
bool take_settings()
{
    LeaseTable* table = shared_leases();
    const bool wanted = has_coordinator();
    if (used_realm != nullptr && (!wanted || strcmp(used_realm, settings.realm) != 0)) {
        release_all();
    }
    if (!wanted) {
        lease_end_force();
        return false;
    }
    // Leases stay when the coordinator is reached in another way. Another coordinator, which does
    // not know them, lets them run out.
    if (used_coordinator != nullptr && strcmp(used_coordinator, settings.coordinator) != 0) {
        disconnect();
        connect_due_us = connect_backoff_us = 0;
        away = false;
    }
    replace(&used_coordinator, settings.coordinator);
    replace(&used_realm, settings.realm);
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    strlcpy(table->coordinator, settings.coordinator_name, sizeof table->coordinator);
    LWLockRelease(AddinShmemInitLock);
    lease_begin_force();
    return true;
}

void describe_worker(BackgroundWorker* worker)
{
    memset(worker, 0, sizeof *worker);
    worker->bgw_flags = BGWORKER_SHMEM_ACCESS;
    worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker->bgw_restart_time = restart_s;
    strlcpy(worker->bgw_library_name, "flakeid", sizeof worker->bgw_library_name);
    strlcpy(worker->bgw_function_name, "flakeid_keeper_main", sizeof worker->bgw_function_name);
    strlcpy(worker->bgw_name, "flakeid keeper of leases", sizeof worker->bgw_name);
    strlcpy(worker->bgw_type, "flakeid keeper of leases", sizeof worker->bgw_type);
}

const char* option_value(const PQconninfoOption* options, const char* keyword)
{
    for (const PQconninfoOption* at = options; at->keyword != nullptr; at++) {
        if (strcmp(at->keyword, keyword) == 0 && at->val != nullptr) {
            return at->val;
        }
    }
    return "";
}

} // namespace

bool read_coordinator(const char* conninfo, char* name, size_t size, const char** reason)
{
    char* error = nullptr;
    PQconninfoOption* options = PQconninfoParse(conninfo, &error);
    if (options == nullptr) {
        // The error may quote a part of the text that holds a password.
        *reason = "It is no connection string of libpq.";
        PQfreemem(error);
        return false;
    }
    constexpr const char* secrets[] = {"password", "sslpassword", "scram_client_key",
                                       "scram_server_key", "oauth_client_secret"};
    bool secret = false;
    for (const char* keyword : secrets) {
        secret = secret || option_value(options, keyword)[0] != '\0';
    }
    if (secret) {
        *reason = "It holds a password, which many may read.";
    } else {
        const char* service = option_value(options, "service");
        const char* host = option_value(options, "host");
        const char* address = option_value(options, "hostaddr");
        const char* port = option_value(options, "port");
        const char* database = option_value(options, "dbname");
        snprintf(name, size, "%s%s%s%s%s%s", service[0] != '\0' ? "service " : "", service,
                 host[0] != '\0' ? host : address, port[0] != '\0' ? ":" : "", port,
                 database[0] != '\0' ? "/" : "");
        strlcat(name, database, size);
    }
    PQconninfoFree(options);
    return !secret;
}

void keeper_start()
{
    LeaseTable* table = shared_leases();
    const int64_t steady = steady_us();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const bool ours = table->keeper_pid == 0 && (table->keeper_asked_at == 0 ||
                                                 steady - table->keeper_asked_at > start_limit_us);
    if (ours) {
        table->keeper_asked_at = steady;
    }
    LWLockRelease(AddinShmemInitLock);
    if (!ours) {
        return;
    }
    BackgroundWorker worker;
    describe_worker(&worker);
    if (!RegisterDynamicBackgroundWorker(&worker, nullptr)) {
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        table->keeper_asked_at = 0;
        LWLockRelease(AddinShmemInitLock);
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                errmsg("no worker process is free to take leases"),
                errhint("Raise max_worker_processes, now %d, or put flakeid into "
                        "shared_preload_libraries, so that it has one from the start.",
                        max_worker_processes));
    }
}

void keeper_init()
{
    if (process_shared_preload_libraries_in_progress && has_coordinator()) {
        BackgroundWorker worker;
        describe_worker(&worker);
        RegisterBackgroundWorker(&worker);
    }
}

} // namespace flakeid

using namespace flakeid;

FLAKEID_EXPORT(void flakeid_keeper_main(Datum);)

void flakeid_keeper_main(Datum)
{
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    BackgroundWorkerUnblockSignals();
    if (!attach()) {
        proc_exit(0);
    }
    before_shmem_exit(detach, 0);
    patient_until_us = steady_us() + patience_us; // what a keeper before this one gave back
    MemoryContext loop =
        AllocSetContextCreate(TopMemoryContext, "flakeid keeper", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(loop);
    bool wanted = take_settings();
    LeaseTable* table = shared_leases();
    while (wanted && !ShutdownRequestPending) {
        int64_t next_us = steady_us() + longest_sleep_us;
        for (int i = 0; i < max_leases && !interrupted(); i++) {
            if (table->leases[i].in_use) {
                next_us = Min(next_us, attend(&table->leases[i], i));
            }
        }
        const int64_t left_us = Max(0, next_us - steady_us());
        if (!interrupted()) {
            (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                            static_cast<long>((left_us + us_per_ms - 1) / us_per_ms),
                            PG_WAIT_EXTENSION);
            ResetLatch(MyLatch);
        }
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
            wanted = take_settings();
        }
        MemoryContextReset(loop);
    }
    if (ShutdownRequestPending) {
        release_all();
    }
    proc_exit(0);
}
