// Every status of the core and every refusal of the generators, as PostgreSQL reports it.
#pragma once

#include "core/layout.hpp"
#include "core/presets.hpp"
#include "server/postgres.hpp"

namespace flakeid {

struct LayoutMessage {
    const char* detail; // palloc'ed or constant
    const char* hint;
};

LayoutMessage describe(const LayoutError& error, const char* text, size_t length);

// Parses a layout text or the name of a preset. Sets `preset`, to nullptr for a text.
LayoutError parse_layout_or_preset(const char* text, size_t length, Layout* layout,
                                   const Preset** preset = nullptr);

[[noreturn]] void throw_bad_layout(const LayoutError& error, const char* text, size_t length);
[[noreturn]] void throw_node_out_of_range(uint32_t node, const Layout& layout, const char* name);
// No id of the layout can be made any more.
[[noreturn]] void throw_exhausted(const Layout& layout, const char* name, const Preset* preset);
[[noreturn]] void throw_outside_layout(const Layout& layout, int64_t id, const char* name);

// A warning, once a session, when the layout is full soon.
void warn_near_end(const Layout& layout, const char* name);

// Returns the normal text of a layout, palloc'ed.
char* layout_text(const Layout& layout);

// Microseconds as "1.234 s" and the like, palloc'ed.
char* duration_text(int64_t us);

// Returns a moment since 1970 in the session's format and time zone, palloc'ed; "infinity" when the
// type timestamptz cannot hold it.
char* moment_text(int64_t us);

// Returns a text as one word of a shell, palloc'ed.
const char* shell_word(const char* text);

static_assert(is_plain<LayoutMessage>);

} // namespace flakeid
