// Sessions: what they are told to do, and how they do it.
#pragma once

#include "world.hpp"

#include "core/layout.hpp"

namespace sim {

struct SimLayout {
    const char* name;
    const char* text;
    char feature; // that has it; 0: every world
    flakeid::Layout layout;
};
constexpr int layout_count = 13;
constexpr int scaled_layout = layout_count - 1; // whose last half tick is one of layout 0
extern SimLayout layouts[layout_count];
void parse_layouts();
// One that this world has.
int some_layout(Random& random);

// ALTER DATABASE ... SET flakeid.layout
extern int layout_of_database[most_databases];
void choose_layout(Server& server, int database);
// All databases have one layout, which counts set-backs, and keep it: no set-back is waited for.
bool all_count(const Server& server);

// Of sessions whose flakeid.max_ahead is not the configuration's, in worlds with R
constexpr int role_of_1_s = 1;
constexpr int role_of_8_s = 4;

// All sessions of the server begin, connected to databases as chance has it.
void begin_sessions(Server& server, int64_t within);
// Those that have left come again.
void renew_sessions(Server& server);

// Tells one of them to do something.
void tell_session(Server& server, int seat, uint64_t seed);
void tell_everyone(Server& server);
// Faults have stopped. All forget what they were told and are cancelled; true when none is at work
// any more within a minute.
bool calm_down();
// Each one draws one id, within that time; what those who get none say, if it is no fault of
// theirs.
enum class Fails { may, may_not, with_error };
void everyone_draws(Server& server, int64_t within, Fails fails);

// Each one draws up to the end of the horizon.
void everyone_draws_all(Server& server);

// Each one raises the horizon of its database by an hour, by mistake.
void everyone_errs(Server& server);

// Each one asks for a settled mark, after all prepared transactions have ended.
void everyone_polls(Server& server, Fails fails);

// What administrators do (admins.cpp), in a transaction. The horizon of the database is raised to a
// moment, or by an hour; it is lowered, unless clocks led ids further than sessions stamp, where
// `none_kept` or no node made ids; the file of flakeid.state is replaced.
void raise(int64_t us);
void raise_by_mistake();
void repair(uint32_t max_node, bool none_kept);
void replace();
void make_extension();      // each database gets what CREATE EXTENSION makes, and the server its file
extern int database_at_hand;
void make_extension_anew();
void look_at_status();
void repair_at_hand();
void administrator(); // one of several that come at the same time
extern const Directory* dumped; // what pg_restore restores
extern bool restored_elsewhere; // of another server
void restore_dump();
// The transaction ends; it ended in an error.
void raise_ends(bool committed);
void repair_is_refused();

// All that are connected to a database are terminated; true when none is left.
bool leave_database(int database);

// Somebody who is not at rest; nullptr: there is nobody.
Process* busy_session(Server& server, int seat);
// The session of a seat.
Process* session_process(int seat);

} // namespace sim
