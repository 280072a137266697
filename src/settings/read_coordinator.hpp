// The reading of flakeid.coordinator, which the settings ask for and src/leases/remote knows.
#pragma once

#include <cstddef>

namespace flakeid {

constexpr size_t coordinator_name_size = 128;

// Reads a connection string. False with a reason when it is none or holds a
// password; otherwise `name` gets what messages call the coordinator: hosts and database.
bool read_coordinator(const char* conninfo, char* name, size_t size, const char** reason);

} // namespace flakeid
