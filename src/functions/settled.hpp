// The settled mark of a generator's layout, as flake_settled() and the view flakeid.status give it.
#pragma once

#include "generator/generator.hpp"

namespace flakeid {

// An error where there is none.
int64_t settled_mark(Generator& g);

} // namespace flakeid
