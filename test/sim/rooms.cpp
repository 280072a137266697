// Rooms of flakeid that are not simulated: what the others ask them has one answer here.
#include "citus.hpp"
#include "granted.hpp"
#include "secret.hpp"
#include "several.hpp"
#include "worker.hpp"

namespace flakeid {

// ---- The secret is always the same.
ExpandedSecret expanded_secret;

void secret_init() {}

void load_key()
{
    const unsigned char bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    sparx_expand(bytes, &expanded_secret.key[0]);
    expanded_secret.present = 1;
    expanded_secret.loaded = expanded_secret.generation = settings.generation;
}

// ---- The server is the only one, and everybody may do everything.
void refuse_shared_node() {}

Citus citus_cluster()
{
    return {};
}

void require_granted(const Layout&, const char*, const NodeSpan&, int32_t) {}

const char* function_of_layout_line(const char*)
{
    return "";
}

} // namespace flakeid
