// Settings, with the hooks that their owners gave them.
#include "backend.hpp"

#include "checker.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace sim {

namespace {

constexpr int most_settings = 24;

enum class Kind { text, number, choice };

struct Setting {
    const char* name;
    Kind kind;
    void* value;
    const config_enum_entry* options;
    void* check;
    void* assign;
    char reset[24];       // of numbers
    bool below_of_server; // no database or role may set it
};

PROCESS_LOCAL Setting my_settings[most_settings] = {};
PROCESS_LOCAL int my_setting_count = 0;

Setting* find_setting(const char* name)
{
    for (int i = 0; i < my_setting_count; i++) {
        if (strcmp(my_settings[i].name, name) == 0) {
            return &my_settings[i];
        }
    }
    return nullptr;
}

bool set_text(Setting& setting, const char* value, GucSource source)
{
    char* text = strdup(value);
    void* extra = nullptr;
    auto check = reinterpret_cast<GucStringCheckHook>(setting.check);
    if (check != nullptr && !check(&text, &extra, source)) {
        free(text);
        return false;
    }
    auto assign = reinterpret_cast<GucStringAssignHook>(setting.assign);
    if (assign != nullptr) {
        assign(text, extra);
    }
    *static_cast<char**>(setting.value) = text;
    return true;
}

bool set_number(Setting& setting, const char* value, GucSource source)
{
    int number = 0;
    if (setting.kind == Kind::choice) {
        const config_enum_entry* option = setting.options;
        while (option->name != nullptr && strcmp(option->name, value) != 0) {
            option++;
        }
        if (option->name == nullptr) {
            return false;
        }
        number = option->val;
    } else {
        number = atoi(value);
    }
    (void)source;
    auto assign = reinterpret_cast<GucIntAssignHook>(setting.assign);
    if (assign != nullptr) {
        assign(number, nullptr);
    }
    *static_cast<int*>(setting.value) = number;
    return true;
}

bool set(Setting& setting, const char* value, GucSource source)
{
    const bool good = setting.kind == Kind::text ? set_text(setting, value, source)
                                                 : set_number(setting, value, source);
    if (good && source != PGC_S_SESSION && setting.kind != Kind::text) {
        strlcpy(setting.reset, value, sizeof setting.reset);
    }
    return good;
}

// What the configuration, or the session's database or role, says.
void set_as_configured(Setting& setting)
{
    const Settings& own = here().of_session[my_seat];
    const Settings& file = here().configuration;
    if (const auto at = own.find(setting.name); at != own.end()) {
        (void)set(setting, at->second.c_str(), PGC_S_DATABASE);
    } else if (const auto at = file.find(setting.name); at != file.end()) {
        (void)set(setting, at->second.c_str(), PGC_S_FILE);
    }
}

Setting& define(const char* name, Kind kind, void* value, void* check, void* assign)
{
    Assert(my_setting_count < most_settings);
    Setting& setting = my_settings[my_setting_count++];
    setting = {name, kind, value, nullptr, check, assign, "", false};
    return setting;
}

} // namespace

bool set_setting(const char* name, const char* value)
{
    Setting* setting = find_setting(name);
    return setting != nullptr && set(*setting, value, PGC_S_SESSION);
}

void reload_settings()
{
    for (int i = 0; i < my_setting_count; i++) {
        set_as_configured(my_settings[i]);
    }
}

} // namespace sim

using namespace sim;

extern "C" {

// Settings
void DefineCustomStringVariable(const char* name, const char*, const char*, char** value,
                                const char* built_in, GucContext, int, GucStringCheckHook check,
                                GucStringAssignHook assign, GucShowHook)
{
    Setting& setting = define(name, Kind::text, value, reinterpret_cast<void*>(check),
                              reinterpret_cast<void*>(assign));
    (void)set(setting, built_in, PGC_S_DEFAULT);
    set_as_configured(setting);
}

void DefineCustomIntVariable(const char* name, const char*, const char*, int* value, int built_in,
                             int, int, GucContext, int, GucIntCheckHook, GucIntAssignHook assign,
                             GucShowHook)
{
    Setting& setting = define(name, Kind::number, value, nullptr, reinterpret_cast<void*>(assign));
    (void)set(setting, psprintf("%d", built_in), PGC_S_DEFAULT);
    set_as_configured(setting);
}

void DefineCustomEnumVariable(const char* name, const char*, const char*, int* value, int built_in,
                              const config_enum_entry* options, GucContext, int, GucEnumCheckHook,
                              GucEnumAssignHook assign, GucShowHook)
{
    Setting& setting = define(name, Kind::choice, value, nullptr, reinterpret_cast<void*>(assign));
    setting.options = options;
    for (const config_enum_entry* option = options; option->name != nullptr; option++) {
        if (option->val == built_in) {
            (void)set(setting, option->name, PGC_S_DEFAULT);
        }
    }
    set_as_configured(setting);
}

void MarkGUCPrefixReserved(const char*) {}

const char* GetConfigOptionResetString(const char* name)
{
    const Setting* setting = find_setting(name);
    Assert(setting != nullptr);
    return setting->reset;
}

// The simulation plans nothing.
void CallSyscacheCallbacks(int, uint32) {}
static char configuration_file[] = "postgresql.conf";
char* ConfigFileName = configuration_file;

bool ParseConfigFile(const char* name, bool, const char*, int, int, int, ConfigVariable** first,
                     ConfigVariable** last)
{
    yield();
    if (strcmp(name, configuration_file) != 0) {
        return true; // that of ALTER SYSTEM says nothing
    }
    for (const auto& [setting, value] : here().configuration) {
        auto* one = static_cast<ConfigVariable*>(palloc0(sizeof(ConfigVariable)));
        one->name = pstrdup(setting.c_str());
        one->value = pstrdup(value.c_str());
        (*first == nullptr ? *first : (*last)->next) = one;
        *last = one;
    }
    return true;
}

void FreeConfigVariables(ConfigVariable*) {}

bool parse_int(const char* value, int* result, int, const char**)
{
    *result = atoi(value);
    return true;
}

int GetConfigOptionFlags(const char*, bool)
{
    return 0;
}

int GetNumConfigOptions(void)
{
    return 0;
}

config_generic** get_guc_variables(void)
{
    return nullptr;
}

} // extern "C"
