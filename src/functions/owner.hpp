// Whose a table is.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

constexpr char tables_extension[] = "flakeid_tables"; // what asks

// An error where there is no such table.
Oid owner_of(Oid table);

} // namespace flakeid
