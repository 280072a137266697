// The settings flakeid.*: decoded when they are set, never per call. Those of nodes, leases and the
// secret are with their owners.
#pragma once

#include "core/layout.hpp"
#include "server/postgres.hpp"

namespace flakeid {

enum class WhenAhead : int { wait, error };

struct Settings {
    // Raised whenever one of the settings that a generator or reader decodes further changes.
    uint64_t version;
    // Raised with it, and whenever flakeid.max_ahead or flakeid.cache changes, by which a generator
    // only keeps its limits.
    uint64_t draw_version;

    Layout layout;
    const char* layout_text; // as the user wrote it: for messages
    int64_t max_ahead_us;
    WhenAhead when_ahead;
    int64_t max_leap_us; // 0: no check
    int cache;
};

// Any session may stamp so far ahead of the clock.
constexpr int64_t least_max_ahead_us = us_per_s;
constexpr int64_t most_max_ahead_us = 24 * 60 * 60 * us_per_s;

extern Settings settings;

// The setting of a database in which nodes stand that its old rows have (functions/old_rows.cpp).
constexpr char old_row_nodes_name[] = "flakeid.old_row_nodes";

// Has all that was decoded from settings decoded anew.
inline void settings_changed()
{
    settings.version++;
    settings.draw_version++;
}

// The largest flakeid.max_ahead that the configuration files, the command line of the server, or
// the database and role of this session say; not what this session has set.
int64_t configured_max_ahead_us();

// The largest one that ALTER ROLE and ALTER DATABASE have set for anybody; 0: they have set none.
int64_t max_ahead_of_roles_us();

constexpr char max_ahead_name[] = "flakeid.max_ahead";

// 0: that is no value of it.
int parsed_max_ahead_ms(const char* value);

// An error when flakeid.layout was not valid when the library was loaded.
void require_good_settings();
bool good_settings();

// What plans that hold values of flakeid.layout depend on, as the hash of a function: a change of
// the layout has them made anew. A function with the same hash costs a plan more, and nothing else.
constexpr uint32_t layout_in_plans = 0xf1a4e1d0;

// Tells whether whom the session speaks for may see settings that are shown to superusers only: the
// role of SET ROLE, and never that of a SECURITY DEFINER function.
bool client_sees_settings();

void settings_init();

static_assert(is_plain<Settings>);

} // namespace flakeid
