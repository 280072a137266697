// A client of the database that hands out leases: connects, asks and checks the answers. It knows
// libpq and the core alone, so that a fuzzer can run it without a server; it never blocks but in
// the resolver of host names, and raises no errors.
//
// It is a library of its own, flakeid_libpq, so that flakeid needs no libpq where no coordinator is
// named. The library needs nothing of flakeid nor of the server: it does not matter which of them
// is loaded first.
#pragma once

#include "leases/remote/connection.hpp"

namespace flakeid {

// True with a connection that questions can be asked on. Hosts and addresses are tried one by one,
// each as long as it answers within connect_timeout of the connection string, or a few seconds.
bool coordinator_connect(Coordinator& c);

// Each is one question on a connection, and true when it was answered. An answer that makes no
// sense ends the connection, and so does a coordinator that is not to be believed.
bool coordinator_acquire(Coordinator& c, const char* realm, const char* holder, const Wish& wish,
                         Grant* grant);
bool coordinator_renew(Coordinator& c, const char* realm, const Grant& known, int seconds,
                       int64_t* end_us);
bool coordinator_release(Coordinator& c, const char* realm, const unsigned char* token,
                         int64_t last_us);

// What flakeid finds in the library. The first two members stay where they are: whoever loads it
// compares them before it calls anything.
struct Client {
    const char* version; // of flakeid
    size_t size;         // of this struct
    decltype(coordinator_read)* read;
    decltype(coordinator_connect)* connect;
    decltype(coordinator_disconnect)* disconnect;
    decltype(coordinator_acquire)* acquire;
    decltype(coordinator_renew)* renew;
    decltype(coordinator_release)* release;
};

static_assert(is_plain<Client>);

} // namespace flakeid
