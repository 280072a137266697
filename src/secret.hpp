// The configured secret: where it comes from, and who may use it.
#pragma once

#include "core/sparx.hpp"
#include "server.hpp"

namespace flakeid {

// The expanded secret of the settings in effect, or an error that says what is wrong with it. Valid
// until the settings change.
const SparxKey& configured_key();

// Wipes what configured_key() made.
void forget_key();

// An error unless the current user may call flake_decrypt(bigint), as everybody must who looks into
// enciphered ids or composes one. `checked` remembers the user between calls.
void require_decrypt_right(FunctionCallInfo fcinfo, Oid* checked);

} // namespace flakeid
