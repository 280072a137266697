#include "server/guc.hpp"

extern "C" {
#include "access/xact.h"
}

namespace flakeid {

namespace {

bool declaring;
int further_flags;

#ifdef GUC_ALLOW_IN_PARALLEL
constexpr int allowed_in_parallel = GUC_ALLOW_IN_PARALLEL;
#else
constexpr int allowed_in_parallel = 0;
#endif

// A setting of a library that is not loaded yet is a placeholder. An option of the connection, a
// database or a role puts one in the place of what the administrator set. When the library is
// loaded, the server drops a placeholder that may not be set there, and then the default would be
// in effect: another node, no cipher, or no coordinator.
void refuse_lost_settings()
{
    constexpr char prefix[] = "flakeid.";
    constexpr const char* of_the_file[] = {"flakeid.coordinator", "flakeid.realm",
                                           "flakeid.lease_ttl", "flakeid.secret"};
    int count;
    config_generic** all = get_guc_variables(&count);
    for (int i = 0; i < count; i++) {
        const config_generic* setting = all[i];
        if ((setting->flags & GUC_CUSTOM_PLACEHOLDER) == 0 ||
            pg_strncasecmp(setting->name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        for (const char* name : of_the_file) {
            if (pg_strcasecmp(setting->name, name) != 0) {
                continue;
            }
            if (of_database_or_role(setting->reset_source)) {
                ereport(ERROR, errcode(ERRCODE_CANT_CHANGE_RUNTIME_PARAM),
                        errmsg("parameter \"%s\" cannot be set for a database or role", name),
                        errdetail("ALTER DATABASE or ALTER ROLE set it; its place is the "
                                  "configuration file."),
                        errhint("Take it back with ALTER DATABASE or ALTER ROLE ... RESET %s, and "
                                "connect again.",
                                name));
            }
            if (setting->reset_source == PGC_S_CLIENT) {
                ereport(
                    ERROR, errcode(ERRCODE_CANT_CHANGE_RUNTIME_PARAM),
                    errmsg("parameter \"%s\" cannot be set by an option of the connection", name),
                    errdetail("Its place is the configuration file."),
                    errhint("Connect without that option; see PGOPTIONS."));
            }
        }
        if (setting->reset_source == PGC_S_CLIENT &&
            pg_parameter_aclcheck(setting->name, setting->reset_srole, ACL_SET) != ACLCHECK_OK) {
            ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied to set parameter \"%s\"", setting->name),
                    errdetail("An option of the connection sets it."),
                    errhint("Connect without that option; see PGOPTIONS."));
        }
    }
}

// A query that runs in parallel may be the first that needs the library, to print an id. Then the
// server keeps what a setting was set to only where the setting has a certain flag. Servers know
// that flag since August 2024; their own setting "is_superuser" shows whether this one does.
void keep_settings_in_parallel()
{
    further_flags = GetConfigOptionFlags("is_superuser", false) & allowed_in_parallel;
    if (further_flags == 0) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the flakeid library cannot be loaded in a parallel query"),
                errdetail("The settings flakeid.* would be lost."),
                errhint("Run LOAD 'flakeid' first, or add flakeid to shared_preload_libraries and "
                        "restart the server."));
    }
}

} // namespace

bool of_database_or_role(GucSource source)
{
    return source == PGC_S_GLOBAL || source == PGC_S_DATABASE || source == PGC_S_USER ||
           source == PGC_S_DATABASE_USER;
}

void guc_begin()
{
    if (!process_shared_preload_libraries_in_progress) {
        refuse_lost_settings();
    }
    if (IsInParallelMode()) {
        keep_settings_in_parallel();
    }
    declaring = true;
}

void guc_end()
{
    MarkGUCPrefixReserved("flakeid");
    declaring = false;
}

int guc_flags(int flags)
{
    return flags | further_flags;
}

bool guc_declaring()
{
    return declaring;
}

bool replace_value(char** newval, const char* text)
{
    const size_t size = strlen(text) + 1;
    char* shown = static_cast<char*>(guc_malloc(LOG, size));
    if (shown == nullptr) {
        return false;
    }
    memcpy(shown, text, size);
    explicit_bzero(*newval, strlen(*newval));
    guc_free(*newval);
    *newval = shown;
    return true;
}

bool refuse(EarlyValue& setting)
{
    setting.broken = setting.broken || declaring;
    return false;
}

void assigned(EarlyValue& setting, const void* extra)
{
    if (setting.built_in == nullptr) {
        setting.built_in = extra;
    }
    setting.in_effect = extra == setting.built_in;
}

void require_good(const EarlyValue& setting)
{
    if (!is_good(setting)) {
        ereport(
            ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("the value that parameter \"%s\" was set to is not valid", setting.name),
            errdetail("A warning told why when the library was loaded; with preloading, in the "
                      "server's log."),
            errhint("Set it to a valid value where it was set (ALTER DATABASE, ALTER ROLE or the "
                    "configuration file), and connect again."));
    }
}

} // namespace flakeid
