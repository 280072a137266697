// A client of the database that hands out leases: connects, asks and checks the answers. It knows
// libpq and the core alone, so that a fuzzer can run it without a server; it never blocks but in
// the resolver of host names, and raises no errors.
#pragma once

#include "leases/remote/ask.hpp"

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

} // namespace flakeid
