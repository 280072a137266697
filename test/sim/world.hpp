// A world: what its seed has chosen, and the list of steps that happen in it.
//
// A step is a pure function of seed and number, whatever happened before it: so a list of steps can
// be cut, and the others stay as they are.
#pragma once

#include "server.hpp"

#include <string>
#include <vector>

namespace sim {

// ---- Features: each is on in some seeds, and off in others.
struct Feature {
    char letter;
    const char* name;
};
extern const std::vector<Feature> features;
extern const char world_option[]; // of make sim

struct World {
    uint64_t seed = 0;
    std::string chosen; // letters of features
    int session_count = 0;
    int server = 0;                 // the one whose sessions draw
    int64_t max_ahead = 5 * second; // the largest flakeid.max_ahead, of the configuration or a role
    int other_role = 0;             // whose flakeid.max_ahead is another one

    bool has(char letter) const { return chosen.find(letter) != std::string::npos; }
};
extern World world;

inline Server& server()
{
    return servers[world.server];
}

// Chooses what the seed, or `letters` and `sessions`, says, and lets the first server start.
void make_world(uint64_t seed, const char* letters, int sessions = 0);

// Lets one step happen.
void run_step(uint64_t number);

// What a feature's letter stands for happens, where it is one event.
bool may_happen(char feature);
void happen(char feature);
void take_copy(); // for C and M

// Faults stop, and what should go on then does.
void end_world();

// ---- What a step may be.
struct StepKind {
    const char* name;
    char feature; // only where it is on; 0: always
    int weight;
    void (*run)();
};
// Those of them whose features are on are the world's.
void steps_begin(const std::vector<StepKind>& all);
// The kind of a step, from which `chance` goes on.
const StepKind& choose_step(uint64_t number);

// Lets processes go on: so many turns, and not past that time.
void run_turns(int64_t turns, int64_t until = never);

// ---- What must have happened for a seed to say anything.
class Reached {
public:
    Reached(char feature, const char* what);
    void operator()() { count++; }

    char feature;
    const char* what;
    uint64_t count = 0;
};
// The first one that the seed chose and did not reach; nullptr: there is none.
const Reached* not_reached();
const std::vector<Reached*>& all_reached();

} // namespace sim
