// Rooms of flakeid that are not simulated: what the others ask them has one answer here.
#include "durable/fingerprints.hpp"
#include "server/extension.hpp"
#include "settings/cluster.hpp"
#include "settings/shared_node.hpp"
#include "server.hpp"
#include "leases/holder/worker.hpp"

namespace flakeid {

// ---- The secret is always the same.
ExpandedSecret expanded_secret;

void secret_init() {}

bool secret_used()
{
    return false;
}

void load_key(bool (*)())
{
    const unsigned char bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    sparx_expand(bytes, &expanded_secret.key[0]);
    expanded_secret.present = 1;
    expanded_secret.loaded = expanded_secret.settings_version = settings.version;
}

// ---- The server is the only one, and everybody may do everything.
void refuse_shared_node() {}

Citus citus_cluster()
{
    return {};
}

int64_t max_ahead_of_roles_us()
{
    return sim::here().max_ahead_of_roles_us;
}

// ---- The SQL objects are those of the library.
const char* objects_version(const char*)
{
    return FLAKEID_VERSION;
}

void require_known_objects(const char*) {}

void throw_objects_do_not_fit(const char*, const char*)
{
    __builtin_trap();
}

} // namespace flakeid
