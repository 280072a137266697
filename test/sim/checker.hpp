// How a rule is said to be broken.
#pragma once

#include "machine.hpp"

namespace sim {

// What is told of a rule that is about to break.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));

// It is none.
void forget_told();

// A rule is broken. What the list of known faults names is counted, and the run goes on; otherwise
// it ends here.
void broken(const char* rule, ...) __attribute__((format(printf, 1, 2)));

// Nothing can go on after it.
[[noreturn]] void broken_for_good(const char* rule, ...) __attribute__((format(printf, 1, 2)));

// From now on nothing is said of a broken rule but the exit status.
void break_quietly();

} // namespace sim
