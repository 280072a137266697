#include "leases/remote/ask.hpp"

#include "core/plain_text.hpp"
#include <cstdio>
#include <cstring>

namespace flakeid {

namespace {

constexpr int64_t query_limit_us = INT64_C(10) * 1000000;
constexpr int max_results = 3; // to one question: a row, its end, nothing more
constexpr char sqlstate_in_use[] = "55006";
constexpr char sqlstate_used_token[] = "42710";
constexpr char sqlstate_not_available[] = "55P03";
constexpr char class_connection[] = "08";
constexpr char class_rollback[] = "40";
constexpr char class_intervention[] = "57";

} // namespace

void coordinator_disconnect(Coordinator& c)
{
    PQfinish(c.connection);
    c.connection = nullptr;
}

bool trouble(Coordinator& c, Trouble why, const char* text)
{
    c.trouble = why;
    (void)plain_text(text, strlen(text), c.text, sizeof c.text);
    return false;
}

bool lost(Coordinator& c, Trouble why, const char* text)
{
    c.unanswering =
        why == Trouble::away || why == Trouble::nonsense || why == Trouble::not_believed;
    (void)trouble(c, why, text);
    coordinator_disconnect(c);
    return false;
}

bool wait_for(Coordinator& c, bool to_read, bool to_write, Steady limit, bool settled)
{
    const Steady until = limit < c.stop ? limit : c.stop; // same with <=: the same moment
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

namespace {

// Sends what is left, and reads until a result can be taken without blocking.
bool await_result(Coordinator& c, Steady limit)
{
    for (;;) {
        const int unsent = PQflush(c.connection);
        if (unsent < 0) {
            return lost(c, Trouble::away, PQerrorMessage(c.connection));
        }
        if (unsent == 0 && PQisBusy(c.connection) == 0) {
            return c.waiter->now() < limit || // same with <=: a microsecond
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

// What an error says. The connection stays, unless another coordinator is to be asked.
void keep_refusal(Coordinator& c, const PGresult* result)
{
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    auto says = [&](const char* code) {
        return state != nullptr && strncmp(state, code, strlen(code)) == 0;
    };
    // The others say what to do by themselves.
    const char* hint =
        says(class_connection) ? PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) : nullptr;
    char text[2 * trouble_text_size];
    snprintf(text, sizeof text, "%s%s%s%s%s",
             message != nullptr ? message : "an error without a text",
             detail != nullptr ? ". " : "", detail != nullptr ? detail : "",
             hint != nullptr ? " " : "", hint != nullptr ? hint : "");
    const bool busy =
        says(sqlstate_not_available) || says(class_rollback) || says(class_intervention);
    if (says(class_connection)) {
        (void)lost(c, Trouble::not_believed, text);
        return;
    }
    (void)trouble(c,
                  busy                        ? Trouble::busy
                  : says(sqlstate_in_use)     ? Trouble::in_use
                  : says(sqlstate_used_token) ? Trouble::used_token
                                              : Trouble::refused,
                  text);
}

} // namespace

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
        good = results < max_results; // same with <=: only a bound
        if (status == PGRES_SINGLE_TUPLE && row == nullptr) {
            row = result;
            continue;
        }
        if (status == PGRES_FATAL_ERROR && PQstatus(c.connection) == CONNECTION_OK) {
            keep_refusal(c, result);
            refused = true;
            good = c.connection != nullptr;
        } else {
            good = good && status == PGRES_TUPLES_OK && PQntuples(result) == 0;
        }
        PQclear(result);
    }
    if (c.connection == nullptr) {
        PQclear(row);
        return nullptr;
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

} // namespace flakeid
