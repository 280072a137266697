// A client of the database that hands out leases: connects, asks and checks the answers. It knows
// libpq and the core alone, so that a fuzzer can run it without a server; it never blocks but in
// the resolver of host names, and raises no errors.
#pragma once

#include "remote/connection_string.hpp"
#include "core/answer.hpp"
#include "core/steady.hpp"

#include <libpq-fe.h>

namespace flakeid {

enum class Ready { yes, late, interrupted };

// How a client waits and tells the time.
struct Waiter {
    Steady (*now)();
    // Waits until the socket can be read or, if that is asked for, written, until `until`.
    // `settled`: an answer is on its way that counts, and only a stop interrupts.
    Ready (*wait)(int socket, bool to_read, bool to_write, Steady until, bool settled);
};

struct Coordinator {
    const Waiter* waiter;
    const char* conninfo; // the caller's
    Steady stop;          // nothing is waited for past this moment
    PGconn* connection;
    Address address;  // where the connection is, or was
    bool has_address; // there was one
    bool unanswering; // a question asked at `address` got no answer: others are tried first
    bool warned;      // by the other server, since the last question
    char name[32];    // application_name of this client's connections, and of nobody else's
    Trouble trouble;  // of the last call that failed
    char text[trouble_text_size];
};

// True with a connection that questions can be asked on. Hosts and addresses are tried one by one,
// each for connect_timeout of the connection string, or a few seconds.
bool coordinator_connect(Coordinator& c);
void coordinator_disconnect(Coordinator& c);

// Each is one question on a connection, and true when it was answered. An answer that makes no
// sense ends the connection.
bool coordinator_acquire(Coordinator& c, const char* realm, const char* holder, const Wish& wish,
                         Grant* grant);
bool coordinator_renew(Coordinator& c, const Grant& known, int seconds, int64_t* end_us);
bool coordinator_release(Coordinator& c, const unsigned char* token, int64_t last_us);

static_assert(is_plain<Waiter, Coordinator>);

} // namespace flakeid
