// flake_timestamp and its kin: the SQL functions that read ids, and the one that composes them.
#include "server/clock.hpp"
#include "core/explain.hpp"
#include "server/messages.hpp"
#include "server/row.hpp"
#include "readers/reader.hpp"

using namespace flakeid;

namespace {

// The fields of a raw id as a JSON object.
Jsonb* fields_json(const Layout& layout, uint64_t raw)
{
    StringInfoData json;
    initStringInfo(&json);
    for (int i = 0; i < layout.field_count; i++) {
        const Field& field = layout.fields[i];
        // Names are letters, digits and underscores.
        appendStringInfo(&json, "%s\"%s\": " UINT64_FORMAT, i == 0 ? "{" : ", ", field.name,
                         field_value(field, raw));
    }
    appendStringInfoChar(&json, '}');
    return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}

uint32_t part_in_range(const Reader& reader, const char* part, int64_t value, uint64_t largest)
{
    if (value < 0 || static_cast<uint64_t>(value) > largest) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("%s " INT64_FORMAT " is out of range for layout \"%s\"", part, value,
                       reader.name),
                largest == 0
                    ? errdetail("The layout has no %s field, so its only %s is 0.", part, part)
                    : errdetail("It must be from 0 to " UINT64_FORMAT ".", largest),
                value > 0 ? errhint("Name a layout with a wider field.") : 0);
    }
    return static_cast<uint32_t>(value);
}

} // namespace

FLAKEID_FUNCTION(flakeid_timestamp)
{
    const Reader& reader = reader_of(fcinfo, 1);
    const uint64_t raw = raw_id(reader, PG_GETARG_INT64(0));
    return TimestampTzGetDatum(timestamp_of_tick(reader, split(reader.layout, raw).tick));
}

FLAKEID_FUNCTION(flakeid_node)
{
    const Reader& reader = reader_of(fcinfo, 1);
    return UInt32GetDatum(split(reader.layout, raw_id(reader, PG_GETARG_INT64(0))).node);
}

FLAKEID_FUNCTION(flakeid_sequence)
{
    const Reader& reader = reader_of(fcinfo, 1);
    return UInt32GetDatum(split(reader.layout, raw_id(reader, PG_GETARG_INT64(0))).sequence);
}

FLAKEID_FUNCTION(flakeid_field)
{
    const Reader& reader = reader_of(fcinfo, 2);
    const uint64_t raw = raw_id(reader, PG_GETARG_INT64(0));
    char* name = text_to_cstring(PG_GETARG_TEXT_PP(1));
    const Layout& layout = reader.layout;
    for (int i = 0; i < layout.field_count; i++) {
        if (strcmp(layout.fields[i].name, name) == 0) {
            return Int64GetDatum(static_cast<int64_t>(field_value(layout.fields[i], raw)));
        }
    }
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("layout \"%s\" has no field \"%s\"", reader.name, name),
            errhint("Its normal text is \"%s\".", layout_text(layout)));
}

FLAKEID_FUNCTION(flakeid_inspect)
{
    const Reader& reader = reader_of(fcinfo, 1);
    const uint64_t raw = raw_id(reader, PG_GETARG_INT64(0));
    const Parts parts = split(reader.layout, raw);
    Datum values[] = {
        TimestampTzGetDatum(timestamp_of_tick(reader, parts.tick)),
        UInt32GetDatum(parts.node),
        UInt32GetDatum(parts.sequence),
        Int64GetDatum(static_cast<int64_t>(raw)),
        CStringGetTextDatum(layout_text(reader.layout)),
        JsonbPGetDatum(fields_json(reader.layout, raw)),
    };
    return row_datum(fcinfo, values);
}

FLAKEID_FUNCTION(flakeid_explain)
{
    const Reader& reader = reader_of(fcinfo, 1);
    const int64_t id = PG_GETARG_INT64(0);
    char drawing[max_drawing];
    const size_t length =
        explain_id(reader.layout, static_cast<uint64_t>(id), raw_id(reader, id), drawing);
    const size_t without_newline = length - 1;
    return PointerGetDatum(cstring_to_text_with_len(drawing, static_cast<int>(without_newline)));
}

FLAKEID_FUNCTION(flakeid_make)
{
    const Reader& reader = reader_of(fcinfo, 3);
    const Layout& layout = reader.layout;
    const TimestampTz timestamp = PG_GETARG_TIMESTAMPTZ(0);
    const int64_t us = TIMESTAMP_NOT_FINITE(timestamp) ? 0 : us_since_1970(timestamp);
    const int64_t tick = tick_of_us(layout, us);
    if (TIMESTAMP_NOT_FINITE(timestamp) || tick < 0 || static_cast<Tick>(tick) > layout.max_tick) {
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                errmsg("timestamp %s is out of range for layout \"%s\"",
                       DatumGetCString(
                           DirectFunctionCall1(timestamptz_out, TimestampTzGetDatum(timestamp))),
                       reader.name),
                errdetail("Its ids are stamped from %s up to, but not including, %s.",
                          moment_text(layout.epoch_us), moment_text(end_us(layout))),
                errhint("Name a layout with another epoch or a wider time; see view "
                        "flakeid.layouts."));
    }
    Parts parts{};
    parts.tick = static_cast<Tick>(tick);
    parts.node = part_in_range(reader, "node", PG_GETARG_INT32(1), layout.max_node);
    parts.sequence = part_in_range(reader, "sequence", PG_GETARG_INT32(2), layout.max_sequence);
    return Int64GetDatum(id_of_raw(reader, compose(layout, parts)));
}
