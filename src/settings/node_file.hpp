// The file that flakeid.node names: pod annotations, cloud-init and the like write a number there.
#pragma once

#include "core/plain.hpp"

#include <cstdint>

namespace flakeid {

// What was read, without the end of its line, and nothing of a long text; otherwise why nothing
// was, and what to do.
struct NodeFile {
    char text[32];
    const char* problem; // palloc'ed; nullptr: there is none
    const char* hint;
};
static_assert(is_plain<NodeFile>);

// Reads a file that nobody else can have changed: only its owner may write to it, and that is the
// user that runs the server or root.
NodeFile read_node_file(const char* path);

} // namespace flakeid
