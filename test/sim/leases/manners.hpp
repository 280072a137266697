// How a server behaves towards coordinators and itself: what costs others, whatever it says.
#pragma once

#include "server.hpp"

namespace sim {

// Of libpq, by the running process (libpq.cpp).
struct Held {
    int connections, results, lists;
};
const Held& held_of_libpq();

void manners_begin();

// The running process is the lease worker.
void begins_to_connect();
void may_connect(); // it began anew, or was connected: attempts from before do not count
void connection_ends(bool in_vain);
void lease_is_answered(); // that it has none for now, or with a lease
void asks(const std::string& sql, const std::string& conninfo);
void turn_ends(); // of its loop
void worker_ends();
void error_is_logged();

// An error where there may be one: the lease worker is out of memory, or cannot wait.
void wait_may_fail();

// No connection is kept that nobody uses.
void look_at_connections();

} // namespace sim
