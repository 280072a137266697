#include "leases/remote/connection_string.hpp"

#include "core/plain_text.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <libpq-fe.h>
#include <netdb.h>
#include <sys/socket.h>

namespace flakeid {

namespace {

constexpr int64_t s_us = 1000000;
constexpr int default_connect_s = 3;
constexpr int least_connect_s = 2; // as libpq has it
constexpr int longest_connect_s = 10;

const char* option(const PQconninfoOption* options, const char* keyword)
{
    for (const PQconninfoOption* at = options; at != nullptr && at->keyword != nullptr; at++) {
        if (strcmp(at->keyword, keyword) == 0 && at->val != nullptr) {
            return at->val;
        }
    }
    return "";
}

// The options as libpq takes them, with those of a service and of the environment. libpq refuses to
// connect with a wrong one.
PQconninfoOption* all_options(const char* conninfo)
{
    const char* const keywords[] = {"dbname", "gssencmode", nullptr};
    const char* const values[] = {conninfo, "?", nullptr};
    PGconn* unconnected = PQconnectStartParams(keywords, values, 1);
    PQconninfoOption* options = PQconninfo(unconnected);
    PQfinish(unconnected);
    return options;
}

// Takes the next entry off a list with commas; false when there is none. One that is too long for
// `entry` leaves it empty.
bool next_entry(const char** list, char* entry, size_t size)
{
    if (*list == nullptr) {
        return false;
    }
    const size_t length = strcspn(*list, ",");
    snprintf(entry, size, "%.*s", length < size ? static_cast<int>(length) : 0, *list);
    *list = (*list)[length] == ',' ? *list + length + 1 : nullptr;
    return true;
}

bool is_socket(const char* host)
{
    return host[0] == '/' || host[0] == '@';
}

// Entries of a list with commas; -1 when one is empty. An empty list has none.
int count_entries(const char* list)
{
    int count = 0;
    for (const char* at = list[0] != '\0' ? list : nullptr; at != nullptr; count++) {
        const size_t length = strcspn(at, ",");
        if (length == 0) {
            return -1;
        }
        at = at[length] == ',' ? at + length + 1 : nullptr;
    }
    return count;
}

// Takes the next host into list.address; false at the end.
bool next_host(AddressList& list)
{
    const bool has_host = next_entry(&list.hosts, list.address.host, sizeof list.address.host);
    const bool has_address =
        next_entry(&list.hostaddrs, list.address.hostaddr, sizeof list.address.hostaddr);
    if (!list.one_port) {
        (void)next_entry(&list.ports, list.address.port, sizeof list.address.port);
    }
    return has_host || has_address;
}

} // namespace

bool coordinator_read(const char* conninfo, char* name, size_t size, const char** reason)
{
    char* error = nullptr;
    PQconninfoOption* options = PQconninfoParse(conninfo, &error);
    if (options == nullptr) {
        // The error may quote a part of the text that holds a password.
        *reason = "It is no connection string of libpq.";
        PQfreemem(error);
        return false;
    }
    constexpr const char* secrets[] = {"password", "sslpassword", "scram_client_key",
                                       "scram_server_key", "oauth_client_secret"};
    bool secret = false;
    for (const char* keyword : secrets) {
        secret = secret || option(options, keyword)[0] != '\0';
    }
    if (secret) {
        *reason = "It holds a password, which many may read.";
    } else {
        const char* service = option(options, "service");
        const char* host = option(options, "host");
        const char* port = option(options, "port");
        const char* database = option(options, "dbname");
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s%s%s%s%s", service[0] != '\0' ? "service " : "", service,
                 host[0] != '\0' ? host : option(options, "hostaddr"), port[0] != '\0' ? ":" : "",
                 port, database[0] != '\0' ? "/" : "", database);
        (void)plain_text(text, strlen(text), name, size);
    }
    PQconninfoFree(options);
    return !secret;
}

bool same_address(const Address& a, const Address& b)
{
    return strcmp(a.host, b.host) == 0 && strcmp(a.hostaddr, b.hostaddr) == 0 &&
           strcmp(a.port, b.port) == 0;
}

void open_addresses(AddressList& list, const char* conninfo, bool names)
{
    list = AddressList{};
    list.names = names;
    list.options = all_options(conninfo);
    list.hosts = option(list.options, "host");
    list.hostaddrs = option(list.options, "hostaddr");
    list.ports = option(list.options, "port");
    const int hosts = count_entries(list.hosts);
    const int hostaddrs = count_entries(list.hostaddrs);
    const int ports = count_entries(list.ports);
    list.by_hostaddr = hostaddrs > 0;
    list.cut = hosts >= 0 && hostaddrs >= 0 && hosts + hostaddrs > 0 &&
               (hosts == 0 || hostaddrs == 0 || hosts == hostaddrs) &&
               (ports == 0 || ports == 1 || ports == (hosts > 0 ? hosts : hostaddrs));
    list.hosts = hosts > 0 ? list.hosts : nullptr;
    list.hostaddrs = hostaddrs > 0 ? list.hostaddrs : nullptr;
    list.one_port = ports <= 1;
    if (list.one_port) {
        (void)next_entry(&list.ports, list.address.port, sizeof list.address.port);
    }
    const int given = atoi(option(list.options, "connect_timeout"));
    const int limit_s = given <= 0                  ? default_connect_s
                        : given < least_connect_s   ? least_connect_s
                        : given > longest_connect_s ? longest_connect_s
                                                    : given;
    list.connect_limit_us = limit_s * s_us;
}

NextAddress next_address(AddressList& list, Address* address)
{
    if (!list.cut) {
        return NextAddress::uncut;
    }
    while (list.next == nullptr) {
        if (!next_host(list)) {
            return NextAddress::end;
        }
        if (list.by_hostaddr || is_socket(list.address.host)) {
            *address = list.address;
            return NextAddress::found;
        }
        addrinfo hints{};
        hints.ai_flags = list.names ? 0 : AI_NUMERICHOST;
        hints.ai_socktype = SOCK_STREAM;
        if (list.found != nullptr) {
            freeaddrinfo(list.found);
            list.found = nullptr;
        }
        const int error = getaddrinfo(list.address.host, nullptr, &hints, &list.found);
        if (error != 0) {
            list.found = nullptr;
            snprintf(list.error, sizeof list.error,
                     "could not translate host name \"%s\" to address: %s", list.address.host,
                     gai_strerror(error));
            return NextAddress::unresolved;
        }
        list.next = list.found;
    }
    *address = list.address;
    const int error = getnameinfo(list.next->ai_addr, list.next->ai_addrlen, address->hostaddr,
                                  sizeof address->hostaddr, nullptr, 0, NI_NUMERICHOST);
    list.next = list.next->ai_next;
    if (error != 0) {
        snprintf(list.error, sizeof list.error, "an address of host \"%s\" cannot be read: %s",
                 list.address.host, gai_strerror(error));
        return NextAddress::unresolved;
    }
    return NextAddress::found;
}

void close_addresses(AddressList& list)
{
    if (list.found != nullptr) {
        freeaddrinfo(list.found);
    }
    PQconninfoFree(list.options);
    list = AddressList{};
}

} // namespace flakeid
