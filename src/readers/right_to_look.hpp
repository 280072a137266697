// Who may look into ids.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

// What the current user is about to look into.
enum class Looking { enciphered, sealed };

// An error unless the user may call flake_decrypt(bigint), or flake_in_range(flake_sealed,
// tstzrange) for sealed ids.
void check_right_to_look(FunctionCallInfo fcinfo, Oid user, Looking into);

// Tells whether the current user may look into enciphered ids. `beside`: a function of the
// extension.
bool may_look(Oid beside);

// An error unless the current user may call that function, as everybody must who looks into
// enciphered ids, composes one, or finds sealed ids by time. `checked` remembers the user between
// calls.
inline void require_right_to_look(FunctionCallInfo fcinfo, Oid* checked, Looking into)
{
    const Oid user = GetUserId();
    if (unlikely(*checked != user)) {
        check_right_to_look(fcinfo, user, into);
        *checked = user;
    }
}

} // namespace flakeid
