// Whether this server is one of several that make ids for the same tables, as far as the catalogs
// of the database tell, and the number that Citus gave it.
#pragma once

namespace flakeid {

// An error where this server is one of several and its node may be that of another: flakeid.node
// was never set, or it was set to a number for a database or role, which Citus makes the same
// everywhere. Where others may be still to come, a warning, once in a session: tables are
// published, or the server is a Citus cluster of one. To be called when a generator is made. When
// the catalogs change later, generators are made anew.
void refuse_shared_node();

// Returns a sentence that tells of others with which this server shares tables; palloc'ed, nullptr
// where the catalogs tell of none.
const char* other_servers();

} // namespace flakeid
