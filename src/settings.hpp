// The settings flakeid.*: decoded when they are set, never per call.
#pragma once

#include "core/layout.hpp"
#include "core/sparx.hpp"
#include "postgres.hpp"

namespace flakeid {

enum class NodeSource { number, hostname, ip, any };
enum class WhenAhead : int { wait, error };

// flakeid.node as it was written; what the host says is looked up at use.
struct NodeSetting {
    NodeSource source;
    uint32_t first;
    uint32_t last; // of a span, otherwise the same as first
    bool by_default;
};

struct Settings {
    // Raised whenever one of the settings that a generator or reader decodes further changes.
    uint64_t generation;

    Layout layout;
    const char* layout_text; // as the user wrote it: for messages
    NodeSetting node;
    int64_t max_ahead_us;
    WhenAhead when_ahead;
    int64_t max_leap_us; // 0: no check
    int cache;

    const char* secret_file;         // empty: none
    const char* coordinator;         // connection string; empty: none
    const char* coordinator_name;    // what messages call it
    const char* coordinator_problem; // why it was refused; nullptr: it was not
    const char* realm;
    int lease_ttl_s;
    bool has_secret; // flakeid.secret is not empty
    bool preloaded;  // by shared_preload_libraries: flakeid.secret can be honoured
    unsigned char secret[sparx_key_bytes];
};

extern Settings settings;

// An error when a setting that decides uniqueness was not valid when the library was loaded: the
// server has put the default in its place, with no more than a warning.
void require_good_settings();

// True when whom the session speaks for may see settings that are shown to superusers only: the
// role of SET ROLE, and never that of a SECURITY DEFINER function.
bool client_sees_settings();

// A coordinator is set and was not refused.
inline bool has_coordinator()
{
    return settings.coordinator[0] != '\0' && settings.coordinator_problem == nullptr;
}

// Declares the settings to the server.
void settings_init();

// Reads a secret as users write it (32 hexadecimal digits or exactly 16 characters). On failure
// `reason` says why without showing any of it.
bool parse_secret(const char* text, size_t length, unsigned char* key, const char** reason);

} // namespace flakeid
