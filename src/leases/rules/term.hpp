// Which coordinator of leases a holder believes. Pure.
//
// A coordinator that was promoted, copied or restored begins a term of its own, and rests
// first. Whoever was answered by one believes no earlier one any more: the old coordinator may go
// on beside the new one, and each gives nodes away that the other one has given.
#pragma once

#include "core/plain.hpp"

#include <cstddef>
#include <cstdint>

namespace flakeid {

constexpr size_t uuid_size = 16;

// Of the questions of a server and their answers. Each side may be updated first; a coordinator
// refuses a version that it does not know.
constexpr int lease_wire_version = 1;

// A coordinator of a realm, as it says with each answer.
struct Term {
    unsigned char realm[uuid_size]; // that no other realm has, whatever it is called
    int64_t number; // moment since 1970 at which it began, or one more than the one before; 0: none
    int64_t place;  // where it runs; two that began at the same moment differ by it
};

enum class Standing {
    believed,
    other_realm, // its realm is not that of the leases so far
    older,       // there was a later one
    elsewhere,   // it began when the known one did, and is another one
};

// Tells how a coordinator stands with a holder that knows `known`.
Standing stands(const Term& known, const Term& here);

// Returns the number of a term that begins now, after one of number `before`.
int64_t next_term(int64_t before, int64_t now_us);

static_assert(is_plain<Term>);

} // namespace flakeid
