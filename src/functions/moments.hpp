// Ranges of days and of local times as ranges of moments, in the zone of the session.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

// Returns the range of moments that a daterange or tsrange is.
RangeType* moments_of(const RangeType* range);

} // namespace flakeid
