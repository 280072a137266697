// Connection strings of libpq: whether one may be used for the coordinator, what messages call it,
// and which addresses it names.
//
// Why not hand libpq the list of hosts, which it would try one by one? Without blocking, as the
// lease worker must connect, libpq keeps no connect_timeout: one host that swallows packets holds
// up all that follow until the kernel gives up, for minutes, and leases end meanwhile. Nor does
// libpq come back for the next host when the one that it took hands out no leases, or answers
// nothing.
#pragma once

#include "core/plain.hpp"

#include <cstddef>
#include <cstdint>

struct _PQconninfoOption;
struct addrinfo;

namespace flakeid {

// Reads a connection string. False with a reason when it is none or holds a password; otherwise
// `name` gets what messages call the coordinator: hosts and database.
bool coordinator_read(const char* conninfo, char* name, size_t size, const char** reason);

// One address. All fields are empty where libpq is left to find it.
struct Address {
    char host[256];
    char hostaddr[64]; // numeric; empty for a Unix socket
    char port[8];
};

bool same_address(const Address& a, const Address& b);

enum class NextAddress {
    found,
    unresolved, // a host's name has no address: `error` says why, others may follow
    uncut,      // the string does not list its hosts in a way that can be cut
    end,
};

// The addresses of a connection string, one by one in its order. A host's name is looked up when
// its turn comes, which may take the resolver's time, or where there is none left for `names`,
// counts as one without an address.
struct AddressList {
    int64_t connect_limit_us; // for each answer of each: connect_timeout, or a few seconds
    char error[512];

    _PQconninfoOption* options;
    const char *hosts, *hostaddrs, *ports; // what is left of the lists; nullptr: nothing
    bool names, cut, by_hostaddr, one_port;
    Address address;
    addrinfo* found;
    const addrinfo* next;
};

void open_addresses(AddressList& list, const char* conninfo, bool names);
NextAddress next_address(AddressList& list, Address* address);
void close_addresses(AddressList& list);

static_assert(is_plain<Address, AddressList>);

} // namespace flakeid
