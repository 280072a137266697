// Why a generator issues no id now, as errors.
#pragma once

#include "generator/generator.hpp"

namespace flakeid {

// Its lease is not held, has ended, or ends before the next id.
[[noreturn]] void throw_no_lease(const Generator& generator, int64_t now_us);

// Says that the next word lies too far ahead of the clock.
[[noreturn]] void throw_ahead(const Generator& generator, Word word, int64_t now_us);

// There is a coordinator, and the generator was made without one.
[[noreturn]] void throw_leases_began();

} // namespace flakeid
