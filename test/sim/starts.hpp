// How a server of the world starts, and from what.
#pragma once

#include "checkers.hpp"
#include "world.hpp"

namespace sim {

// guarantees.md: where only a role has a larger max_ahead, another server has to be told of it.
bool knows_most_ahead(const flakeid::Stamped& said);
bool rows_know_most_ahead(const Directory& directory);

// As initdb makes it.
Directory fresh_directory(Server& server);
// What is left when all processes are killed, or the machine stops.
Directory left_by_crash();

// An administrator does that, perhaps another one something else meanwhile, and so may sessions.
// They try again where a disk fails.
void administer(Server& server, const char* name, void (*body)(), void (*beside)() = nullptr);

// The server of the world stops, if it is up, and starts from there.
void start(Start how, Directory directory);

} // namespace sim
