// One question on a connection to a coordinator, of whatever SQL, and what came of it.
#pragma once

#include "leases/remote/connection.hpp"

#include <libpq-fe.h>

namespace flakeid {

// Notes what went wrong; false.
bool trouble(Coordinator& c, Trouble why, const char* text);

// The same, of a connection that is of no use any more.
bool lost(Coordinator& c, Trouble why, const char* text);

// Waits until the socket can be read or written. False when it gave up, and the connection is
// lost.
bool wait_for(Coordinator& c, bool to_read, bool to_write, Steady limit, bool settled);

// Asks a question. Returns the row that answers it, which the caller clears; or nullptr, and sets
// the trouble. No row at all is nonsense, but leaves the connection as it is.
PGresult* ask(Coordinator& c, const char* sql, int count, const char* const* values);

// Has an answer read, and ends the connection of one that makes no sense.
template <typename Read>
bool check(Coordinator& c, PGresult* result, Read read)
{
    if (result == nullptr) {
        return false;
    }
    AnswerField fields[most_answer_fields];
    const int columns = PQnfields(result);
    for (int i = 0; i < columns && i < most_answer_fields; i++) {
        fields[i] =
            AnswerField{PQgetvalue(result, 0, i), static_cast<size_t>(PQgetlength(result, 0, i)),
                        PQgetisnull(result, 0, i) == 0 && PQfformat(result, i) == 0};
    }
    const AnswerStatus status = read(Answer{PQntuples(result), columns, fields});
    PQclear(result);
    return status == AnswerStatus::ok || lost(c, Trouble::nonsense, describe(status));
}

} // namespace flakeid
