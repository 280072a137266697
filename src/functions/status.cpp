// The settings in effect, and what follows from them: what stands behind the view flakeid.status.
#include "server/clock.hpp"
#include "server/messages.hpp"
#include "functions/row.hpp"
#include "settings/node.hpp"
#include "lease/report.hpp"
#include "settings/lease_settings.hpp"
#include "settings/secret.hpp"
#include "settings/settings.hpp"
#include "server/shared.hpp"
#include "slots/slots.hpp"

using namespace flakeid;

namespace {

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

FLAKEID_FUNCTION(flakeid_in_effect)
{
    InitMaterializedSRF(fcinfo, 0);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    auto row = [&](const char* name, const char* value) { add_row(result, name, value); };
    const Layout& layout = settings.layout;
    NodeSpan span = configured_span(layout);
    const int64_t rate = ids_per_second(layout);
    row("layout", layout_text(layout));
    row("end of the layout", moment_text(end_us(layout)));
    row("ids per second and node", psprintf(INT64_FORMAT, rate));
    if (span.problem != nullptr) {
        row("node", span.problem);
    } else if (node_setting.source == NodeSource::any) {
        row("node",
            nodes_in_use(layout, &span) ? psprintf("%u", span.first) : "none is leased yet");
        row("ids per second", psprintf(INT64_FORMAT, rate));
    } else if (span.last > layout.max_node) {
        row("node", psprintf("out of range: the layout has nodes 0 to %u", layout.max_node));
    } else {
        row("node", span.first == span.last ? psprintf("%u", span.first)
                                            : psprintf("%u-%u", span.first, span.last));
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
