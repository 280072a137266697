// The lease worker as a process of a server.
#pragma once

#include "server.hpp"

#include <csignal>

namespace sim {

// nullptr: there is none.
Process* lease_worker(Server& server);
int64_t worker_began(Server& server); // true time
void start_worker(Server& server, int64_t at);
// The library asked for it while it was preloaded.
bool worker_is_registered(const Server& server);
// The server stops: the worker is told to end, and no other one begins.
void stop_worker(Server& server);
// Somebody ends its process; the server starts another one, or a session does.
void terminate_worker(Server& server);
void forget_worker(Server& server);
// As a signal that sets that variable of a process.
void signal_worker(Process& process, volatile sig_atomic_t& pending);

} // namespace sim
