#include "granted.hpp"

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

} // namespace flakeid
