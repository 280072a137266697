// What every client of another server does to connect without blocking.
#pragma once

#include <libpq-fe.h>

namespace flakeid {

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

// Drops the notices of the other server, which libpq would write to this server's log.
inline void ignore_notices(PGconn* connection)
{
    PQsetNoticeReceiver(
        connection, [](void*, const PGresult*) {}, nullptr);
}

} // namespace flakeid
