// Which coordinator a server believes: one that answered it, and none from before that.
#pragma once

#include "world.hpp"

namespace sim {

void believed_begins();

// What a server learnt just now may be lost.
void believed_crash(int server);

// The server that runs takes the answer of a coordinator, of a realm with that id. Whoever was
// answered by a coordinator is answered by no earlier one, nor for another realm, also after a
// crash. Of the last moments before that the file may say nothing.
void check_believed(int64_t origin, const std::string& realm_id);

// The id of the realm that its directory had leases of last; empty: none.
std::string realm_of(int server);

} // namespace sim
