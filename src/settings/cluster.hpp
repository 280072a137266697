// What the catalogs of the database tell of the servers that it shares tables with, and noticing
// that they changed.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

// From now on generators of this session are made anew when subscriptions or replication origins
// change, and when one of
// these extensions, with which several servers write, comes or goes. Each makes a schema of its own
// name.
constexpr const char* multi_writers[] = {"spock", "bdr"};
void watch_catalogs();

// The same when that table changes. Of each kind one table is watched, the last that was given;
// `table` may be invalid.
enum class Watched { citus_group, citus_nodes };
void watch_table(Watched which, Oid table);

struct Citus {
    bool present;    // the database has the tables of Citus
    bool has_joined; // this server stands among those of the cluster, or knows others
    bool has_others; // there are others
    uint32_t group;  // of this server; 0: the coordinator
    bool is_cloned;  // a clone of the group's server is known, which has the same group for a while
};

static_assert(is_plain<Citus>);

// When it changes later, generators are made anew.
Citus citus_cluster();

} // namespace flakeid
