// The configured secret: where it comes from, and who may use it.
#pragma once

#include "core/sparx.hpp"
#include "postgres.hpp"
#include "settings.hpp"

namespace flakeid {

void secret_init();

enum class SecretSource { none, file, setting, not_honoured };
SecretSource secret_source();

// The expanded secret of the settings of a generation; 0: of none.
struct ExpandedSecret {
    SparxKey key;
    uint64_t generation;
};
extern ExpandedSecret expanded_secret;

// Expands the secret of the settings in effect, or throws an error that says what is wrong with it.
void load_key();

// The expanded secret of the settings in effect. Valid until the settings change.
inline const SparxKey& configured_key()
{
    if (unlikely(expanded_secret.generation != settings.generation)) {
        load_key();
    }
    return expanded_secret.key;
}

// Wipes what configured_key() made.
void forget_key();

// An error unless the user may call flake_decrypt(bigint).
void check_decrypt_right(FunctionCallInfo fcinfo, Oid user);

// An error unless the current user may call flake_decrypt(bigint), as everybody must who looks into
// enciphered ids or composes one. `checked` remembers the user between calls.
inline void require_decrypt_right(FunctionCallInfo fcinfo, Oid* checked)
{
    const Oid user = GetUserId();
    if (unlikely(*checked != user)) {
        check_decrypt_right(fcinfo, user);
        *checked = user;
    }
}

static_assert(is_plain<ExpandedSecret>);

} // namespace flakeid
