#include "node.hpp"

#include "guc.hpp"
#include "lease_settings.hpp"
#include "settings.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

extern "C" {
#include "postmaster/postmaster.h"
}

namespace flakeid {

NodeSetting node_setting;

namespace {

char* node_string;

Loaded loaded_node = {"flakeid.node", false, nullptr, false};

constexpr int host_name_size = 256;  // HOST_NAME_MAX of Linux is 64
constexpr size_t longest_number = 9; // digits that 32 bits hold whatever they are

bool is_private(uint32_t address)
{
    return address >> 24 == 10 || address >> 20 == (172 << 4 | 1) ||
           address >> 16 == (192 << 8 | 168);
}

// The number that ends the host name, as in a StatefulSet; false where there is none.
bool hostname_node(uint32_t* node)
{
    char name[host_name_size] = "";
    if (gethostname(name, sizeof name - 1) != 0) {
        return false;
    }
    // The name of a machine may carry its domain.
    const size_t end = strcspn(name, ".");
    size_t start = end;
    while (start > 0 && isdigit(static_cast<unsigned char>(name[start - 1]))) {
        start--;
    }
    if (start == end || end - start > longest_number) {
        return false;
    }
    name[end] = '\0';
    *node = static_cast<uint32_t>(strtoul(name + start, nullptr, 10));
    return true;
}

// The low bits of the host's first private IPv4 address, as Sonyflake takes them; false where there
// is none. `mask` is the largest node of the layout.
bool address_node(uint32_t mask, uint32_t* node)
{
    ifaddrs* interfaces;
    if (getifaddrs(&interfaces) != 0) {
        return false;
    }
    uint32_t found = 0;
    for (const ifaddrs* at = interfaces; at != nullptr && found == 0; at = at->ifa_next) {
        if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
            (at->ifa_flags & IFF_UP) != 0) {
            sockaddr_in address;
            memcpy(&address, at->ifa_addr, sizeof address);
            const uint32_t value = ntohl(address.sin_addr.s_addr);
            found = is_private(value) ? value : 0;
        }
    }
    freeifaddrs(interfaces);
    *node = found & mask;
    return found != 0;
}

bool read_node_number(const char** at, uint32_t* value)
{
    const char* start = *at;
    uint64_t result = 0;
    while (**at >= '0' && **at <= '9' && result <= PG_INT32_MAX) {
        result = result * 10 + static_cast<uint64_t>(**at - '0');
        (*at)++;
    }
    *value = static_cast<uint32_t>(result);
    return *at != start && result <= PG_INT32_MAX;
}

bool check_node(char** newval, void** extra, GucSource source)
{
    NodeSetting node{};
    node.by_default = source == PGC_S_DEFAULT;
    const char* at = *newval;
    if (strcmp(at, "hostname") == 0) {
        node.source = NodeSource::hostname;
        return keep(node, extra);
    }
    if (strcmp(at, "ip") == 0) {
        node.source = NodeSource::ip;
        return keep(node, extra);
    }
    if (strcmp(at, "auto") == 0) {
        node.source = NodeSource::any;
        return keep(node, extra);
    }
    node.source = NodeSource::number;
    bool good = read_node_number(&at, &node.first);
    node.last = node.first;
    if (good && *at == '-') {
        at++;
        good = read_node_number(&at, &node.last) && node.first <= node.last;
    }
    if (!good || *at != '\0') {
        GUC_check_errdetail(
            "A node is a number such as 5, a span such as 8-15, auto, hostname or ip.");
        return refuse(loaded_node);
    }
    return keep(node, extra);
}

void assign_node(const char*, void* extra)
{
    memcpy(&node_setting, extra, sizeof(NodeSetting));
    settings.generation++;
    assigned(loaded_node, extra);
}

} // namespace

void node_init()
{
    DefineCustomStringVariable("flakeid.node", "Node number of this server's ids.",
                               "A number, a span such as 8-15, auto, hostname or ip.", &node_string,
                               "0", PGC_SUSET, 0, check_node, assign_node, nullptr);
}

void require_good_node()
{
    require_good(loaded_node);
}

NodeSpan configured_span(const Layout& layout)
{
    NodeSpan span = {node_setting.first, node_setting.last, nullptr};
    if (node_setting.source == NodeSource::hostname && !hostname_node(&span.first)) {
        span.problem =
            "flakeid.node is hostname, which takes the number that ends the host name, and "
            "this host's name ends in none.";
    }
    if (node_setting.source == NodeSource::ip && !address_node(layout.max_node, &span.first)) {
        span.problem = "flakeid.node is ip, which takes the low bits of an address in 10.0.0.0/8, "
                       "172.16.0.0/12 or 192.168.0.0/16, and this host has none.";
    }
    if (node_setting.source == NodeSource::any && lease_settings.coordinator[0] == '\0') {
        span.problem = "flakeid.node is auto, which is for servers with a coordinator, and "
                       "flakeid.coordinator is empty.";
    }
    if (node_setting.source != NodeSource::number) {
        span.last = span.first;
    }
    return span;
}

const char* server_name()
{
    char host[host_name_size] = "";
    gethostname(host, sizeof host - 1);
    return cluster_name[0] != '\0' ? psprintf("%s:%d %s", host, PostPortNumber, cluster_name)
                                   : psprintf("%s:%d", host, PostPortNumber);
}

} // namespace flakeid
