// This server as one of several that make ids for the same tables.
#include "durable/clone.hpp"
#include "server/row.hpp"
#include "generator/leased.hpp"
#include "server/messages.hpp"
#include "settings/lease_settings.hpp"
#include "settings/shared_node.hpp"
#include "settings/settings.hpp"

using namespace flakeid;

FLAKEID_FUNCTION(flakeid_nodes)
{
    const Layout& layout = settings.layout;
    NodeSpan span = configured_span(layout);
    const bool known = span.problem == nullptr && nodes_in_use(layout, &span);
    const char* others = other_servers();
    const char* clone = span.problem == nullptr ? clone_problem() : nullptr;
    const char* problem = span.problem != nullptr ? span.problem
                          : clone != nullptr      ? clone
                          : others != nullptr && node_setting.by_default && !has_coordinator()
                              ? "flakeid.node was never set"
                              : nullptr;
    auto text = [](const char* value) {
        return value == nullptr ? static_cast<Datum>(0) : CStringGetTextDatum(value);
    };
    Datum values[] = {
        text(server_name()),
        Int32GetDatum(static_cast<int32>(span.first)),
        Int32GetDatum(static_cast<int32>(span.last)),
        text(GetConfigOption("flakeid.node", false, false)),
        text(node_setting.set_by),
        text(layout_text(layout)),
        BoolGetDatum(RecoveryInProgress()),
        text(others),
        text(problem),
    };
    bool nulls[lengthof(values)] = {
        false, !known, !known, false, false, false, false, others == nullptr, problem == nullptr};
    return row_datum(fcinfo, values, nulls);
}
