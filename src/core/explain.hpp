// A drawing of an id for people: its bits, which field each belongs to, and what the fields say.
#pragma once

#include "layout.hpp"

namespace flakeid {

constexpr size_t max_drawing = 4096; // bytes that explain_id needs

// Draws `id`, whose raw id is `raw`, in ASCII lines of at most 100 columns, zero-terminated;
// returns the length. The layout's own text and what stands beside very long field names may be
// wider.
size_t explain_id(const Layout& layout, uint64_t id, uint64_t raw, char* out);

} // namespace flakeid
