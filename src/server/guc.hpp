// What the owners of settings need to declare them to the server.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

// Begins the declarations. An error when a setting would be lost that may not be.
void guc_begin();
// No other setting has the prefix.
void guc_end();

// Returns the flags to declare a setting with: these, and the one that keeps its value where a
// parallel query loads the library.
int guc_flags(int flags = 0);

// Tells whether guc_begin() ran and guc_end() did not: values are then those from before the
// library was loaded.
bool guc_declaring();

// Tells whether ALTER DATABASE or ALTER ROLE set a value of that source.
bool of_database_or_role(GucSource source);

// Hands a decoded value from a check hook to the assign hook.
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

// Puts another text in the place of the server's copy of a value, which it wipes.
bool replace_value(char** newval, const char* text);

// A value that was set before the library was loaded, and is not valid, is remembered: the server
// goes on with the built-in value, which nobody wanted.
struct EarlyValue {
    const char* name; // of the setting
    bool broken;
    const void* built_in; // what the check hook made of that value
    bool in_effect;       // it is what stands there now
};

// For the check hook: false.
bool refuse(EarlyValue& setting);
// For the assign hook.
void assigned(EarlyValue& setting, const void* extra);

// An error when the setting was not valid when the library was loaded, and still is not set: the
// server has put the default in its place, with no more than a warning.
void require_good(const EarlyValue& setting);

inline bool is_good(const EarlyValue& setting)
{
    return !setting.broken || !setting.in_effect;
}

static_assert(is_plain<EarlyValue>);

} // namespace flakeid
