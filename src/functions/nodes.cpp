// What a server tells others of its node, and what it is told: the functions behind flake_nodes().
#include "remote/ask.hpp"
#include "lease/report.hpp"
#include "settings/lease_settings.hpp"
#include "server/messages.hpp"
#include "settings/node.hpp"
#include "settings/settings.hpp"

extern "C" {
#include "utils/json.h"
}

using namespace flakeid;

namespace {

void append(StringInfo json, const char* name, const char* value)
{
    appendStringInfo(json, "%s\"%s\": ", json->len == 1 ? "" : ", ", name);
    if (value == nullptr) {
        appendStringInfoString(json, "null");
    } else {
        escape_json(json, value);
    }
}

// The nodes in use; or nullptr and what is wrong, which is nullptr too where a lease is yet to
// come.
const char* nodes_text(const char** problem)
{
    const Layout& layout = settings.layout;
    const NodeSpan span = configured_span(layout);
    *problem = span.problem;
    if (span.problem != nullptr) {
        return nullptr;
    }
    return nodes_in_use(layout, span);
}

// It runs no function there that is not a superuser's.
constexpr char question[] =
    "SELECT flakeid.node_report(p.oid) FROM pg_catalog.pg_proc AS p "
    "JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) p.proowner "
    "WHERE p.oid OPERATOR(pg_catalog.=) 'flakeid.node_report(oid)'::pg_catalog.regprocedure "
    "AND r.rolsuper";

} // namespace

// What this server has to say of its node, as JSON. `instance` is another one after a restart, and
// in a copy.
FLAKEID_FUNCTION(flakeid_node_report)
{
    (void)fcinfo;
    const char* problem;
    const char* nodes = nodes_text(&problem);
    StringInfoData json;
    initStringInfo(&json);
    appendStringInfoChar(&json, '{');
    append(&json, "server", server_name());
    append(&json, "instance", psprintf("%s " INT64_FORMAT, server_name(), PgStartTime));
    append(&json, "nodes", nodes);
    append(&json, "setting", GetConfigOption("flakeid.node", false, false));
    append(&json, "unset", node_setting.by_default && !has_coordinator() ? "yes" : nullptr);
    append(&json, "standby", RecoveryInProgress() ? "yes" : nullptr);
    append(&json, "layout", layout_text(settings.layout));
    append(&json, "problem", problem);
    appendStringInfoChar(&json, '}');
    return CStringGetTextDatum(json.data);
}

// The report of another server, or why there is none.
FLAKEID_FUNCTION(flakeid_ask_node)
{
    const char* trouble = nullptr;
    const char* report = ask_server(text_to_cstring(PG_GETARG_TEXT_PP(0)), question, &trouble);
    if (report != nullptr) {
        return CStringGetTextDatum(report);
    }
    StringInfoData json;
    initStringInfo(&json);
    appendStringInfoChar(&json, '{');
    append(&json, "problem", trouble);
    appendStringInfoChar(&json, '}');
    return CStringGetTextDatum(json.data);
}
