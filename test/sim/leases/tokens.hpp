// With which tokens servers ask: a lease that a server was given, or may have been, is never in the
// way of that server, which asks again with the token that it asked with.
#pragma once

#include "leases/hosts.hpp"

namespace sim {

void tokens_begin();

// The server that runs asks for a lease.
void token_is_asked(const Token& token);

// It gives one back, which may not be heard.
void token_is_given_back(const Token& token);

// What was given back is told again, until the coordinator has heard of it.
void look_at_given_back();

// A coordinator refuses a node to a server, which another lease has.
void node_is_refused(const Host& host, int server, const Question& question);

} // namespace sim
