// What layouts allow, and the settings in effect: the functions behind the views flake_layouts and
// flake_status.
#include "server/clock.hpp"
#include "server/messages.hpp"
#include "functions/row.hpp"
#include "core/overlap.hpp"
#include "settings/node.hpp"
#include "lease/report.hpp"
#include "settings/lease_settings.hpp"
#include "settings/secret.hpp"
#include "settings/settings.hpp"
#include "server/shared.hpp"
#include "slots/slots.hpp"

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

// Ids that one node can make in a second in the long run.
int64_t ids_per_second(const Layout& layout)
{
    return static_cast<int64_t>((static_cast<uint64_t>(layout.max_sequence) + 1) * us_per_s /
                                static_cast<uint64_t>(layout.tick_us));
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

const char* words_of(SecretSource source)
{
    switch (source) {
    case SecretSource::none:
        break;
    case SecretSource::file:
        return "from flakeid.secret_file";
    case SecretSource::setting:
        return "from flakeid.secret";
    case SecretSource::not_honoured:
        return "not honoured: flakeid is not preloaded";
    }
    return "none";
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

// How many nodes of a span this server can use: those whose slots, or whose leases, are there or
// have room.
uint32_t usable_nodes(const Layout& layout, const NodeSpan& span)
{
    const uint32_t all = span.last - span.first + 1;
    return has_coordinator() ? std::min(all, leasable_nodes(span.first, span.last))
                             : std::min(all, slots_for_span(layout, span.first, span.last));
}

void add_row(ReturnSetInfo* result, const char* name, const char* value)
{
    Datum values[] = {CStringGetTextDatum(name), CStringGetTextDatum(value)};
    bool nulls[lengthof(values)] = {};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

const char* how_it_answers(const CoordinatorReport& report)
{
    const char* last = report.answered_us == 0
                           ? "it never answered"
                           : psprintf("it answered last at %s", moment_text(report.answered_us));
    return report.silent_us != 0
               ? psprintf("does not answer since %s; %s", moment_text(report.silent_us), last)
           : report.answered_us != 0
               ? psprintf("answered last at %s", moment_text(report.answered_us))
               : "was not asked yet";
}

const char* how_it_is_held(const LeaseReport& lease)
{
    return lease.end_us != 0 ? psprintf("until %s", moment_text(lease.end_us))
           : lease.last_end_us != 0
               ? psprintf("ended at %s. %s", moment_text(lease.last_end_us), lease.reasons)
               : psprintf("not held. %s", lease.reasons);
}

// What the server knows of its coordinator and its leases.
void add_leases(ReturnSetInfo* result)
{
    const CoordinatorReport report = report_coordinator();
    add_row(result, "coordinator", how_it_answers(report));
    if (report.failed_us != 0) {
        add_row(result, "last error of leases",
                psprintf("%s: %s", moment_text(report.failed_us), report.failed));
    }
    for (int place = 0; place < max_leases; place++) {
        LeaseReport lease;
        if (report_lease(place, &lease)) {
            const bool numbered = lease.end_us != 0 || lease.wanted != any_node;
            add_row(result,
                    numbered ? psprintf("lease of node %u", lease.node) : "lease of any node",
                    how_it_is_held(lease));
        }
    }
}

} // namespace

FLAKEID_FUNCTION(flakeid_preset_names)
{
    (void)fcinfo;
    return names_of_presets([](const Preset&) { return true; });
}

FLAKEID_FUNCTION(flakeid_layout)
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
        BoolGetDatum(layout.epoch_us <= now_us && now_us < end_us(layout)),
    };
    return row_datum(fcinfo, values);
}

// The other presets that may have made by now an id which the layout makes from now on.
FLAKEID_FUNCTION(flakeid_repeats)
{
    const Layout layout = layout_argument(fcinfo);
    const int64_t now_us = wall_us();
    return names_of_presets([&](const Preset& preset) {
        Layout other{};
        (void)parse_layout(preset.text, strlen(preset.text), &other);
        return !same_layout(layout, other) && may_repeat(layout, other, now_us);
    });
}

FLAKEID_FUNCTION(flakeid_in_effect)
{
    InitMaterializedSRF(fcinfo, 0);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    auto row = [&](const char* name, const char* value) { add_row(result, name, value); };
    const Layout& layout = settings.layout;
    const NodeSpan span = configured_span(layout);
    const int64_t rate = ids_per_second(layout);
    row("layout", layout_text(layout));
    row("end of the layout", moment_text(end_us(layout)));
    row("ids per second and node", psprintf(INT64_FORMAT, rate));
    if (span.problem != nullptr) {
        row("node", span.problem);
    } else if (node_setting.source == NodeSource::any) {
        const char* leased = nodes_in_use(layout, span);
        row("node", leased != nullptr ? leased : "none is leased yet");
        row("ids per second", psprintf(INT64_FORMAT, rate));
    } else if (span.last > layout.max_node) {
        row("node", psprintf("out of range: the layout has nodes 0 to %u", layout.max_node));
    } else {
        row("node", nodes_in_use(layout, span));
        const uint32_t usable = usable_nodes(layout, span);
        if (span.first != span.last) {
            row("usable nodes", psprintf("%u", usable));
        }
        row("ids per second", psprintf(INT64_FORMAT, rate * usable));
    }
    if (has_coordinator()) {
        add_leases(result);
    }
    row("secret", words_of(secret_source()));
    row("preloaded", shared_preloaded() ? "yes" : "no");
    return static_cast<Datum>(0);
}
