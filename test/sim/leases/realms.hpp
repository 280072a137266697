// What becomes of realms, at one coordinator or two.
#pragma once

#include "leases/faults.hpp"

namespace sim {

// How many nodes a lease has, where it has several; a server asks for no more than the least.
constexpr int32_t least_lease_nodes = 4;
constexpr int32_t most_lease_nodes = 32;

// A coordinator has this realm from the start.
void begin_realm(Host& at, const Realm& settings);

// The settings of a coordinator's realm are others from now on.
void set_realm(Host& at, const char* name, const Realm& settings);

// The realm has a further name.
void add_name();

void step_rename();
void step_divide();
void step_cut_regions();

} // namespace sim
