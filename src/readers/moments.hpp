// Ranges of days and of local times as ranges of moments, in the zone of the session.
#pragma once

#include "server/postgres.hpp"

extern "C" {
#include "utils/multirangetypes.h"
}

namespace flakeid {

// Returns the range of moments that a daterange or tsrange is.
RangeType* moments_of(const RangeType* range);

// Returns the range from the first moment of a multirange to its last.
RangeType* moments_of(const MultirangeType* ranges);

} // namespace flakeid
