// The layout that a function reads ids with, decoded once per query.
#pragma once

#include "readers/right_to_look.hpp"
#include "server/clock.hpp"
#include "core/layout.hpp"
#include "server/messages.hpp"
#include "durable/fingerprints.hpp"
#include "server/postgres.hpp"
#include "settings/settings.hpp"

namespace flakeid {

struct Reader {
    Layout layout;
    const char* name;          // as the user named it
    uint64_t settings_version; // of the settings that it is good for in every call; 0: look again
    Oid checked;               // who may read enciphered ids, as far as it is known
};

// Returns the reader of layout argument `arg`, or of flakeid.layout where the function has no such
// argument.
Reader& find_reader(FunctionCallInfo fcinfo, int arg);

inline Reader& any_reader_of(FunctionCallInfo fcinfo, int arg)
{
    auto* reader = static_cast<Reader*>(fcinfo->flinfo->fn_extra);
    if (unlikely(reader == nullptr || reader->settings_version != settings.version)) {
        reader = &find_reader(fcinfo, arg);
    }
    return *reader;
}

// Returns the reader of any_reader_of(); for an enciphered layout, an error unless the current user
// may look into its ids.
inline Reader& reader_of(FunctionCallInfo fcinfo, int arg)
{
    Reader& reader = any_reader_of(fcinfo, arg);
    if (reader.layout.enciphered) {
        require_right_to_look(fcinfo, &reader.checked, Looking::enciphered);
    }
    return reader;
}

// Returns the id of a raw id.
int64_t id_of_raw(const Reader& reader, uint64_t raw);

// Returns what the layout reads as a raw id, deciphered where it wants that.
inline uint64_t deciphered(const Reader& reader, int64_t id)
{
    const auto word = static_cast<uint64_t>(id);
    return reader.layout.enciphered ? sparx_decrypt(configured_key(), word) : word;
}

// Returns the raw id of an id. An error for an id outside the layout.
inline uint64_t raw_id(const Reader& reader, int64_t id)
{
    const uint64_t raw = deciphered(reader, id);
    if (unlikely(outside_layout(reader.layout, raw))) {
        throw_outside_layout(reader.layout, id_of_raw(reader, raw), reader.name);
    }
    return raw;
}

[[noreturn]] void throw_no_timestamp(const Reader& reader, Tick tick);

// Returns the start of a tick; an error where the type timestamptz cannot hold it.
inline TimestampTz timestamp_of_tick(const Reader& reader, Tick tick)
{
    int64_t us;
    TimestampTz timestamp;
    if (unlikely(!tick_start_us(reader.layout, tick, &us) || !to_timestamptz(us, &timestamp))) {
        throw_no_timestamp(reader, tick);
    }
    return timestamp;
}

static_assert(is_plain<Reader>);

} // namespace flakeid
