// One question to another server, from a session that waits for the answer.
#pragma once

namespace flakeid {

// The one value of the one row that `sql` returns there, palloc'ed; nullptr and why there is none,
// palloc'ed. It takes some seconds at most, and can be cancelled.
const char* ask_server(const char* conninfo, const char* sql, const char** trouble);

} // namespace flakeid
