// What layouts allow: what stands behind the view flakeid.layouts.
#include "core/overlap.hpp"
#include "server/row.hpp"
#include "server/clock.hpp"
#include "server/messages.hpp"

extern "C" {
#include "utils/array.h"
}

using namespace flakeid;

namespace {

Datum moment_datum(int64_t us)
{
    TimestampTz timestamp;
    if (!to_timestamptz(us, &timestamp)) {
        timestamp = DT_NOEND;
    }
    return TimestampTzGetDatum(timestamp);
}

// The layout that the first argument names.
Layout layout_argument(FunctionCallInfo fcinfo)
{
    char* name = text_to_cstring(PG_GETARG_TEXT_PP(0));
    Layout layout;
    const LayoutError error = parse_layout_or_preset(name, strlen(name), &layout);
    if (error.status != LayoutStatus::ok) {
        throw_bad_layout(error, name, strlen(name));
    }
    return layout;
}

// The names of the presets that `wanted` accepts, as text[].
template <typename Wanted>
Datum names_of_presets(Wanted wanted)
{
    auto* names = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<size_t>(preset_count)));
    int count = 0;
    for (int i = 0; i < preset_count; i++) {
        if (wanted(presets[i])) {
            names[count++] = CStringGetTextDatum(presets[i].name);
        }
    }
    return PointerGetDatum(construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT));
}

// The other presets that may have made by now an id which the layout makes from now on, as text[].
Datum presets_repeated_by(const Layout& layout, int64_t now_us)
{
    return names_of_presets([&](const Preset& preset) {
        Layout other{};
        (void)parse_layout(preset.text, strlen(preset.text), &other);
        return makes_ids(layout) && !same_layout(layout, other) &&
               may_repeat(layout, other, now_us);
    });
}

} // namespace

FLAKEID_FUNCTION(flakeid_preset_names)
{
    (void)fcinfo;
    return names_of_presets([](const Preset&) { return true; });
}

FLAKEID_FUNCTION(flakeid_describe)
{
    const Layout layout = layout_argument(fcinfo);
    const int64_t now_us = wall_us();
    Datum values[] = {
        CStringGetTextDatum(layout_text(layout)),
        Int64GetDatum(ids_per_second(layout)),
        Int64GetDatum(static_cast<int64_t>(layout.max_node) + 1),
        moment_datum(layout.epoch_us),
        moment_datum(end_us(layout)),
        BoolGetDatum(layout.enciphered),
        BoolGetDatum(makes_ids(layout) && layout.epoch_us <= now_us && now_us < end_us(layout)),
        presets_repeated_by(layout, now_us),
    };
    return row_datum(fcinfo, values);
}
