// Why a generator issues no id now, as errors.
#pragma once

#include "generator/generator.hpp"

namespace flakeid {

// Its lease is not held, has ended, or ends before the next id.
[[noreturn]] void throw_no_lease(const Generator& generator, int64_t now_us);

// Says that the next word lies too far ahead of the clock.
[[noreturn]] void throw_ahead(const Generator& generator, Word word, int64_t now_us);

// Other layouts have used the numbers before `word`, or of all words.
[[noreturn]] void throw_used(Generator& generator, Word word, int64_t now_us);

// There is a coordinator, and the generator was made without one.
[[noreturn]] void throw_leases_began();

// The connection string of flakeid.coordinator is none, or holds a password.
[[noreturn]] void throw_coordinator_refused();

// The coordinator chose `node`, which the layout `name` does not have.
[[noreturn]] void throw_leased_node_out_of_range(uint32_t node, const Layout& layout,
                                                 const char* name);

// flakeid.node is auto(`wanted`), and a lease of the realm has no more than `nodes`.
[[noreturn]] void throw_lease_too_small(uint32_t wanted, uint32_t nodes);

} // namespace flakeid
