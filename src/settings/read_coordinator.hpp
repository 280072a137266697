// The reading of flakeid.coordinator, which the settings ask for and src/leases knows.
#pragma once

#include "core/plain.hpp"

#include <cstddef>

namespace flakeid {

constexpr size_t coordinator_name_size = 128;

// What a connection string says.
struct CoordinatorText {
    char name[coordinator_name_size]; // what messages call the coordinator: hosts and database
    char problem[512];                // why there is none; empty: there is one
    bool no_client; // the problem: nothing here can ask a coordinator, whatever the string says
};

extern const char client_hint[]; // where nothing can

// Reads a connection string. False with a problem when it is none or holds a password, or when the
// library that would ask the coordinator cannot be used.
bool read_coordinator(const char* conninfo, CoordinatorText* text);

static_assert(is_plain<CoordinatorText>);

} // namespace flakeid
