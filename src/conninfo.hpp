// Connection strings of libpq: whether one may be used for the coordinator, what messages call it,
// and which addresses it names.
#pragma once

#include "core/plain.hpp"

#include <cstddef>
#include <cstdint>

struct _PQconninfoOption;
struct addrinfo;

namespace flakeid {

constexpr size_t coordinator_name_size = 128;

// Reads a connection string. False with a reason when it is none or holds a password; otherwise
// `name` gets what messages call the coordinator: hosts and database.
bool read_coordinator(const char* conninfo, char* name, size_t size, const char** reason);

constexpr char coordinator_hint[] = "Write a connection string such as host=ids.example.com "
                                    "dbname=ids user=shop, and keep the password "
                                    "in a passfile.";

// One address. All fields are empty where libpq is left to find it.
struct Place {
    char host[256];
    char address[64]; // numeric; empty for a Unix socket
    char port[8];
};

bool same_place(const Place& a, const Place& b);

enum class NextPlace {
    found,
    unresolved, // a host's name has no address: `error` says why, others may follow
    uncut,      // the string does not list its hosts in a way that can be cut
    end,
};

// The addresses of a connection string, one by one in its order. A host's name is looked up when
// its turn comes, which may take the resolver's time.
struct PlaceList {
    int64_t connect_limit_us; // for each: connect_timeout, or a few seconds
    char error[512];

    _PQconninfoOption* options;
    const char *hosts, *addresses, *ports; // what is left of the lists; nullptr: nothing
    bool cut, by_address, one_port;
    Place place;
    addrinfo* found;
    const addrinfo* next;
};

void open_places(PlaceList& list, const char* conninfo);
NextPlace next_place(PlaceList& list, Place* place);
void close_places(PlaceList& list);

static_assert(is_plain<Place, PlaceList>);

} // namespace flakeid
