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
    bool unheard;      // or not of the last generation: its own may begin before that
    bool renamed;      // the realm was, or one made another one of it
    bool named;        // it has a further name
    bool told;         // a superuser said of such a one that it goes on
    bool ran_ahead;    // a coordinator's clock
};

extern Faults faults;

Host& host(); // that is meant

void faults_begin();
void pass(int64_t longest_us); // some time, with whatever happens in it
void all_is_well();
void leave_transaction_open();
// A server tells the coordinator that it gives a lease back, and crashes then, now and then.
void crash_at_release(int number);

extern const std::vector<StepKind> lease_steps;

} // namespace sim
