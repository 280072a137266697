// What the catalogs of Citus, where the database has them, tell of the servers of its cluster.
#pragma once

#include "postgres.hpp"

namespace flakeid {

struct Citus {
    bool present;    // the database has the tables of Citus
    bool has_joined; // this server stands among those of the cluster, or knows others
    bool has_others; // there are others
    uint32_t group;  // of this server; 0: the coordinator
};

static_assert(is_plain<Citus>);

// When it changes later, generators are made anew.
Citus citus_cluster();

} // namespace flakeid
