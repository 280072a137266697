// A network between servers and the hosts of coordinators, and what is due at a time. Connections
// keep the order of what is sent; messages are late, lost with their connection, or said twice.
#pragma once

#include "server.hpp"

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sim {

// ---- What is due at a time
void at_time(int64_t at, std::function<void()> action);
int64_t next_due(); // true time; never: nothing
void do_what_is_due();

// ---- Messages
struct Value {
    bool null = false;
    std::string text;
};

// What a coordinator says to a question: one row, or an error.
struct Answer {
    bool row = false;
    std::string state; // SQLSTATE
    std::string message;
    std::vector<std::string> fields;
    int64_t origin = 0;  // of the coordinator: later ones have larger numbers
    bool warned = false; // its commit did not wait for the synchronous standby
    bool empty = false;  // no row, and no error
    bool twice = false;  // two rows: not what a coordinator says
    bool fatal = false;  // the error ends the session
};

struct Message {
    enum Kind { greeting, question, answer, reset, goodbye };
    Kind kind = greeting;
    int trip = 0; // of a greeting: how many came before it
    std::string sql;
    std::vector<Value> values;
    Answer said;
};

struct Connection {
    int id = 0;
    int server = 0;                        // that asks
    int host = 0;                          // that answers
    std::string name;                      // application_name
    int64_t last_there = 0, last_back = 0; // arrivals so far
    bool open_there = false;               // the host knows it
    bool open_here = true;                 // the client does
    bool dead = false;                     // nothing comes through
    bool writable = false;                 // for the client: somebody is there
    bool sent = false;                     // whole, whatever the client asked
    int64_t used_us = 0;                   // true time of the client's last message or answer
    std::deque<Message> inbox;             // of the client
    int waits = -1;                        // process that waits for it
};
extern std::map<int, Connection> connections;

int open_connection(int server, int host);
void send_there(Connection& connection, Message message);
void send_back(Connection& connection, Message message);
// The client closes it.
void close_connection(int id);
// All of a server are gone with it, and nobody is told.
void forget_connections(int server);
// The host knows nothing of it any more.
void close_there(int id);
// Something between both ends ends it; each is told or not.
void cut_connection(Connection& connection, bool told_here, bool told_there);

// ---- How bad it is
struct Network {
    Random random;
    int64_t slowest_trip_us = 1500; // one way, on a good day
    int64_t quickest_trip_us = 50;
    bool late = false;    // some messages are
    bool doubled = false; // some questions are asked twice
    bool lossy = false;   // some answers are lost with their connection
    int trips = 3;        // back and forth until there is a connection, the first included
    int64_t cut_off_until[most_servers] = {};
    int unreachable[most_servers] = {-1, -1, -1, -1, -1, -1}; // that host, for a server
};
extern Network network;

void reset_network(uint64_t seed);

// ---- What the hosts do (hosts.cpp)
void host_receives(Connection& connection, const Message& message);
// An answer is on its way back.
void answer_is_sent(Connection& connection);

} // namespace sim
