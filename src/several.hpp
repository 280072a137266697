// Whether this server is one of several that make ids for the same tables, as far as the catalogs
// of the database tell, and the number that Citus gave it.
#pragma once

namespace flakeid {

// An error where this server is one of several, and its node may be that of another: it was never
// set, or it was set to a number for a database or role, which Citus makes the same everywhere. A
// warning, once in a session, where that is still to come: it is published, or of a cluster of one.
// To be asked when a generator is made; what changes later in the catalogs makes generators anew.
void refuse_shared_node();

} // namespace flakeid
