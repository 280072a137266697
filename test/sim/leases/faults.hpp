// What goes wrong in a world of leases.
#pragma once

#include "leases/hosts.hpp"
#include "world.hpp"

namespace sim {

// What is wrong, and what ever was.
struct Faults {
    bool calm; // nothing is
    int64_t calm_since;
    int serving;       // the host that is meant
    int64_t rested_us; // the last moment that it rested
    bool split;        // an old coordinator was beside the new one
    bool forgotten;    // a standby took over that knew of no lease yet
    bool unheard;      // or not of the last term: its own may begin before that
    bool renamed;      // the realm was, or one made another one of it
    bool named;        // it has a further name
    bool told;         // a superuser said of such a one that it goes on
    bool ran_ahead;    // a coordinator's clock
    bool nonsense;     // something answered otherwise than a coordinator
};

extern Faults faults;

Host& host(); // that is meant

void faults_begin();
void pass(int64_t longest_us); // some time, with whatever happens in it
void all_is_well();
void leave_transaction_open();
// A server gives a lease back, or writes what it was answered, and crashes then, once in so many
// times.
void crash_now_and_then(int number, int64_t in, int64_t within_us);

extern const std::vector<StepKind> lease_steps;

} // namespace sim
