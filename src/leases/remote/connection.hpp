// A connection to a coordinator, and how its user waits.
#pragma once

#include "core/steady.hpp"
#include "leases/remote/connection_string.hpp"
#include "leases/rules/answer.hpp"

struct pg_conn; // PGconn

namespace flakeid {

enum class Ready { yes, late, interrupted };

// How a client waits and tells the time.
struct Waiter {
    Steady (*now)();
    // Waits until the socket can be read or, if that is asked for, written, until `until`.
    // `settled`: an answer is on its way that counts, and only a stop interrupts.
    Ready (*wait)(int socket, bool to_read, bool to_write, Steady until, bool settled);
    // True when there is no use in further attempts, as after each look-up of a name.
    bool (*interrupted)();
};

struct Coordinator {
    const Waiter* waiter;
    const char* conninfo; // the caller's
    Steady stop;          // nothing is waited for past this moment
    pg_conn* connection;
    Address address;  // where the connection is, or was
    bool has_address; // there was one
    bool unanswering; // a question asked at `address` got no answer: others are tried first
    bool warned;      // by the other server, since the last question
    char name[32];    // application_name of this client's connections, and of nobody else's
    Term known;       // of the coordinators that answered, the last; the caller keeps it
    Trouble trouble;  // of the last call that failed
    char text[trouble_text_size];
};

void coordinator_disconnect(Coordinator& c);

static_assert(is_plain<Waiter, Coordinator>);

} // namespace flakeid
