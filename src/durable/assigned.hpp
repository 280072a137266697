// What flakeid.state remembers of flakeid.node and flakeid.coordinator: dumps and pg_upgrade do not
// carry what ALTER SYSTEM set, and two servers that lost it would both have node 0.
#pragma once

#include <cstdint>

namespace flakeid {

// Remembers what was assigned to this server or database; called when a generator is made, or has a
// lease for the first time. What only a role or a session has does not count. Raises an error where
// something was assigned before and the default is in effect now.
void remember_assigned();

// Takes over Durable::assigned of a dump, where nothing else is known here. Raises an error when it
// is no such number.
void restore_assigned(int64_t assigned);

// Has the next session read the row again. To be called by whoever makes another one, which no
// session sees before the transaction ends.
void forget_assigned();

} // namespace flakeid
