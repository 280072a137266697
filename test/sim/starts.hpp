// How a server of the world starts, and from what.
#pragma once

#include "checkers.hpp"
#include "world.hpp"

namespace sim {

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
