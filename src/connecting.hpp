// What every client of another server does to connect without blocking.
#pragma once

#include <libpq-fe.h>

namespace flakeid {

// Drives an attempt that was started to its end, which PQstatus() tells. `wait` is given whether to
// read from the socket or to write to it; false when it gives up, and then it may have ended the
// connection.
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

// What the other server has to say besides answers would go to this server's log.
inline void ignore_notices(PGconn* connection)
{
    PQsetNoticeReceiver(
        connection, [](void*, const PGresult*) {}, nullptr);
}

} // namespace flakeid
