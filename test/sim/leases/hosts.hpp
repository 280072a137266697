// Hosts of coordinators: a database with the tables of coordinator.hpp, its backends, its clock,
// its standby. They live outside the servers of server.hpp, and nothing of them yields.
#pragma once

#include "leases/coordinator.hpp"
#include "leases/network.hpp"

namespace sim {

// A session at a coordinator.
struct Backend {
    int number = 0;
    int connection = 0; // 0: of somebody else
    int server = -1;    // that asks; -1: somebody else
    std::string name;   // application_name of its connection
    bool asked = false;
    bool gone = false; // its client is, and it has not noticed
    bool committing = false;
    int transaction = 0;  // 0: none
    int64_t holds_us = 0; // its transaction stays open for so long
    Question question;
};

// What its WAL says.
struct Record {
    int64_t at;
    LeaseTables changes;
    LeaseClock clock;
};

struct Host {
    int number = 0;
    bool up = false;
    bool in_recovery = false;
    uint64_t life = 0;
    int64_t ahead_us = 0; // its clock, of the true time
    int64_t comes_up_at = 0;
    int64_t slowest_flush_us = 3 * ms;
    int64_t standby_lost_until = 0; // commits wait for a synchronous one
    int64_t free_since = 0;         // of the last transaction that somebody left open
    int64_t empty_until = 0;        // its database has no extension yet
    int64_t nonsense_until = 0;     // something there answers otherwise than a coordinator
    bool looks_right = false;       // it does, but not to whoever asks what it is
    int64_t later_known_us = 0;     // a server knows a coordinator that began then
    int64_t told_of_us = 0;         // somebody has said that this one goes on all the same
    LeaseDatabase database;
    std::map<int, Backend> backends;
    // For its standby
    LeaseTables base;
    LeaseClock base_clock{};
    std::deque<Record> records;
};

constexpr int most_hosts = 2;
extern Host hosts[most_hosts];

struct HostCounts {
    uint64_t questions, grants, renewals, releases, refusals, lost_answers, doubled, waited;
};
extern HostCounts host_counts;

void reset_hosts(uint64_t seed);
int64_t host_wall_us(const Host& host);

// It is gone, with all of its backends and what they had not committed.
void stop_host(Host& host);
void start_host(Host& host);
// The tables of a host as a standby has them that is late by so much.
void become_standby(Host& host, Host& of, int64_t late_us);
// Its directory's timeline is another one from now on.
void promote(Host& host);
// A dump of `of` is restored in an empty database.
void restore_dump(Host& host, const Host& of);

// A superuser's statement, which is done at once; of the realm that is there from the start.
void tell_host(Host& host, const Question& question);
void tell_host(Host& host, Question::Kind kind);
// Somebody who is no server of this world wants that node.
Question wish_of_somebody(const NodeKey& key, int64_t ttl_us);
// Somebody takes a node, and leaves the transaction open.
void open_transaction(Host& host, const Question& question, int64_t for_us);

// Until when it hands out nothing; 0: it does.
int64_t rests_until(Host& host);

// Tells whether several of a server's backends of one name wait there though nobody waits for them.
// The name is another one where the server is: after its first id, or as a copy.
bool leaves_several(const Host& host, int server);

} // namespace sim
