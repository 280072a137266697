// Servers that take leases, and their sessions: how they draw, start, crash and stop.
#pragma once

#include "world.hpp"

namespace sim {

constexpr int most_sessions = 3;
constexpr int32_t last_fixed = 1023; // node of the first one, if it is fixed: the layout's last
constexpr int32_t nodes_each = 6;    // so many numbers for each

struct DrawingSession {
    Process* process = nullptr; // nullptr: it has ended
    int64_t wants_since = 0;    // 0: it has what it wanted
};

struct Member {
    bool wanted = false; // runs, or comes up by itself
    bool stopping = false;
    bool any = false; // flakeid.node = auto
    int asks = 1;     // for so many nodes
    int32_t node = 0;
    int32_t further = 0;  // nodes of its span
    int64_t tried_us = 0; // when a session last wanted an id
    int64_t taken_us = 0; // when another server had its node, or its lease was too small
    int64_t started_us = 0;
    int64_t served_us = 0; // when a session last got an id
    int64_t clock_set_us = 0;
    int64_t clock_was_us = 0; // the latest moment that its clock said before it was set
    int64_t behind_us = 0;    // when its clock last was behind that
    int64_t left_us = 0; // since when its settings name no coordinator; 0: they do
    int64_t made_until_us = 0; // before its start it stamped ids up to there
    int64_t stopped_since = 0;
    int64_t still_until = 0; // it, or its lease worker, stands still
    bool harmless = false;   // it was only started again
    bool crashed = false;    // in its last life
    bool torn = false;     // its files do not tell that they are its own, by how it stopped
    bool misdated = false; // nor who wrote them
    bool moved = false;   // another directory took the place of its own
    bool forgets = false; // before it starts, somebody removes the file of its leases
    // On a directory that is taken for another's, ids begin past a clock that was ahead.
    int64_t begins_us = 0;
    int directory = 0; // a number of its own for each
    DrawingSession sessions[most_sessions];
};
extern Member members[most_servers]; // the first member_count of them
extern int member_count;

extern Reached id_drawn;

void set_clock(Server& server, int64_t ahead_us); // of the true time

// By a clock that is ahead by so much, a server's ids begin past those that another one made.
void begins_past_ids_of(int number, int other, int64_t ahead_us);

// A server is made, and starts.
void make_member(int number, bool any, int32_t node, int32_t further, bool preload,
                 const Settings& configuration);

// The configuration has changed: all processes read it soon.
void reload_member(int number);

// `harmless`: nothing else goes wrong. It comes up again by itself.
void crash_member(int number, int64_t down_us, bool harmless);

// Somebody stops it and removes the file of its leases, so that it may join another realm.
void forget_realm(int number);

// It stops, and starts on another directory.
void replace_member(int number, const Directory& directory);

// Sessions leave, then the lease worker gives back what it has, then it comes up again.
void begin_stop(int number, bool harmless);
void attend_stop(int number);

// Whose coordinator it asks, where there are two.
inline int region_of(int number)
{
    return number % 2;
}

int any_member();
bool runs(int number);

} // namespace sim
