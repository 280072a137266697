#include "remote/ask.hpp"

#include "server/clock.hpp"
#include "remote/connecting.hpp"
#include "core/layout.hpp"
#include "server/postgres.hpp"

namespace flakeid {

namespace {

constexpr int64_t limit_us = 5 * us_per_s;
constexpr int longest_answer = 8192;
constexpr char late[] = "it did not answer in time";

// Waits for the socket until that moment; false when it has passed.
bool ready(PGconn* connection, bool to_read, Steady until)
{
    const int64_t left_us = until - steady_now();
    if (left_us <= 0) {
        return false;
    }
    (void)WaitLatchOrSocket(MyLatch,
                            WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH |
                                (to_read ? WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE),
                            PQsocket(connection), static_cast<long>(left_us / us_per_ms + 1),
                            PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    return true;
}

// Without the newline that ends it.
const char* error_of(const PGconn* connection)
{
    char* text = pstrdup(PQerrorMessage(connection));
    text[strcspn(text, "\n")] = '\0';
    return text;
}

const char* connect(PGconn* connection, Steady until)
{
    if (!finish_connecting(connection,
                           [&](bool reading) { return ready(connection, reading, until); })) {
        return late;
    }
    return PQstatus(connection) == CONNECTION_OK ? nullptr : error_of(connection);
}

// The value, or nullptr and `trouble`. Results are freed before anything can be raised.
const char* value_of(PGconn* connection, const char** trouble, Steady until)
{
    char value[longest_answer] = "";
    bool found = false;
    for (;;) {
        while (PQisBusy(connection) != 0) {
            if (!ready(connection, true, until)) {
                *trouble = late;
                return nullptr;
            }
            if (PQconsumeInput(connection) != 1) {
                *trouble = error_of(connection);
                return nullptr;
            }
        }
        PGresult* result = PQgetResult(connection);
        if (result == nullptr) {
            break;
        }
        found = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1 &&
                PQnfields(result) == 1 && PQgetisnull(result, 0, 0) == 0 &&
                PQgetlength(result, 0, 0) < longest_answer;
        const char* error = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
        strlcpy(value,
                found              ? PQgetvalue(result, 0, 0)
                : error != nullptr ? error
                                   : "",
                sizeof value);
        PQclear(result);
    }
    if (found) {
        return pstrdup(value);
    }
    *trouble = value[0] != '\0' ? pstrdup(value) : "it gave an answer that is none";
    return nullptr;
}

} // namespace

const char* ask_server(const char* conninfo, const char* sql, const char** trouble)
{
    const char* const keywords[] = {"fallback_application_name", "dbname", "client_encoding",
                                    nullptr};
    const char* const values[] = {"flakeid", conninfo, GetDatabaseEncodingName(), nullptr};
    const Steady until = steady_now() + limit_us;
    if (!AcquireExternalFD()) {
        *trouble = "this server has no file descriptor left";
        return nullptr;
    }
    PGconn* volatile connection = nullptr;
    const char* volatile value = nullptr;
    PG_TRY();
    {
        connection = PQconnectStartParams(keywords, values, 1);
        if (connection == nullptr) {
            *trouble = "out of memory";
        } else {
            ignore_notices(connection);
            *trouble = connect(connection, until);
            if (*trouble == nullptr && PQsendQuery(connection, sql) != 1) {
                *trouble = error_of(connection);
            }
            value = *trouble == nullptr ? value_of(connection, trouble, until) : nullptr;
        }
    }
    PG_FINALLY();
    {
        PQfinish(connection);
        ReleaseExternalFD();
    }
    PG_END_TRY();
    return value;
}

} // namespace flakeid
