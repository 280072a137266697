#include "settings/node.hpp"

#include "core/plain_text.hpp"
#include "server/extension.hpp"
#include "settings/cluster.hpp"
#include "server/guc.hpp"
#include "settings/lease_settings.hpp"
#include "settings/node_file.hpp"
#include "settings/settings.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

extern "C" {
#include "postmaster/postmaster.h"
#include "utils/guc_tables.h"
}

namespace flakeid {

NodeSetting node_setting;

namespace {

char* node_string;

EarlyValue early_node = {"flakeid.node", false, nullptr, false};

constexpr size_t holder_name_size = 256; // a coordinator refuses longer ones
constexpr int host_name_size = 256;      // HOST_NAME_MAX of Linux is 64
constexpr size_t longest_number = 9;     // digits that 32 bits hold whatever they are

bool is_private(uint32_t address)
{
    return address >> 24 == 10 || address >> 20 == (172 << 4 | 1) ||
           address >> 16 == (192 << 8 | 168);
}

// Tells whether an address lies in 100.64.0.0/10 (RFC 6598), the network of pods of some providers.
bool is_shared(uint32_t address)
{
    return address >> 22 == (100 << 2 | 1);
}

// Tells whether a name ends as those of a Deployment's pods, in -<hash>-<5 characters>: the last of
// these is a digit by chance.
bool is_of_deployment(const char* name)
{
    constexpr char random[] = "bcdfghjklmnpqrstvwxz2456789"; // as Kubernetes chooses them
    constexpr size_t least_hash = 8;
    constexpr size_t most_hash = 10;
    constexpr size_t random_end = 5;
    const size_t length = strcspn(name, ".");
    for (const char* at = strchr(name, '-'); at != nullptr; at = strchr(at + 1, '-')) {
        const size_t hash = strspn(at + 1, random);
        const char* end = at + 1 + hash;
        if (hash >= least_hash && hash <= most_hash && *end == '-' &&
            strspn(end + 1, random) == random_end && end + 1 + random_end == name + length) {
            return true;
        }
    }
    return false;
}

// Adds the number of a name such as db-3 or db-3.example.com. It ends the first label, and it is
// the only number there, so that shop-1-0 and shop-2-0 never stand for the same node. Returns
// nullptr, or why there is none, palloc'ed. `source` is what flakeid.node says.
const char* number_of(const char* source, const char* name, uint32_t* number)
{
    constexpr char digits[] = "0123456789";
    const size_t start = strcspn(name, digits);
    const size_t end = start + strspn(name + start, digits);
    const char* what = nullptr;
    if (is_of_deployment(name)) {
        what = "is of a Deployment, whose pods have names that end at random";
    } else if (name[end + strcspn(name + end, digits)] != '\0') {
        what = "has more than one number";
    } else if (start == end || end != strcspn(name, ".") || end - start > longest_number) {
        what = "is none";
    }
    if (what != nullptr) {
        return psprintf(
            "flakeid.node is %s, which takes the number that ends a name such as db-3 or "
            "db-3.example.com, and \"%s\" %s.",
            source, name, what);
    }
    *number += static_cast<uint32_t>(strtoul(name + start, nullptr, 10));
    return nullptr;
}

struct HostName {
    char text[host_name_size];
};
static_assert(is_plain<HostName>);

HostName host_name()
{
    HostName name{};
    gethostname(name.text, sizeof name.text - 1);
    return name;
}

// The group of this server; otherwise why there is none, palloc'ed or constant.
const char* group_of_citus(uint32_t* group)
{
    const Citus citus = citus_cluster();
    if (!citus.present) {
        return psprintf("flakeid.node is citus, which takes the group that Citus gave this server, "
                        "and database \"%s\" has no extension citus.",
                        get_database_name(MyDatabaseId));
    }
    if (!citus.has_joined) {
        return "flakeid.node is citus, which takes the group that Citus gave this server, and it "
               "has joined no cluster yet: run citus_set_coordinator_host() on a coordinator, or "
               "citus_add_node() there for a worker.";
    }
    *group = citus.group;
    return nullptr;
}

// The low bits of the host's first private IPv4 address, as Sonyflake takes them, or of its first
// shared one where it has no private one; false where it has neither. `mask` is the largest node of
// the layout.
bool address_node(uint32_t mask, uint32_t* node)
{
    ifaddrs* interfaces;
    if (getifaddrs(&interfaces) != 0) {
        return false;
    }
    uint32_t found = 0;
    uint32_t shared = 0;
    for (const ifaddrs* at = interfaces; at != nullptr && found == 0; at = at->ifa_next) {
        if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == AF_INET &&
            (at->ifa_flags & IFF_UP) != 0) {
            sockaddr_in address;
            memcpy(&address, at->ifa_addr, sizeof address);
            const uint32_t value = ntohl(address.sin_addr.s_addr);
            found = is_private(value) ? value : 0;
            shared = shared == 0 && is_shared(value) ? value : shared;
        }
    }
    freeifaddrs(interfaces);
    found = found != 0 ? found : shared;
    *node = found & mask;
    return found != 0;
}

constexpr char file_prefix[] = "file:";
const char* node_file; // the path in flakeid.node

// What the file held when a session looked first with the settings in effect, so that all its
// generators have one number.
struct FileSpan {
    uint64_t settings_version; // of the settings
    uint32_t first, last;
};
static_assert(is_plain<FileSpan>);
FileSpan file_span;

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

// Reads a number such as 5, or a span such as 8-15.
bool read_span(const char* at, uint32_t* first, uint32_t* last)
{
    bool good = read_node_number(&at, first);
    *last = *first;
    if (good && *at == '-') {
        at++;
        good = read_node_number(&at, last) && *first <= *last;
    }
    return good && *at == '\0';
}

void read_file_span(NodeSpan* span)
{
    if (file_span.settings_version != settings.version) {
        const NodeFile file = read_node_file(node_file);
        span->problem = file.problem;
        span->hint = file.hint;
        if (span->problem == nullptr && !read_span(file.text, &file_span.first, &file_span.last)) {
            span->problem = psprintf("flakeid.node is a file, and \"%s\" does not hold a number "
                                     "such as 5 or a span such as 8-15.",
                                     node_file);
            span->hint = "Write one line that has the number, or the span, and nothing else.";
        }
        file_span.settings_version = span->problem == nullptr ? settings.version : 0;
    }
    span->first = file_span.first;
    span->last = file_span.last;
}

struct NamedSource {
    const char* name;
    NodeSource source;
};
static_assert(is_plain<NamedSource>);

constexpr NamedSource named_sources[] = {
    {"auto", NodeSource::any},
    {"citus", NodeSource::citus},
    {"hostname", NodeSource::hostname},
    {"cluster_name", NodeSource::cluster_name},
    {"ip", NodeSource::ip},
};

// Reads what follows the name of a source: nothing, such as +32 after one of a name, or such as
// (16) after auto.
bool read_rest(const char* at, NodeSource source, NodeSetting* node)
{
    constexpr uint32_t most = 999999999; // with a number of as many digits it is still an int
    const bool of_name = source == NodeSource::hostname || source == NodeSource::cluster_name;
    uint32_t number = 0;
    node->source = source;
    node->first = node->last = 0;
    if (*at == '+' && of_name) {
        at++;
        const bool good = read_node_number(&at, &number) && number <= most && *at == '\0';
        node->first = node->last = number;
        return good;
    }
    if (*at == '(' && source == NodeSource::any) {
        at++;
        const bool good = read_node_number(&at, &number) && number > 0 && strcmp(at, ")") == 0;
        node->last = number - 1;
        return good;
    }
    return *at == '\0';
}

// The path that a value of flakeid.node names, or nullptr.
const char* path_of(const char* value)
{
    constexpr size_t length = sizeof file_prefix - 1;
    return strncmp(value, file_prefix, length) == 0 ? value + length : nullptr;
}

bool check_node(char** newval, void** extra, GucSource source)
{
    NodeSetting node{};
    node.by_default = source == PGC_S_DEFAULT;
    node.of_database = of_database_or_role(source);
    node.of_all = source > PGC_S_DEFAULT && source <= PGC_S_DATABASE;
    node.set_by = GucSource_Names[source];
    for (const NamedSource& named : named_sources) {
        const size_t length = strlen(named.name);
        if (strncmp(*newval, named.name, length) == 0 &&
            read_rest(*newval + length, named.source, &node)) {
            return keep(node, extra);
        }
    }
    if (const char* path = path_of(*newval)) {
        node.source = NodeSource::file;
        if (!is_absolute_path(path)) {
            GUC_check_errdetail("The file of flakeid.node must have an absolute path.");
            return refuse(early_node);
        }
        return keep(node, extra);
    }
    node.source = NodeSource::number;
    if (!read_span(*newval, &node.first, &node.last)) {
        GUC_check_errdetail("A node is a number such as 5, a span such as 8-15, auto, a span such "
                            "as auto(16), citus, hostname, cluster_name, ip, or file: and the path "
                            "of a file.");
        return refuse(early_node);
    }
    return keep(node, extra);
}

void assign_node(const char* newval, void* extra)
{
    memcpy(&node_setting, extra, sizeof(NodeSetting));
    node_file = path_of(newval);
    settings_changed();
    assigned(early_node, extra);
}

} // namespace

void node_init()
{
    DefineCustomStringVariable("flakeid.node", "Node number of this server's ids.",
                               "A number, a span such as 8-15, auto, a span such as auto(16), "
                               "citus, hostname, cluster_name, ip, or file: and the path of a "
                               "file.",
                               &node_string, "0", PGC_SUSET, guc_flags(), check_node, assign_node,
                               nullptr);
}

void require_good_node()
{
    require_good(early_node);
}

const char* node_text(NodeSource source, uint32_t first, uint32_t last)
{
    if (source == NodeSource::file) {
        return "file:...";
    }
    if (source == NodeSource::any && first != last) {
        return psprintf("auto(%u)", last - first + 1);
    }
    for (const NamedSource& named : named_sources) {
        if (named.source == source) {
            return first == 0 ? named.name : psprintf("%s+%u", named.name, first);
        }
    }
    return first == last ? psprintf("%u", first) : psprintf("%u-%u", first, last);
}

NodeSpan configured_span(const Layout& layout)
{
    NodeSpan span = {node_setting.first, node_setting.last, nullptr,
                     "Set flakeid.node to a number."};
    switch (node_setting.source) {
    case NodeSource::number:
        return span;
    case NodeSource::file:
        read_file_span(&span);
        return span;
    case NodeSource::any:
        span.hint = "Set flakeid.coordinator, or flakeid.node to a number.";
        if (lease_settings.coordinator[0] == '\0') {
            span.problem = "flakeid.node is auto, which is for servers with a coordinator, and "
                           "flakeid.coordinator is empty.";
        }
        return span;
    case NodeSource::citus:
        span.problem = group_of_citus(&span.first);
        break;
    case NodeSource::hostname:
        span.problem = number_of("hostname", host_name().text, &span.first);
        break;
    case NodeSource::cluster_name:
        span.problem = number_of("cluster_name", cluster_name, &span.first);
        break;
    case NodeSource::ip:
        if (!address_node(layout.max_node, &span.first)) {
            span.problem = "flakeid.node is ip, which takes the low bits of an address in "
                           "10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, or else in 100.64.0.0/10, "
                           "and this host has none.";
        }
        break;
    }
    span.last = span.first;
    return span;
}

const char* server_name()
{
    const HostName host = host_name();
    const char* full = cluster_name[0] != '\0'
                           ? psprintf("%s:%d %s", host.text, PostPortNumber, cluster_name)
                           : psprintf("%s:%d", host.text, PostPortNumber);
    auto* name = static_cast<char*>(palloc(holder_name_size));
    (void)plain_text(full, strlen(full), name, holder_name_size);
    return name;
}

void require_granted(const Layout& layout, const char* name, const NodeSpan& span, int32_t node)
{
    if (!same_layout(layout, settings.layout)) {
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("permission denied to choose a node of layout \"%s\"", name),
                errdetail("Nodes are granted for flakeid.layout, which is \"%s\".",
                          settings.layout_text),
                errhint("Leave the node out, or name flakeid.layout."));
    }
    const bool chosen = node_setting.source == NodeSource::any;
    if (chosen || node < 0 || static_cast<uint32_t>(node) < span.first ||
        static_cast<uint32_t>(node) > span.last) {
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("permission denied to generate ids of node %d", node),
                chosen
                    ? errdetail("flakeid.node is auto: the coordinator chooses the node.")
                    : errdetail("flakeid.node grants the nodes %u to %u.", span.first, span.last),
                errhint("Have a superuser set flakeid.node to a span that has the node."));
    }
}

const char* function_of_layout_line(const char* layout)
{
    Oid schema = InvalidOid;
    extension_row(extension_name, [&](HeapTuple row, TupleDesc) {
        schema = reinterpret_cast<Form_pg_extension>(GETSTRUCT(row))->extnamespace;
    });
    const char* name = quote_identifier(get_namespace_name(schema));
    return psprintf("CREATE FUNCTION next_id() RETURNS %s.flake LANGUAGE sql SECURITY DEFINER SET "
                    "search_path = pg_catalog, pg_temp AS $$ SELECT %s.flake_next(%s) $$;",
                    name, name, quote_literal_cstr(layout));
}

} // namespace flakeid
