// What flakeid.state remembers of flakeid.node and flakeid.coordinator: dumps and pg_upgrade do not
// carry what ALTER SYSTEM set, and two servers that lost it would both have node 0.
#pragma once

#include <cstdint>

namespace flakeid {

// Remembers what this server or database was given. An error where it was given something before
// and is left with the default now.
void remember_given();

// What a dump carries: it counts where nothing else is known.
void restore_given(int64_t given);

} // namespace flakeid
