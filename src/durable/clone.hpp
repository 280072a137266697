// Whether the group that Citus gave is this server's alone.
//
// A clone of Citus is a standby that becomes a server of its own. It is promoted first, and gets a
// group of its own then; meanwhile it has that of its original, and both make ids. Their metadata
// are the same. But a server that made ids before knows that it has not been promoted since: its
// row in flakeid.state was written by its own incarnation and timeline (server_horizon.hpp).
//
// Rejected: compare the time at which the metadata were written with that of the promotion. What
// tells it, the page's LSN, moves with hints.
#pragma once

namespace flakeid {

// Returns why flakeid.node = citus may be another server's group, palloc'ed; nullptr: it is not.
const char* clone_problem();

// Raises an error where it may.
void refuse_clone();

} // namespace flakeid
