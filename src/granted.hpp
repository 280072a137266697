// Which nodes the caller of flake_next() may name: those of flakeid.node, which superusers set, for
// flakeid.layout.
#pragma once

#include "core/layout.hpp"
#include "node.hpp"

namespace flakeid {

// An error when `node` is not one that the caller may name with this layout. `span` is what
// flakeid.node stands for.
void require_granted(const Layout& layout, const char* name, const NodeSpan& span, int32_t node);

// The statement that makes a function which everyone may call for ids of a layout; palloc'ed.
const char* function_of_layout_line(const char* layout);

} // namespace flakeid
