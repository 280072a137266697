// A libpq over the network of network.hpp, for the client of coordinators. It is asked what
// src/leases/remote asks it, and no more.
#include "leases/truth.hpp"

#include "backend.hpp"
#include "checker.hpp"
#include "leases/manners.hpp"
#include "leases/remote/coordinator.hpp"
#include "world.hpp"

extern "C" {
#include "storage/latch.h"
}
#undef printf
#undef fprintf
#undef snprintf
#undef vsnprintf

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <libpq-fe.h>
#include <netdb.h>
#include <netinet/in.h>

using namespace sim;

struct pg_conn {
    std::vector<std::pair<std::string, std::string>> options;
    int id = 0; // of the connection; 0: there is none
    bool bad = false;
    std::string conninfo; // by which it was made
    int trips = 0;        // that came back
    std::string error;
    bool asked = false;
    std::string sql;
    std::vector<Value> values;
    std::deque<Answer> read;
    int stage = 0; // of the results of the answer that is taken
    Answer taken;
    bool is_done = false; // another coordinator is to be asked
    PQnoticeReceiver receiver = nullptr;
    void* received_by = nullptr;
};

struct pg_result {
    ExecStatusType status;
    Answer answer;
};

namespace {

constexpr const char* keywords[] = {"service",         "host",
                                    "hostaddr",        "port",
                                    "dbname",          "user",
                                    "connect_timeout", "target_session_attrs",
                                    "sslmode",         "application_name"};

// key = value, with quotes. False for anything else.
bool parse(const char* text, std::vector<std::pair<std::string, std::string>>* options)
{
    for (const char* at = text; *at != '\0';) {
        if (*at == ' ') {
            at++;
            continue;
        }
        const char* equals = strchr(at, '=');
        if (equals == nullptr) {
            return false;
        }
        const std::string key(at, equals);
        std::string value;
        at = equals + 1;
        const bool quoted = *at == '\'';
        at += quoted ? 1 : 0;
        for (; *at != '\0' && *at != (quoted ? '\'' : ' '); at++) {
            value += *at;
        }
        at += quoted && *at == '\'' ? 1 : 0;
        options->emplace_back(key, value);
    }
    return true;
}

void set(pg_conn& c, const std::string& key, const std::string& value)
{
    for (auto& [name, old] : c.options) {
        if (name == key) {
            old = value;
            return;
        }
    }
    c.options.emplace_back(key, value);
}

std::string get(const pg_conn& c, const char* key)
{
    for (const auto& [name, value] : c.options) {
        if (name == key) {
            return value;
        }
    }
    return "";
}

// What this process has of the library and has not given back.
PROCESS_LOCAL Held my_held = {};

PQconninfoOption* make_options(const std::vector<std::pair<std::string, std::string>>& options)
{
    my_held.lists++;
    auto* made =
        static_cast<PQconninfoOption*>(calloc(lengthof(keywords) + 1, sizeof(PQconninfoOption)));
    for (size_t i = 0; i < lengthof(keywords); i++) {
        made[i].keyword = const_cast<char*>(keywords[i]);
        for (const auto& [name, value] : options) {
            if (name == keywords[i]) {
                free(made[i].val);
                made[i].val = strdup(value.c_str());
            }
        }
    }
    return made;
}

Connection& connection_of(const pg_conn& c)
{
    return connections.at(c.id);
}

// Hosts are 10.0.0.1, 10.0.0.2, ...; -1: nobody has that address.
int host_of(const std::string& address)
{
    constexpr char net[] = "10.0.0.";
    if (address.rfind(net, 0) != 0) {
        return -1;
    }
    return atoi(address.c_str() + sizeof net - 1) - 1;
}

bool lost(pg_conn& c, const char* error)
{
    c.bad = true;
    c.error = error;
    return false;
}

} // namespace

const Held& sim::held_of_libpq()
{
    return my_held;
}

extern "C" {

PGconn* PQconnectStartParams(const char* const* names, const char* const* values, int)
{
    yield();
    auto* c = new pg_conn;
    my_held.connections++;
    for (int i = 0; names[i] != nullptr; i++) {
        if (values[i] == nullptr || values[i][0] == '\0') {
            continue;
        }
        if (strcmp(names[i], "dbname") == 0 && strchr(values[i], '=') != nullptr) {
            c->conninfo = values[i];
            if (!parse(values[i], &c->options)) {
                (void)lost(*c, "no connection string");
            }
        } else {
            set(*c, names[i], values[i]);
        }
    }
    if (get(*c, "gssencmode") != "") {
        (void)lost(*c, "invalid gssencmode value");
    }
    if (c->bad) {
        return c;
    }
    const std::string address = get(*c, "hostaddr");
    const int host = host_of(address.empty() ? get(*c, "host") : address);
    c->id = open_connection(here().number, host);
    begins_to_connect();
    connection_of(*c).name = get(*c, "application_name");
    Message greeting;
    send_there(connection_of(*c), greeting);
    return c;
}

PQconninfoOption* PQconninfo(PGconn* c)
{
    return make_options(c->options);
}

PQconninfoOption* PQconninfoParse(const char* text, char**)
{
    std::vector<std::pair<std::string, std::string>> options;
    return parse(text, &options) ? make_options(options) : nullptr;
}

void PQconninfoFree(PQconninfoOption* options)
{
    my_held.lists -= options != nullptr ? 1 : 0;
    for (PQconninfoOption* at = options; at != nullptr && at->keyword != nullptr; at++) {
        free(at->val);
    }
    free(options);
}

void PQfreemem(void*) {}

PQnoticeReceiver PQsetNoticeReceiver(PGconn* c, PQnoticeReceiver receiver, void* received_by)
{
    c->receiver = receiver;
    c->received_by = received_by;
    return nullptr;
}

int PQsetnonblocking(PGconn*, int)
{
    return 0;
}

ConnStatusType PQstatus(const PGconn* c)
{
    return c == nullptr || c->bad      ? CONNECTION_BAD
           : c->trips >= network.trips ? CONNECTION_OK
                                       : CONNECTION_STARTED;
}

int PQsocket(const PGconn* c)
{
    return c->id;
}

int PQbackendPID(const PGconn* c)
{
    return c->id;
}

char* PQerrorMessage(const PGconn* c)
{
    return const_cast<char*>(c->error.c_str());
}

PostgresPollingStatusType PQconnectPoll(PGconn* c)
{
    yield();
    Connection& connection = connection_of(*c);
    if (connection.inbox.empty()) {
        return c->trips == 0 ? PGRES_POLLING_WRITING : PGRES_POLLING_READING;
    }
    const Message message = connection.inbox.front();
    connection.inbox.pop_front();
    if (message.kind == Message::reset) {
        (void)lost(*c, "connection refused");
        return PGRES_POLLING_FAILED;
    }
    if (message.kind == Message::answer) { // to what it asked for a session
        (void)lost(*c, message.said.message.c_str());
        return PGRES_POLLING_FAILED;
    }
    c->trips++;
    if (c->trips >= network.trips) {
        may_connect();
        return PGRES_POLLING_OK;
    }
    Message greeting;
    greeting.trip = c->trips;
    if (c->trips == network.trips - 1) {
        greeting.sql = get(*c, "target_session_attrs");
    }
    send_there(connection, greeting);
    return PGRES_POLLING_READING;
}

void PQfinish(PGconn* c)
{
    if (c == nullptr) {
        return;
    }
    if (c->id != 0) {
        connection_ends(PQstatus(c) != CONNECTION_OK || c->asked);
        close_connection(c->id);
    }
    my_held.connections--;
    delete c;
}

int PQsendQueryParams(PGconn* c, const char* sql, int count, const Oid*, const char* const* values,
                      const int*, const int*, int)
{
    yield();
    if (c->bad || c->asked || PQstatus(c) != CONNECTION_OK) {
        broken_for_good("a question is asked on a connection that is of no use");
    }
    if (c->is_done) { // it does not believe the server, or its answer was a warning or no sense
        broken("a coordinator is asked again that is to be left");
    }
    if (network.lossy && network.random.one_in(40)) {
        (void)lost(*c, "could not send data to server");
        if (world.has('N') && network.random.one_in(2)) { // and there is no other way to it
            int64_t& until = network.cut_off_until[here().number];
            until = std::max(until, true_us + network.random.below(100 * second));
        }
        return 0;
    }
    c->asked = connections.at(c->id).sent = true;
    c->sql = sql;
    c->values.clear();
    for (int i = 0; i < count; i++) {
        c->values.push_back({values[i] == nullptr, values[i] == nullptr ? "" : values[i]});
    }
    is_asked(c->sql, c->values);
    asks(c->sql, c->conninfo);
    Message question;
    question.kind = Message::question;
    question.sql = c->sql;
    question.values = c->values;
    send_there(connection_of(*c), question);
    return 1;
}

int PQsetSingleRowMode(PGconn*)
{
    return 1;
}

int PQflush(PGconn* c)
{
    return c->bad ? -1 : 0;
}

int PQisBusy(PGconn* c)
{
    return c->asked && c->stage == 0 && c->read.empty() && !c->bad ? 1 : 0;
}

int PQconsumeInput(PGconn* c)
{
    yield();
    std::deque<Message>& inbox = connection_of(*c).inbox;
    while (!inbox.empty() && inbox.front().kind == Message::answer) {
        c->read.push_back(inbox.front().said);
        inbox.pop_front();
    }
    if (!inbox.empty() && c->read.empty()) {
        (void)lost(*c, "server closed the connection unexpectedly");
        return 0;
    }
    return 1;
}

PGresult* PQgetResult(PGconn* c)
{
    if (c->stage == 0) {
        if (c->read.empty()) {
            return nullptr;
        }
        c->taken = c->read.front();
        c->read.pop_front();
        c->stage = c->taken.row ? 1 : 2;
        my_held.results++;
        if (c->taken.row) {
            if (!c->taken.warned && !c->taken.twice) {
                is_answered(c->sql, c->values, c->taken);
            }
            return new pg_result{PGRES_SINGLE_TUPLE, c->taken};
        }
        if (c->taken.empty) {
            return new pg_result{PGRES_TUPLES_OK, {}};
        }
        is_refused(c->sql, c->values, c->taken.state);
        c->bad = c->taken.fatal;
        c->is_done = c->taken.state.rfind("08", 0) == 0;
        return new pg_result{PGRES_FATAL_ERROR, c->taken};
    }
    if (c->stage == 1) {
        c->stage = 2;
        my_held.results++;
        if (c->taken.twice) {
            c->is_done = true;
            return new pg_result{PGRES_SINGLE_TUPLE, c->taken};
        }
        return new pg_result{PGRES_TUPLES_OK, {}};
    }
    if (c->taken.warned) {
        const PGresult notice{PGRES_NONFATAL_ERROR, {}};
        c->receiver(c->received_by, &notice);
        c->is_done = true;
    }
    c->stage = 0;
    c->asked = false;
    return nullptr;
}

ExecStatusType PQresultStatus(const PGresult* r)
{
    return r->status;
}

char* PQresultErrorField(const PGresult* r, int field)
{
    static char warning[] = "WARNING";
    return field == PG_DIAG_SQLSTATE          ? const_cast<char*>(r->answer.state.c_str())
           : field == PG_DIAG_MESSAGE_PRIMARY ? const_cast<char*>(r->answer.message.c_str())
           : field == PG_DIAG_SEVERITY_NONLOCALIZED && r->status == PGRES_NONFATAL_ERROR
               ? warning
               : nullptr;
}

void PQclear(PGresult* r)
{
    my_held.results -= r != nullptr ? 1 : 0;
    delete r;
}

int PQntuples(const PGresult* r)
{
    return r->status == PGRES_SINGLE_TUPLE ? 1 : 0;
}

int PQnfields(const PGresult* r)
{
    return static_cast<int>(r->answer.fields.size());
}

char* PQgetvalue(const PGresult* r, int, int i)
{
    return const_cast<char*>(r->answer.fields[static_cast<size_t>(i)].c_str());
}

int PQgetlength(const PGresult* r, int, int i)
{
    return static_cast<int>(r->answer.fields[static_cast<size_t>(i)].size());
}

int PQgetisnull(const PGresult*, int, int)
{
    return 0;
}

int PQfformat(const PGresult*, int)
{
    return 0;
}

// ---- Names of hosts: "one" is the first, "both" the first two, another one nobody has.
int getaddrinfo(const char* name, const char*, const addrinfo* hints, addrinfo** found)
{
    const bool numeric = (hints->ai_flags & AI_NUMERICHOST) != 0;
    if (!numeric) {
        yield();
    }
    addrinfo* list = nullptr;
    const int count = numeric                     ? 0
                      : strcmp(name, "both") == 0 ? 2
                      : strcmp(name, "one") == 0  ? 1
                                                  : 0;
    for (int i = count; i > 0; i--) {
        auto* address = static_cast<sockaddr_in*>(calloc(1, sizeof(sockaddr_in)));
        address->sin_family = AF_INET;
        address->sin_addr.s_addr = htonl(0x0a000000u + static_cast<uint32_t>(i));
        auto* info = static_cast<addrinfo*>(calloc(1, sizeof(addrinfo)));
        info->ai_addr = reinterpret_cast<sockaddr*>(address);
        info->ai_addrlen = sizeof(sockaddr_in);
        info->ai_next = list;
        list = info;
    }
    *found = list;
    my_held.lists += list != nullptr ? 1 : 0;
    return list == nullptr ? EAI_NONAME : 0;
}

void freeaddrinfo(addrinfo* list)
{
    my_held.lists -= list != nullptr ? 1 : 0;
    while (list != nullptr) {
        addrinfo* next = list->ai_next;
        free(list->ai_addr);
        free(list);
        list = next;
    }
}

int getnameinfo(const sockaddr* address, socklen_t, char* host, socklen_t size, char*, socklen_t,
                int)
{
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    const uint32_t number = ntohl(in->sin_addr.s_addr);
    snprintf(host, size, "10.0.0.%u", number & 255);
    return 0;
}

const char* gai_strerror(int)
{
    return "Name or service not known";
}

// ---- Waits
int WaitLatchOrSocket(Latch* latch, int events, pgsocket socket, long timeout_ms, uint32)
{
    must_end(events, timeout_ms);
    const auto found = connections.find(socket);
    if (found == connections.end() || !found->second.open_here) {
        broken_for_good("a connection that is closed is waited for");
    }
    if ((events & WL_SOCKET_WRITEABLE) != 0 && found->second.sent) {
        broken("the lease worker waits to send what is sent");
    }
    wait_may_fail();
    const int64_t until = true_us + timeout_ms * ms;
    for (;;) {
        Connection& connection = connections.at(socket);
        int happened = latch->is_set ? WL_LATCH_SET : 0;
        happened |= connection.inbox.empty() ? 0 : events & WL_SOCKET_READABLE;
        happened |= connection.writable ? events & WL_SOCKET_WRITEABLE : 0;
        if (happened != 0 || true_us >= until) {
            return happened != 0 ? happened : WL_TIMEOUT;
        }
        connection.waits = running->number;
        sleep_until(until);
        connections.at(socket).waits = -1;
    }
}

// ---- The library flakeid_libpq, which this program is linked with
const flakeid::Client* flakeid_client();

void* load_external_function(const char*, const char*, bool, void**)
{
    return reinterpret_cast<void*>(flakeid_client);
}

} // extern "C"
