#include "leases/network.hpp"

#include <algorithm>

namespace sim {

std::map<int, Connection> connections;
Network network;

namespace {

std::multimap<int64_t, std::function<void()>> due;
int last_connection;

Random& dice()
{
    return network.random;
}

// When a message arrives that is sent now.
int64_t arrival(Connection& connection, int64_t* last)
{
    int64_t trip = dice().between(network.quickest_trip_us, network.slowest_trip_us);
    if (network.late && dice().one_in(12)) {
        trip += dice().below(dice().one_in(3) ? 15 * second : 300 * ms); // sent again and again
    }
    int64_t at = std::max(true_us + trip, *last + 1);
    const int64_t cut_off_until = network.cut_off_until[connection.server];
    if (at < cut_off_until || true_us < cut_off_until) {
        at = std::max(at, cut_off_until + dice().below(200 * ms));
    }
    *last = at;
    return at;
}

void client_receives(int id, const Message& message)
{
    const auto found = connections.find(id);
    if (found == connections.end() || !found->second.open_here) {
        return;
    }
    Connection& connection = found->second;
    connection.writable = true;
    connection.used_us = true_us;
    connection.inbox.push_back(message);
    if (connection.waits >= 0) {
        wake_number(connection.waits);
    }
}

} // namespace

void at_time(int64_t at, std::function<void()> action)
{
    due.emplace(std::max(at, true_us), std::move(action));
}

int64_t next_due()
{
    return due.empty() ? never : due.begin()->first;
}

void do_what_is_due()
{
    while (!due.empty() && due.begin()->first <= true_us) {
        const std::function<void()> action = std::move(due.begin()->second);
        due.erase(due.begin());
        action();
    }
}

int open_connection(int server, int host)
{
    const int id = ++last_connection;
    Connection& connection = connections[id];
    connection.id = id;
    connection.server = server;
    connection.host = host;
    connection.used_us = true_us;
    return id;
}

void send_there(Connection& connection, Message message)
{
    if (connection.dead || network.unreachable[connection.server] == connection.host) {
        return;
    }
    const int id = connection.id;
    connection.used_us = true_us;
    const int64_t at = arrival(connection, &connection.last_there);
    at_time(at, [id, message] {
        const auto found = connections.find(id);
        if (found != connections.end()) {
            host_receives(found->second, message);
        }
    });
}

void send_back(Connection& connection, Message message)
{
    if (connection.dead || network.unreachable[connection.server] == connection.host) {
        return;
    }
    const int id = connection.id;
    const int64_t at = arrival(connection, &connection.last_back);
    at_time(at, [id, message] { client_receives(id, message); });
}

void close_connection(int id)
{
    const auto found = connections.find(id);
    if (found == connections.end()) {
        return;
    }
    Connection& connection = found->second;
    connection.open_here = false;
    connection.inbox.clear();
    connection.waits = -1;
    if (connection.dead) {
        if (!connection.open_there) {
            connections.erase(found);
        }
        return;
    }
    Message goodbye;
    goodbye.kind = Message::goodbye;
    send_there(connection, goodbye);
}

void forget_connections(int server)
{
    for (auto& [id, connection] : connections) {
        if (connection.server == server) {
            connection.open_here = false;
            connection.inbox.clear();
            connection.waits = -1;
        }
    }
}

void cut_connection(Connection& connection, bool told_here, bool told_there)
{
    Message reset;
    reset.kind = Message::reset;
    if (told_here) {
        send_back(connection, reset);
    }
    if (told_there) {
        send_there(connection, reset);
    }
    connection.dead = true; // whatever else is sent comes to nothing
}

void close_there(int id)
{
    Connection& connection = connections.at(id);
    connection.open_there = false;
    if (!connection.open_here) {
        connections.erase(id);
    }
}

void reset_network(uint64_t seed)
{
    network = Network{};
    network.random = Random(mix(seed, 3));
    connections.clear();
    due.clear();
    last_connection = 0;
}

} // namespace sim
