// How the program runs its seeds, one (main.cpp) or many (seeds.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sim {

struct Options {
    const char* features = nullptr;
    uint64_t seed = 1;
    std::string steps = "3000";
    int64_t seeds = 0;
    uint64_t first = 1;
    int64_t jobs = 1;
    bool reached = false;
    bool shrink = true;
    bool all = false;
    int every = 0; // events of each order; 0: steps are taken as chance has it
    std::string order;
    bool part = false; // of the seeds: a known fault that none of these shows is not missed
};
extern Options options;

// A rule that is known to break, and features with which it does so soon.
struct Known {
    std::string features, rule;
};
extern std::vector<Known> known_faults;
struct Seen {
    uint64_t count = 0;
    uint64_t step = 0; // the first
};
extern std::map<std::string, Seen> known_seen; // by rule
extern uint64_t orders;                        // that were tried
extern int report_to; // where a process says which rule broke; -1: on its standard output

using Steps = std::vector<uint64_t>;
bool is_list(const std::string& steps); // not how many
Steps read_steps(const std::string& text);
std::string write_steps(const Steps& steps);

void run_world(uint64_t seed, const Steps& steps);
double cpu_seconds();

// Return the exit status.
int run_one();
int run_many();

} // namespace sim
