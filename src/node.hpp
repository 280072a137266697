// The node numbers of this server: of flakeid.node, which may leave them to the host.
#pragma once

#include "core/layout.hpp"

#include <cstdint>

namespace flakeid {

// The nodes that flakeid.node stands for with this layout, or why it stands for none.
struct NodeSpan {
    uint32_t first;
    uint32_t last;
    const char* problem; // nullptr when there is none
};

NodeSpan configured_span(const Layout& layout);

// What this server calls itself to others: host, port and cluster_name; palloc'ed.
const char* server_name();

} // namespace flakeid
