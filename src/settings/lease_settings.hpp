// Where leases come from: flakeid.coordinator, flakeid.realm and flakeid.lease_ttl.
#pragma once

#include "server/postgres.hpp"
#include "settings/read_coordinator.hpp"

namespace flakeid {

constexpr char coordinator_hint[] = "Write a connection string such as host=ids.example.com "
                                    "dbname=ids user=shop, and keep the password "
                                    "in a passfile.";

struct LeaseSettings {
    const char* coordinator; // connection string; empty: none
    const CoordinatorText* coordinator_text;
    const char* realm;
    int ttl_s;
};

extern LeaseSettings lease_settings;

void lease_settings_init();

// A coordinator is set that cannot be used.
inline bool coordinator_refused()
{
    return lease_settings.coordinator_text->problem[0] != '\0';
}

// A coordinator is set and was not refused.
inline bool has_coordinator()
{
    return lease_settings.coordinator[0] != '\0' && !coordinator_refused();
}

static_assert(is_plain<LeaseSettings>);

} // namespace flakeid
