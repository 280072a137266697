#include "settings.hpp"

#include "conninfo.hpp"
#include "messages.hpp"
#include "secret.hpp"

extern "C" {
#include "catalog/pg_authid.h"
#include "tcop/pquery.h"
}

namespace flakeid {

Settings settings;

namespace {

constexpr int default_max_ahead_ms = 5000;
constexpr int min_max_ahead_ms = 1000;
constexpr int max_max_ahead_ms = 86400000;
constexpr int default_max_leap_s = 86400;
constexpr int default_cache = 1;
constexpr int max_cache = 1000000;
constexpr int default_lease_ttl_s = 60;
constexpr int min_lease_ttl_s = 3;
constexpr int max_lease_ttl_s = 86400;
constexpr int max_realm_length = 63;

// What SHOW prints of flakeid.secret, set or not. It also takes the place of the secret in the
// server's own copy of the setting, which its log of a changed configuration would print.
constexpr char hidden[] = "********";

const config_enum_entry when_ahead_options[] = {
    {"wait", static_cast<int>(WhenAhead::wait), false},
    {"error", static_cast<int>(WhenAhead::error), false},
    {nullptr, 0, false},
};

// What the server keeps the settings in; decoded copies stand in `settings`.
char* layout_string;
char* node_string;
char* secret_string;
char* secret_file_string;
char* coordinator_string;
char* realm_string;
int max_ahead_ms;
int when_ahead;
int max_leap_s;

// A value that was set before the library was loaded, and is not valid, is remembered: the server
// goes on with the built-in value, which nobody wanted.
struct Loaded {
    bool broken;
    const void* built_in; // what the check hook made of that value
    bool in_effect;       // it is what stands there now
};
bool loading;
Loaded loaded_layout, loaded_node;

bool refuse(Loaded& setting)
{
    setting.broken = setting.broken || loading;
    return false;
}

void assigned(Loaded& setting, const void* extra)
{
    if (setting.built_in == nullptr) {
        setting.built_in = extra;
    }
    setting.in_effect = extra == setting.built_in;
}

template <typename T>
bool keep(const T& value, void** extra)
{
    *extra = guc_malloc(LOG, sizeof(T));
    if (*extra == nullptr) {
        return false;
    }
    memcpy(*extra, &value, sizeof(T));
    return true;
}

bool check_layout(char** newval, void** extra, GucSource)
{
    Layout layout;
    const LayoutError error = parse_layout_or_preset(*newval, strlen(*newval), &layout);
    if (error.status != LayoutStatus::ok) {
        const LayoutMessage message = describe(error, *newval, strlen(*newval));
        GUC_check_errcode(ERRCODE_INVALID_PARAMETER_VALUE);
        GUC_check_errmsg("invalid layout \"%s\"", *newval);
        GUC_check_errdetail("%s", message.detail);
        GUC_check_errhint("%s", message.hint);
        return refuse(loaded_layout);
    }
    return keep(layout, extra);
}

void assign_layout(const char* newval, void* extra)
{
    memcpy(&settings.layout, extra, sizeof(Layout));
    settings.layout_text = newval;
    settings.generation++;
    assigned(loaded_layout, extra);
}

bool read_node_number(const char** at, uint32_t* value)
{
    const char* start = *at;
    uint64_t result = 0;
    while (**at >= '0' && **at <= '9' && result <= PG_INT32_MAX) {
        result = result * 10 + static_cast<uint64_t>(**at - '0');
        (*at)++;
    }
    *value = static_cast<uint32_t>(result);
    return *at != start && result <= PG_INT32_MAX;
}

bool check_node(char** newval, void** extra, GucSource source)
{
    NodeSetting node{};
    node.by_default = source == PGC_S_DEFAULT;
    const char* at = *newval;
    if (strcmp(at, "hostname") == 0) {
        node.source = NodeSource::hostname;
        return keep(node, extra);
    }
    if (strcmp(at, "ip") == 0) {
        node.source = NodeSource::ip;
        return keep(node, extra);
    }
    if (strcmp(at, "auto") == 0) {
        node.source = NodeSource::any;
        return keep(node, extra);
    }
    node.source = NodeSource::number;
    bool good = read_node_number(&at, &node.first);
    node.last = node.first;
    if (good && *at == '-') {
        at++;
        good = read_node_number(&at, &node.last) && node.first <= node.last;
    }
    if (!good || *at != '\0') {
        GUC_check_errdetail(
            "A node is a number such as 5, a span such as 8-15, auto, hostname or ip.");
        return refuse(loaded_node);
    }
    return keep(node, extra);
}

void assign_node(const char*, void* extra)
{
    memcpy(&settings.node, extra, sizeof(NodeSetting));
    settings.generation++;
    assigned(loaded_node, extra);
}

struct SecretExtra {
    bool present;
    unsigned char key[sparx_key_bytes];
};

// A parallel worker is handed the hidden text, and takes what it inherited from the postmaster.
SecretExtra inherited_secret;
SecretExtra* current_secret;

// Keeps the key in `extra` alone and takes it out of the server's copy of the text.
bool check_secret(char** newval, void** extra, GucSource)
{
    SecretExtra secret{};
    const size_t length = strlen(*newval);
    GUC_check_errmsg("invalid value for parameter \"flakeid.secret\""); // not the server's, with it
    if (IsParallelWorker() && strcmp(*newval, hidden) == 0) {
        secret = inherited_secret;
    } else if (length > 0) {
        const char* reason;
        if (!parse_secret(*newval, length, secret.key, &reason)) {
            GUC_check_errdetail("%s", reason);
            GUC_check_errhint("A secret is 32 hexadecimal digits, or exactly 16 characters.");
            return false;
        }
        secret.present = true;
    }
    char* shown = static_cast<char*>(guc_malloc(LOG, sizeof hidden));
    if (shown == nullptr) {
        return false;
    }
    memcpy(shown, hidden, sizeof hidden);
    const bool kept = keep(secret, extra);
    wipe(secret.key, sizeof secret.key);
    wipe(*newval, length);
    guc_free(*newval);
    *newval = shown;
    return kept;
}

void assign_secret(const char*, void* extra)
{
    auto* secret = static_cast<SecretExtra*>(extra);
    if (!IsParallelWorker()) {
        inherited_secret = *secret;
    }
    // A parallel worker's was freed already when it takes over the leader's settings.
    if (!IsParallelWorker()) {
        if (current_secret != nullptr && current_secret != secret) {
            wipe(current_secret->key, sizeof current_secret->key);
        }
        current_secret = secret;
    }
    forget_key();
    settings.has_secret = secret->present;
    memcpy(settings.secret, secret->key, sizeof settings.secret);
    settings.generation++;
}

const char* show_secret()
{
    return hidden;
}

bool check_secret_file(char** newval, void**, GucSource)
{
    if ((*newval)[0] != '\0' && !is_absolute_path(*newval)) {
        GUC_check_errdetail("flakeid.secret_file must be an absolute path.");
        return false;
    }
    return true;
}

void assign_secret_file(const char* newval, void*)
{
    settings.secret_file = newval;
    forget_key();
    settings.generation++;
}

struct CoordinatorExtra {
    char name[coordinator_name_size];
    const char* problem;
};

// A command such as ALTER SYSTEM is refused. Where the value stands in the configuration file, the
// server would go on with another one when it is refused there, and so without leases or with those
// of a coordinator that is not meant any more: then it is an error at use.
bool declaring;
bool set_by_command(GucSource source)
{
    return !declaring && (source != PGC_S_FILE || ActivePortal != nullptr);
}
constexpr char refused_coordinator[] = "(refused)";

bool check_coordinator(char** newval, void** extra, GucSource source)
{
    CoordinatorExtra coordinator{};
    if ((*newval)[0] == '\0' || read_coordinator(*newval, coordinator.name, sizeof coordinator.name,
                                                 &coordinator.problem)) {
        return keep(coordinator, extra);
    }
    if (set_by_command(source)) {
        GUC_check_errmsg("invalid value for parameter \"flakeid.coordinator\"");
        GUC_check_errdetail("%s", coordinator.problem);
        GUC_check_errhint("%s", coordinator_hint);
        return false;
    }
    char* shown = static_cast<char*>(guc_malloc(LOG, sizeof refused_coordinator));
    if (shown == nullptr) {
        return false;
    }
    memcpy(shown, refused_coordinator, sizeof refused_coordinator);
    wipe(*newval, strlen(*newval));
    guc_free(*newval);
    *newval = shown;
    return keep(coordinator, extra);
}

void assign_coordinator(const char* newval, void* extra)
{
    const auto* coordinator = static_cast<const CoordinatorExtra*>(extra);
    settings.coordinator = newval;
    settings.coordinator_name = coordinator->name;
    settings.coordinator_problem = coordinator->problem;
    settings.generation++;
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
    settings.realm = newval;
    settings.generation++;
}

// Ids that were reserved before are dropped: what was drawn one by one meanwhile is above them.
void assign_cache(int, void*)
{
    settings.generation++;
}

void assign_max_ahead(int newval, void*)
{
    settings.max_ahead_us = newval * us_per_ms;
    settings.generation++;
}

void assign_when_ahead(int newval, void*)
{
    settings.when_ahead = static_cast<WhenAhead>(newval);
}

void assign_max_leap(int newval, void*)
{
    settings.max_leap_us = newval * us_per_s;
}

bool of_database_or_role(GucSource source)
{
    return source == PGC_S_GLOBAL || source == PGC_S_DATABASE || source == PGC_S_USER ||
           source == PGC_S_DATABASE_USER;
}

// A setting of a library that is not loaded yet is a placeholder, which an option of the
// connection, a database or a role puts in the place of what the administrator set. The server
// drops it when the library is loaded and it may not be set there, and then the default would be in
// effect: another node, no cipher, or no coordinator.
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

} // namespace

void require_good_settings()
{
    const bool bad_layout = loaded_layout.broken && loaded_layout.in_effect;
    if (bad_layout || (loaded_node.broken && loaded_node.in_effect)) {
        const char* name = bad_layout ? "flakeid.layout" : "flakeid.node";
        ereport(
            ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("the value that parameter \"%s\" was set to is not valid", name),
            errdetail("A warning told why when the library was loaded; with preloading, in the "
                      "server's log."),
            errhint("Set it to a valid value where it was set (ALTER DATABASE, ALTER ROLE or the "
                    "configuration file), and connect again."));
    }
}

bool parse_secret(const char* text, size_t length, unsigned char* key, const char** reason)
{
    if (length == sparx_key_bytes) {
        memcpy(key, text, sparx_key_bytes);
        return true;
    }
    if (length != 2 * sparx_key_bytes) {
        *reason = "The secret has the wrong length.";
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            wipe(key, sparx_key_bytes);
            *reason = "The secret has 32 characters, but not all of them are hexadecimal digits.";
            return false;
        }
        key[i / 2] = static_cast<unsigned char>(i % 2 == 0 ? digit << 4 : key[i / 2] | digit);
    }
    return true;
}

bool client_sees_settings()
{
    return has_privs_of_role(GetOuterUserId(), ROLE_PG_READ_ALL_SETTINGS);
}

void settings_init()
{
    settings.preloaded = process_shared_preload_libraries_in_progress;
    if (!settings.preloaded) {
        refuse_lost_settings();
    }
    loading = true;

    DefineCustomStringVariable("flakeid.layout", "Layout of the ids that flake_next() makes.",
                               "The name of a preset (see view flake_layouts) or a layout text.",
                               &layout_string, "snowflake", PGC_SUSET, 0, check_layout,
                               assign_layout, nullptr);
    DefineCustomStringVariable("flakeid.node", "Node number of this server's ids.",
                               "A number, a span such as 8-15, auto, hostname or ip.", &node_string,
                               "0", PGC_SUSET, 0, check_node, assign_node, nullptr);
    DefineCustomStringVariable(
        "flakeid.secret", "Secret of enciphered layouts.",
        "32 hexadecimal digits or 16 characters. Needs shared_preload_libraries; "
        "flakeid.secret_file does not.",
        &secret_string, "", PGC_SIGHUP,
        GUC_SUPERUSER_ONLY | GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE, check_secret,
        assign_secret, show_secret);
    DefineCustomStringVariable("flakeid.secret_file", "File that holds the secret.",
                               "Only its owner may have access to it.", &secret_file_string, "",
                               PGC_SUSET, GUC_SUPERUSER_ONLY, check_secret_file, assign_secret_file,
                               nullptr);
    DefineCustomIntVariable("flakeid.max_ahead", "How far ahead of the clock ids may run.", nullptr,
                            &max_ahead_ms, default_max_ahead_ms, min_max_ahead_ms, max_max_ahead_ms,
                            PGC_SUSET, GUC_UNIT_MS, nullptr, assign_max_ahead, nullptr);
    DefineCustomEnumVariable("flakeid.when_ahead",
                             "What happens when ids would run further ahead than max_ahead.",
                             nullptr, &when_ahead, static_cast<int>(WhenAhead::wait),
                             when_ahead_options, PGC_SUSET, 0, nullptr, assign_when_ahead, nullptr);
    DefineCustomIntVariable("flakeid.max_leap",
                            "How far the wall clock may run ahead of the uptime clock.",
                            "Zero turns the check off.", &max_leap_s, default_max_leap_s, 0,
                            PG_INT32_MAX, PGC_SUSET, GUC_UNIT_S, nullptr, assign_max_leap, nullptr);
    DefineCustomIntVariable("flakeid.cache", "Ids that a session reserves at once.", nullptr,
                            &settings.cache, default_cache, 1, max_cache, PGC_SUSET, 0, nullptr,
                            assign_cache, nullptr);
    declaring = true;
    DefineCustomStringVariable(
        "flakeid.coordinator", "Connection string of the database that hands out nodes.",
        "It holds no password. Empty: nodes are as flakeid.node says.", &coordinator_string, "",
        PGC_SIGHUP, GUC_SUPERUSER_ONLY, check_coordinator, assign_coordinator, nullptr);
    declaring = false;
    DefineCustomStringVariable("flakeid.realm", "Realm of the coordinator to take nodes from.",
                               "Servers whose ids must never meet are in one realm.", &realm_string,
                               "default", PGC_SIGHUP, 0, check_realm, assign_realm, nullptr);
    DefineCustomIntVariable("flakeid.lease_ttl", "Length of a lease.",
                            "It is renewed at a third of it.", &settings.lease_ttl_s,
                            default_lease_ttl_s, min_lease_ttl_s, max_lease_ttl_s, PGC_SIGHUP,
                            GUC_UNIT_S, nullptr, nullptr, nullptr);
    MarkGUCPrefixReserved("flakeid");
    loading = false;
}

} // namespace flakeid
