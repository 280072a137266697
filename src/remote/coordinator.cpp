#include "remote/coordinator.hpp"
#include <cstdio>
#include <cstring>

namespace flakeid {

namespace {

constexpr int64_t s_us = 1000000;
constexpr int64_t query_limit_us = 10 * s_us;
constexpr int max_results = 3; // to one question: a row, its end, nothing more
constexpr int max_columns = 4;
constexpr char sqlstate_in_use[] = "55006";
constexpr char sqlstate_used_token[] = "42710";
constexpr char sqlstate_not_available[] = "55P03";
constexpr char class_rollback[] = "40";
constexpr char class_intervention[] = "57";

bool trouble(Coordinator& c, Trouble why, const char* text)
{
    c.trouble = why;
    (void)plain_text(text, strlen(text), c.text, sizeof c.text);
    return false;
}

// The same, of a connection that is of no use any more.
bool lost(Coordinator& c, Trouble why, const char* text)
{
    c.unanswering = why == Trouble::away || why == Trouble::nonsense;
    (void)trouble(c, why, text);
    coordinator_disconnect(c);
    return false;
}

bool wait_for(Coordinator& c, bool to_read, bool to_write, Steady limit, bool settled)
{
    const Steady until = limit < c.stop ? limit : c.stop;
    switch (c.waiter->wait(PQsocket(c.connection), to_read, to_write, until, settled)) {
    case Ready::yes:
        return true;
    case Ready::late:
        return lost(c, Trouble::away, "the coordinator did not answer in time");
    case Ready::interrupted:
        break;
    }
    return lost(c, Trouble::interrupted, "the lease worker was interrupted");
}

// Sends what is left, and reads until a result can be taken without blocking.
bool await_result(Coordinator& c, Steady limit)
{
    for (;;) {
        const int unsent = PQflush(c.connection);
        if (unsent < 0) {
            return lost(c, Trouble::away, PQerrorMessage(c.connection));
        }
        if (unsent == 0 && PQisBusy(c.connection) == 0) {
            return c.waiter->now() < limit ||
                   lost(c, Trouble::away, "the coordinator did not answer in time");
        }
        if (!wait_for(c, true, unsent > 0, limit, true)) {
            return false;
        }
        if (PQconsumeInput(c.connection) != 1) {
            return lost(c, Trouble::away, PQerrorMessage(c.connection));
        }
    }
}

// What an error says, on a connection that stays.
void keep_refusal(Coordinator& c, const PGresult* result)
{
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    char text[2 * trouble_text_size];
    snprintf(text, sizeof text, "%s%s%s", message != nullptr ? message : "an error without a text",
             detail != nullptr ? ". " : "", detail != nullptr ? detail : "");
    auto says = [&](const char* code) {
        return state != nullptr && strncmp(state, code, strlen(code)) == 0;
    };
    const bool busy =
        says(sqlstate_not_available) || says(class_rollback) || says(class_intervention);
    (void)trouble(c,
                  busy                        ? Trouble::busy
                  : says(sqlstate_in_use)     ? Trouble::in_use
                  : says(sqlstate_used_token) ? Trouble::used_token
                                              : Trouble::refused,
                  text);
}

// Asks a question. Returns the row that answers it, which the caller clears; or nullptr, and sets
// the trouble. No row at all is nonsense, but leaves the connection as it is.
PGresult* ask(Coordinator& c, const char* sql, int count, const char* const* values)
{
    const Steady limit = c.waiter->now() + query_limit_us;
    c.warned = false;
    if (PQsendQueryParams(c.connection, sql, count, nullptr, values, nullptr, nullptr, 0) != 1 ||
        PQsetSingleRowMode(c.connection) != 1) {
        (void)lost(c, Trouble::away, PQerrorMessage(c.connection));
        return nullptr;
    }
    PGresult* row = nullptr;
    bool refused = false;
    bool good = true;
    for (int results = 0; good; results++) {
        if (!await_result(c, limit)) {
            PQclear(row);
            return nullptr;
        }
        PGresult* result = PQgetResult(c.connection);
        if (result == nullptr) {
            break;
        }
        const ExecStatusType status = PQresultStatus(result);
        good = results < max_results;
        if (status == PGRES_SINGLE_TUPLE && row == nullptr) {
            row = result;
            continue;
        }
        if (status == PGRES_FATAL_ERROR && PQstatus(c.connection) == CONNECTION_OK) {
            keep_refusal(c, result);
            refused = true;
        } else {
            good = good && status == PGRES_TUPLES_OK && PQntuples(result) == 0;
        }
        PQclear(result);
    }
    if (PQstatus(c.connection) != CONNECTION_OK) {
        (void)lost(c, Trouble::away, PQerrorMessage(c.connection));
    } else if (!good) {
        (void)lost(c, Trouble::nonsense, describe(AnswerStatus::bad_shape));
    } else if (c.warned) {
        // Somebody ended its wait for a synchronous standby: a failover takes the answer back.
        (void)lost(c, Trouble::away, "the coordinator answered with a warning");
    } else if (!refused && row == nullptr) {
        (void)trouble(c, Trouble::nonsense, describe(AnswerStatus::bad_shape));
    } else if (!refused) {
        c.unanswering = false;
        return row;
    }
    PQclear(row);
    return nullptr;
}

// Has an answer read, and ends the connection of one that makes no sense.
template <typename Read>
bool check(Coordinator& c, PGresult* result, Read read)
{
    if (result == nullptr) {
        return false;
    }
    AnswerField fields[max_columns];
    const int columns = PQnfields(result);
    for (int i = 0; i < columns && i < max_columns; i++) {
        fields[i] =
            AnswerField{PQgetvalue(result, 0, i), static_cast<size_t>(PQgetlength(result, 0, i)),
                        PQgetisnull(result, 0, i) == 0 && PQfformat(result, i) == 0};
    }
    const AnswerStatus status = read(Answer{PQntuples(result), columns, fields});
    PQclear(result);
    return status == AnswerStatus::ok || lost(c, Trouble::nonsense, describe(status));
}

// The first question tells also whether a server that accepts sessions answers. It ends whoever
// still works there at a question that this client left: a commit that waits for a synchronous
// standby does not notice by itself. And it has the session end when this client is gone. Behind a
// pooler the session is not the client's, and has another number than the client was told.
//
// Why not PQcancel? It blocks, for good where a machine accepts connections and its postmaster
// stands still.
bool hands_out_leases(Coordinator& c)
{
    constexpr char sql[] =
        "SELECT pg_catalog.concat("
        "(SELECT pg_catalog.count(pg_catalog.pg_terminate_backend(a.pid)) "
        "FROM pg_catalog.pg_stat_get_activity(NULL) AS a "
        "WHERE a.application_name OPERATOR(pg_catalog.=) $1::pg_catalog.text "
        "AND a.state OPERATOR(pg_catalog.=) 'active' "
        "AND a.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()), "
        "CASE WHEN pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) $2::pg_catalog.int4 "
        "THEN pg_catalog.concat("
        "pg_catalog.set_config('statement_timeout', '15s', false), "
        "pg_catalog.set_config('idle_session_timeout', '15s', false), "
        "pg_catalog.set_config('tcp_user_timeout', '15s', false), "
        "pg_catalog.set_config('client_connection_check_interval', '2s', false)) END) "
        "FROM pg_catalog.pg_extension AS e "
        "WHERE e.extname OPERATOR(pg_catalog.=) 'flakeid_coordinator'";
    char pid[16];
    snprintf(pid, sizeof pid, "%d", PQbackendPID(c.connection));
    const char* const values[] = {c.name, pid};
    PGresult* result = ask(c, sql, 2, values);
    if (result == nullptr && c.connection != nullptr && c.trouble == Trouble::nonsense) {
        (void)trouble(c, Trouble::refused,
                      "extension flakeid_coordinator is not installed in the coordinator's "
                      "database");
    }
    return check(c, result, read_nothing);
}

// Drives an attempt to connect to its end; PQstatus() says then how it ended. `wait` waits until
// the socket can be read, or written where its argument is false. It returns false to give up, and
// so does this; it may have ended the connection by then.
template <typename Wait>
bool finish_connecting(PGconn* connection, Wait wait)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (PQstatus(connection) != CONNECTION_BAD && status != PGRES_POLLING_OK &&
           status != PGRES_POLLING_FAILED) {
        if (!wait(status == PGRES_POLLING_READING)) {
            return false;
        }
        status = PQconnectPoll(connection);
    }
    return true;
}

// Keeps the notices of the other server out of this server's log, where libpq would write them.
void watch_notices(Coordinator& c)
{
    PQsetNoticeReceiver(
        c.connection,
        [](void* warned, const PGresult* notice) {
            const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
            if (severity != nullptr && strcmp(severity, "WARNING") == 0) {
                *static_cast<bool*>(warned) = true;
            }
        },
        &c.warned);
}

// Connects to one address, or where all its fields are empty to whatever libpq finds.
bool connect_to(Coordinator& c, const Address& address, Steady limit)
{
    const char* const keywords[] = {"dbname", "application_name", "host", "hostaddr", "port",
                                    nullptr};
    const char* const values[] = {c.conninfo,       c.name,       address.host,
                                  address.hostaddr, address.port, nullptr};
    c.connection = PQconnectStartParams(keywords, values, 1);
    if (c.connection == nullptr) {
        return trouble(c, Trouble::failed, "out of memory");
    }
    watch_notices(c);
    if (!finish_connecting(c.connection, [&](bool reading) {
            return wait_for(c, reading, !reading, limit, false);
        })) {
        return false;
    }
    if (PQstatus(c.connection) != CONNECTION_OK || PQsetnonblocking(c.connection, 1) != 0) {
        return lost(c, Trouble::away, PQerrorMessage(c.connection));
    }
    c.address = address;
    c.has_address = true;
    if (!hands_out_leases(c)) {
        coordinator_disconnect(c);
        return false;
    }
    return true;
}

const char* seconds_text(int64_t us, char* text, size_t size)
{
    snprintf(text, size, "%lld.%06d", static_cast<long long>(us / s_us),
             static_cast<int>(us % s_us));
    return text;
}

} // namespace

void coordinator_disconnect(Coordinator& c)
{
    PQfinish(c.connection);
    c.connection = nullptr;
}

bool coordinator_connect(Coordinator& c)
{
    if (c.connection != nullptr) {
        return true; // one that is of no use any more was ended
    }
    const bool stopping = c.stop != steady_never; // no time is left to look up names
    if (stopping && c.has_address) {
        return connect_to(c, c.address, c.stop);
    }
    const Address avoided = c.address;
    const bool avoids = c.has_address && c.unanswering;
    AddressList list;
    open_addresses(list, c.conninfo, !stopping);
    (void)trouble(c, Trouble::away, "there is no host");
    auto try_address = [&](const Address& address) {
        return connect_to(c, address, stopping ? c.stop : c.waiter->now() + list.connect_limit_us);
    };
    bool open = false;
    bool cut = true;
    bool avoided_one = false;
    for (bool more = true; more && !open;) {
        Address address{};
        switch (next_address(list, &address)) {
        case NextAddress::found:
            if (avoids && same_address(address, avoided)) {
                avoided_one = true;
                continue;
            }
            open = try_address(address);
            more = c.trouble != Trouble::interrupted;
            break;
        case NextAddress::unresolved:
            (void)trouble(c, Trouble::away, list.error);
            break;
        case NextAddress::uncut:
            cut = false;
            more = false;
            break;
        case NextAddress::end:
            more = false;
            break;
        }
    }
    if (!open && (avoided_one || (!cut && !stopping)) && c.trouble != Trouble::interrupted) {
        open = try_address(cut ? avoided : Address{});
    }
    close_addresses(list);
    return open;
}

bool coordinator_acquire(Coordinator& c, const char* realm, const char* holder, const Wish& wish,
                         Grant* grant)
{
    char node[16];
    char length[24];
    char token[token_text_size];
    constexpr char sql[] =
        "SELECT node, token, pg_catalog.date_part('epoch', lease_start)::pg_catalog.int8, "
        "pg_catalog.date_part('epoch', lease_end)::pg_catalog.int8 "
        "FROM flakeid.lease_acquire($1::pg_catalog.text, $2::pg_catalog.text, "
        "$3::pg_catalog.interval, $4::pg_catalog.int4, $5::pg_catalog.int4, $6::pg_catalog.uuid)";
    write_token(wish.token, token);
    snprintf(node, sizeof node, "%u", wish.node);
    snprintf(length, sizeof length, "%d s", wish.seconds);
    const char* const values[] = {
        realm, holder, length, wish.any ? nullptr : node, wish.any ? node : nullptr, token};
    return check(c, ask(c, sql, 6, values),
                 [&](const Answer& answer) { return read_grant(answer, wish, grant); });
}

bool coordinator_renew(Coordinator& c, const Grant& known, int seconds, int64_t* end_us)
{
    constexpr char sql[] =
        "SELECT pg_catalog.date_part('epoch', flakeid.lease_renew($1::pg_catalog.uuid, "
        "$2::pg_catalog.interval, pg_catalog.to_timestamp("
        "$3::pg_catalog.numeric::pg_catalog.float8)))::pg_catalog.int8";
    char token[token_text_size];
    char length[24];
    char end[40];
    write_token(known.token, token);
    snprintf(length, sizeof length, "%d s", seconds);
    const char* const values[] = {token, length, seconds_text(known.end_us, end, sizeof end)};
    return check(c, ask(c, sql, 3, values),
                 [&](const Answer& answer) { return read_end(answer, known.start_us, end_us); });
}

bool coordinator_release(Coordinator& c, const unsigned char* token, int64_t last_us)
{
    constexpr char sql[] = "SELECT flakeid.lease_release($1::pg_catalog.uuid, "
                           "pg_catalog.to_timestamp($2::pg_catalog.numeric::pg_catalog.float8))";
    char token_text[token_text_size];
    char last[40];
    write_token(token, token_text);
    const char* const values[] = {token_text, seconds_text(last_us, last, sizeof last)};
    return check(c, ask(c, sql, 2, values), read_nothing);
}

} // namespace flakeid
