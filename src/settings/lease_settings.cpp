#include "settings/lease_settings.hpp"

#include "server/guc.hpp"
#include "settings/settings.hpp"

extern "C" {
#include "tcop/pquery.h"
}

namespace flakeid {

LeaseSettings lease_settings;

namespace {

constexpr int default_lease_ttl_s = 60;
constexpr int min_lease_ttl_s = 3;
constexpr int max_lease_ttl_s = 86400;
constexpr int max_realm_length = 63;

char* coordinator_string;
char* realm_string;

// True when a command such as ALTER SYSTEM sets the value: a bad one is then refused. One in the
// configuration file is an error at use instead. If it were refused, the server would go on without
// leases, or with those of a coordinator that is no longer meant.
bool set_by_command(GucSource source)
{
    return !guc_declaring() && (source != PGC_S_FILE || ActivePortal != nullptr);
}
constexpr char refused_coordinator[] = "(refused)";

bool check_coordinator(char** newval, void** extra, GucSource source)
{
    CoordinatorText coordinator{};
    if ((*newval)[0] == '\0' || read_coordinator(*newval, &coordinator)) {
        return keep(coordinator, extra);
    }
    if (set_by_command(source)) {
        GUC_check_errmsg("invalid value for parameter \"flakeid.coordinator\"");
        GUC_check_errdetail("%s", coordinator.problem);
        GUC_check_errhint("%s", coordinator.no_client ? client_hint : coordinator_hint);
        return false;
    }
    if (!replace_value(newval, refused_coordinator)) {
        return false;
    }
    return keep(coordinator, extra);
}

void assign_coordinator(const char* newval, void* extra)
{
    lease_settings.coordinator = newval;
    lease_settings.coordinator_text = static_cast<const CoordinatorText*>(extra);
    settings_changed();
}

bool check_realm(char** newval, void**, GucSource)
{
    const size_t length = strlen(*newval);
    if (length == 0 || length > max_realm_length) {
        GUC_check_errdetail("The name of a realm has 1 to %d bytes.", max_realm_length);
        return false;
    }
    return true;
}

void assign_realm(const char* newval, void*)
{
    lease_settings.realm = newval;
    settings_changed();
}

} // namespace

void lease_settings_init()
{
    DefineCustomStringVariable(
        "flakeid.coordinator", "Connection string of the database that hands out nodes.",
        "It holds no password. Empty: nodes are as flakeid.node says.", &coordinator_string, "",
        PGC_SIGHUP, guc_flags(GUC_SUPERUSER_ONLY), check_coordinator, assign_coordinator, nullptr);
    DefineCustomStringVariable("flakeid.realm", "Realm of the coordinator to take nodes from.",
                               "Servers whose ids must never meet are in one realm.", &realm_string,
                               "default", PGC_SIGHUP, guc_flags(), check_realm, assign_realm,
                               nullptr);
    DefineCustomIntVariable("flakeid.lease_ttl", "Length of a lease.",
                            "It is renewed at a third of it, and at a start.",
                            &lease_settings.ttl_s, default_lease_ttl_s, min_lease_ttl_s,
                            max_lease_ttl_s, PGC_SIGHUP, guc_flags(GUC_UNIT_S), nullptr, nullptr,
                            nullptr);
}

} // namespace flakeid
