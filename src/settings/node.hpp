// The node numbers of this server: of flakeid.node, which may leave them to the host or a file.
#pragma once

#include "core/layout.hpp"

#include <cstdint>

namespace flakeid {

enum class NodeSource { number, any, citus, hostname, cluster_name, ip, file };

// flakeid.node as it was written; what the host says is looked up at use.
struct NodeSetting {
    NodeSource source;
    uint32_t first; // of a name: what is added to its number
    uint32_t last;  // of a span; of auto, 0 and how many more follow; otherwise the same as first
    bool by_default;
    bool of_database;   // it was set with ALTER DATABASE or ALTER ROLE
    bool of_all;        // it was set for all sessions of the server or database
    const char* set_by; // as pg_settings calls it
};

extern NodeSetting node_setting;

void node_init();

// An error when flakeid.node was not valid when the library was loaded.
void require_good_node();

// flakeid.node as it is to be written, a path left out; palloc'ed or constant.
const char* node_text(NodeSource source, uint32_t first, uint32_t last);

// The nodes that flakeid.node stands for with this layout, or why it stands for none; of auto,
// those of a lease that would begin with node 0. What a file says is read anew when the settings
// change, and so after each reload.
struct NodeSpan {
    uint32_t first;
    uint32_t last;
    const char* problem; // nullptr when there is none
    const char* hint;    // what to do about it
};

NodeSpan configured_span(const Layout& layout);

// Returns what this server calls itself to others: host, port and cluster_name; palloc'ed.
const char* server_name();

static_assert(is_plain<NodeSetting, NodeSpan>);

// An error when `node` is not one that the caller may name with this layout. `span` is what
// flakeid.node stands for.
void require_granted(const Layout& layout, const char* name, const NodeSpan& span, int32_t node);

// Returns the statement that makes a function which everyone may call for ids of a layout;
// palloc'ed.
const char* function_of_layout_line(const char* layout);

} // namespace flakeid
