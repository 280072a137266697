// Every order of small pieces of work. Only the servers' world has it.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

// Tries the work that the seed chooses with every choice of so many events; returns how many orders
// that were. `bad` is the first that breaks a rule, or empty.
uint64_t every_order(uint64_t seed, const char* letters, int events, std::string& bad)
    __attribute__((weak));

// One of them, as `bad` names it.
void one_order(uint64_t seed, const char* letters, const std::string& events) __attribute__((weak));

} // namespace sim
