// What is true of leases, for the checkers: as their holders were told, since a lease that nobody
// was told of is used by nobody. A lease belongs to the directory of a server.
#pragma once

#include "leases/network.hpp"

#include "generator/compose.hpp"

namespace sim {

constexpr int64_t unused_us = 3600 * second;        // after which a lease is given back
constexpr int64_t longest_answer_us = 15 * second; // two addresses, and a question that waits

// A server asks a coordinator, and takes the answer (libpq.cpp).
void is_asked(const std::string& sql, const std::vector<Value>& values);
void is_answered(const std::string& sql, const std::vector<Value>& values, const Answer& answer);

void truth_begins();

// A server writes a line to its log.
void is_logged(const Server& server, const char* message);

// An error is taken.
void is_refused(const std::string& sql, const std::vector<Value>& values, const std::string& state);

// The coordinator gave a node to somebody who is no server of this world, from then on.
void node_is_given_away(uint32_t node, int64_t start_us);

// The lease worker of this server begins, or reads the settings anew.
void settings_are_read();

// An id was handed out by the process that runs, by a draw that began then.
void lease_id_is_handed_out(const flakeid::Generator& g, flakeid::Word word, int64_t began_us);

// A server crashes.
void leases_crash(int server);

// A lease that the server had for a while when it crashed, and that lasts.
bool goes_on_in_lease(int server);

// The server that runs was told once of a lease of all of these nodes.
bool was_leased(uint32_t first, uint32_t last);

// It said that it gives back one of these nodes, before the lease ended. It may not have been heard,
// and says nothing of the others before it is.
bool gave_back(int server, uint32_t first, uint32_t last);

// True when this server ever made one.
bool made_ids(const Server& server);

// The latest moment that an id of a server was stamped in; 0: it made none.
int64_t last_made_us(int server);

// A lease that the server holds, though nobody has used it or asked for it since then.
bool holds_unused(int server, int64_t since_us);

// From when on a lease has the node that the server which runs was told of that long ago, and that
// lasts until then; never: there is none.
int64_t leased_from(uint32_t node, int64_t until_us, int64_t ago_us);

// A lease that lasts, and that half of its length ago was renewed last.
bool renews_late(int server);

// A lease that the server made ids in since it was started, lasts, and it never said that it gives
// it back.
bool keeps_used(int server);

// Marks of settled ids (marks.cpp): a seed begins; an id was handed out.
void marks_begin();
// A server is a copy of another one, with the marks of that one; -1: with none that are known.
void marks_are_of(int copy, int original);
void mark_sees_id(const flakeid::Generator& g, uint64_t raw, int64_t from_us);

// A server answered a settled mark. `all_ended`: so have all transactions that drew ids there.
void mark_is_answered(int64_t mark, bool all_ended);

// Nodes of spans (spans.cpp): a seed begins; a mark was answered; an id was drawn, or refused as too
// far ahead, by a draw before which my_highest_wall was set to INT64_MIN.
void spans_begin();
void mark_skips_nodes();
void leased_nodes_in_step(const flakeid::Generator& g, flakeid::Word word);
void leased_nodes_are_refused(const flakeid::Generator& g);

extern uint64_t renewals_told;

} // namespace sim
