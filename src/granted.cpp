#include "granted.hpp"

#include "catalogs.hpp"
#include "settings.hpp"

namespace flakeid {

void require_granted(const Layout& layout, const char* name, const NodeSpan& span, int32_t node)
{
    if (!same_layout(layout, settings.layout)) {
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("permission denied to choose a node of layout \"%s\"", name),
                errdetail("Nodes are granted for flakeid.layout, which is \"%s\".",
                          settings.layout_text),
                errhint("Leave the node out, or name flakeid.layout."));
    }
    const bool chosen = node_setting.source == NodeSource::any;
    if (chosen || node < 0 || static_cast<uint32_t>(node) < span.first ||
        static_cast<uint32_t>(node) > span.last) {
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("permission denied to generate ids of node %d", node),
                chosen
                    ? errdetail("flakeid.node is auto: the coordinator chooses the node.")
                    : errdetail("flakeid.node grants the nodes %u to %u.", span.first, span.last),
                errhint("Have a superuser set flakeid.node to a span that has the node."));
    }
}

const char* function_of_layout_line(const char* layout)
{
    Oid schema = InvalidOid;
    extension_row([&](HeapTuple row, TupleDesc) {
        schema = reinterpret_cast<Form_pg_extension>(GETSTRUCT(row))->extnamespace;
    });
    const char* name = quote_identifier(get_namespace_name(schema));
    return psprintf("CREATE FUNCTION next_id() RETURNS %s.flake LANGUAGE sql SECURITY DEFINER SET "
                    "search_path = pg_catalog, pg_temp AS $$ SELECT %s.flake_next(%s) $$;",
                    name, name, quote_literal_cstr(layout));
}

} // namespace flakeid
