// What a server says of its leases: what is usable, what goes wrong, when the coordinator answered.
#pragma once

#include "leases/truth.hpp"

namespace sim {

void status_begins();

// The lease worker of the server that runs has an answer, an error or not; one that gives what was
// asked for; and a lease of that node. It reads the settings anew.
void status_is_answered();
void status_is_given();
void status_is_granted(uint32_t node);
void status_reads_settings();

// A session sees it.
void look_at_status();

} // namespace sim
