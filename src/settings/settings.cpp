#include "settings/settings.hpp"

#include "core/stamp.hpp"
#include "server/guc.hpp"
#include "server/messages.hpp"

extern "C" {
#include "catalog/pg_authid.h"
#include "utils/inval.h"
}

namespace flakeid {

Settings settings;

namespace {

constexpr int default_max_ahead_ms = assumed_ahead_us / us_per_ms;
constexpr int min_max_ahead_ms = least_max_ahead_us / us_per_ms;
constexpr int max_max_ahead_ms = most_max_ahead_us / us_per_ms;
constexpr int default_max_leap_s = 86400;
constexpr int default_cache = 1;
constexpr int max_cache = 1000000;

const config_enum_entry when_ahead_options[] = {
    {"wait", static_cast<int>(WhenAhead::wait), false},
    {"error", static_cast<int>(WhenAhead::error), false},
    {nullptr, 0, false},
};

// What the server keeps the settings in; decoded copies stand in `settings`.
char* layout_string;
int max_ahead_ms;
int when_ahead;
int max_leap_s;
char* old_row_nodes; // of this database; nobody reads it here

EarlyValue early_layout = {"flakeid.layout", false, nullptr, false};

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
        return refuse(early_layout);
    }
    return keep(layout, extra);
}

void assign_layout(const char* newval, void* extra)
{
    const auto* layout = static_cast<const Layout*>(extra);
    if (!same_layout(settings.layout, *layout)) {
        CallSyscacheCallbacks(PROCOID, layout_in_plans); // of this session; it looks nothing up
    }
    settings.layout = *layout;
    settings.layout_text = newval;
    settings_changed();
    assigned(early_layout, extra);
}

// Ids that were reserved before are dropped: what was drawn one by one meanwhile is above them.
void assign_cache(int, void*)
{
    settings.draw_version++;
}

void assign_max_ahead(int newval, void*)
{
    settings.max_ahead_us = newval * us_per_ms;
    settings.draw_version++;
}

void assign_when_ahead(int newval, void*)
{
    settings.when_ahead = static_cast<WhenAhead>(newval);
}

void assign_max_leap(int newval, void*)
{
    settings.max_leap_us = newval * us_per_s;
}

} // namespace

int parsed_max_ahead_ms(const char* value)
{
    int ms;
    return parse_int(value, &ms, GUC_UNIT_MS, nullptr) ? std::clamp(ms, 0, max_max_ahead_ms) : 0;
}

namespace {

// What the configuration files say, in the order in which the server reads them; 0: nothing.
int max_ahead_of_files_ms()
{
    ConfigVariable *first = nullptr, *last = nullptr;
    // What cannot be read, the server has told the log of.
    (void)ParseConfigFile(ConfigFileName, true, nullptr, 0, 0, DEBUG1, &first, &last);
    (void)ParseConfigFile(PG_AUTOCONF_FILENAME, false, nullptr, 0, 0, DEBUG1, &first, &last);
    int ms = 0;
    for (const ConfigVariable* one = first; one != nullptr; one = one->next) {
        if (one->name != nullptr && pg_strcasecmp(one->name, max_ahead_name) == 0) {
            ms = parsed_max_ahead_ms(one->value);
        }
    }
    FreeConfigVariables(first);
    return ms;
}

// What the command line of the server says, as the server keeps it; 0: nothing.
int max_ahead_of_command_line_ms()
{
    constexpr char with_dash[] = "max-ahead"; // the server takes both
    char line[8 * MAXPGPATH];
    FILE* file = AllocateFile("postmaster.opts", "r");
    if (file == nullptr) {
        return 0;
    }
    int ms = 0;
    if (fgets(line, sizeof line, file) != nullptr) {
        for (const char* name : {max_ahead_name, with_dash}) {
            for (char* at = line; (at = strstr(at, name)) != nullptr;) {
                at += strlen(name);
                char* value = at + 1;
                char* end = *at == '=' ? strchr(value, '"') : nullptr; // each option is quoted
                if (end != nullptr) {
                    *end = '\0';
                    ms = std::max(ms, parsed_max_ahead_ms(value));
                    *end = '"';
                }
            }
        }
    }
    FreeFile(file);
    return ms;
}

} // namespace

int64_t configured_max_ahead_us()
{
    const auto reset =
        static_cast<int>(strtol(GetConfigOptionResetString(max_ahead_name), nullptr, 10));
    return std::max({reset, max_ahead_of_files_ms(), max_ahead_of_command_line_ms()}) * us_per_ms;
}

void require_good_settings()
{
    require_good(early_layout);
}

bool good_settings()
{
    return is_good(early_layout);
}

bool client_sees_settings()
{
    return has_privs_of_role(GetOuterUserId(), ROLE_PG_READ_ALL_SETTINGS);
}

void settings_init()
{
    static char when_ahead_text[128];
    snprintf(when_ahead_text, sizeof when_ahead_text,
             "wait: for at most flakeid.max_ahead and %g s, then an error. error: at once.",
             static_cast<double>(longest_wait_us(0)) / us_per_s);
    DefineCustomStringVariable("flakeid.layout", "Layout of the ids that flake_next() makes.",
                               "The name of a preset (see view flakeid.layouts) or a layout text.",
                               &layout_string, "snowflake", PGC_SUSET, guc_flags(), check_layout,
                               assign_layout, nullptr);
    DefineCustomIntVariable("flakeid.max_ahead", "How far ahead of the clock ids may run.",
                            "What happens past that is what flakeid.when_ahead says.",
                            &max_ahead_ms, default_max_ahead_ms, min_max_ahead_ms, max_max_ahead_ms,
                            PGC_SUSET, guc_flags(GUC_UNIT_MS), nullptr, assign_max_ahead, nullptr);
    DefineCustomEnumVariable(
        "flakeid.when_ahead",
        "What happens when ids would run further ahead than flakeid.max_ahead.", when_ahead_text,
        &when_ahead, static_cast<int>(WhenAhead::wait), when_ahead_options, PGC_SUSET, guc_flags(),
        nullptr, assign_when_ahead, nullptr);
    DefineCustomIntVariable(
        "flakeid.max_leap", "How far the wall clock may run ahead of the uptime clock.",
        "Zero turns the check off.", &max_leap_s, default_max_leap_s, 0, PG_INT32_MAX, PGC_SUSET,
        guc_flags(GUC_UNIT_S), nullptr, assign_max_leap, nullptr);
    DefineCustomIntVariable("flakeid.cache", "Ids that a session reserves at once.",
                            "As CACHE of a sequence; 1 keeps ids rising across sessions.",
                            &settings.cache, default_cache, 1, max_cache, PGC_SUSET, guc_flags(),
                            nullptr, assign_cache, nullptr);
    DefineCustomStringVariable(
        "flakeid.old_row_nodes", "Nodes that old rows of this database have, with their tables.",
        "flakeid.convert() and flakeid.convert_undo() keep it, with ALTER "
        "DATABASE.",
        &old_row_nodes, "", PGC_SUSET, guc_flags(), nullptr, nullptr, nullptr);
}

} // namespace flakeid
