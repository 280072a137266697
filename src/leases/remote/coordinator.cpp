#include "leases/remote/coordinator.hpp"

#include "leases/remote/ask.hpp"

#include <cassert>
#include <cstdio>
#include <cstring>

namespace flakeid {

namespace {

constexpr int64_t s_us = 1000000;
constexpr int own_values = 5; // of each question, before its own
constexpr int max_values = 10;
// TCP, TLS and a password take up to seven round trips, each of which may take that long. Whoever
// answers a little now and then for longer than so many limits of one answer is no coordinator.
constexpr int64_t most_quiet = 5;

// Asks a question of a realm, after what the coordinator says of itself: it refuses whoever knows a
// later one. `columns` and `source` are SQL that names its `count` values from $6 on.
PGresult* ask_in_realm(Coordinator& c, const char* realm, const char* columns, const char* source,
                       int count, const char* const* values)
{
    char sql[1000];
    char version[16];
    char known_realm[token_text_size];
    char number[24];
    char place[24];
    const char* all[max_values];
    const int length = snprintf(sql, sizeof sql,
                                "SELECT %s FROM flakeid.lease_coordinator($1::pg_catalog.int4, "
                                "$2::pg_catalog.text, $3::pg_catalog.uuid, $4::pg_catalog.int8, "
                                "$5::pg_catalog.int8) AS c%s",
                                columns, source);
    assert(length < static_cast<int>(sizeof sql) && own_values + count <= max_values);
    (void)length;
    snprintf(version, sizeof version, "%d", lease_wire_version);
    write_token(c.known.realm, known_realm);
    snprintf(number, sizeof number, "%lld", static_cast<long long>(c.known.number));
    snprintf(place, sizeof place, "%lld", static_cast<long long>(c.known.place));
    const bool known = c.known.number != 0;
    all[0] = version;
    all[1] = realm;
    all[2] = known ? known_realm : nullptr;
    all[3] = known ? number : nullptr;
    all[4] = known ? place : nullptr;
    for (int i = 0; i < count; i++) {
        all[own_values + i] = values[i];
    }
    return ask(c, sql, own_values + count, all);
}

// The first question tells also whether a server that accepts sessions answers. It ends whoever
// still works there at a question that this client left: a commit that waits for a synchronous
// standby does not notice by itself. And it has the session end when this client is gone. Behind a
// pooler the session is not the client's, and has another number than the client was told.
//
// Why not PQcancel? It blocks, for good where a machine accepts connections and its postmaster
// stands still.
bool hands_out_leases(Coordinator& c)
{
    constexpr char sql[] =
        "SELECT pg_catalog.concat("
        "(SELECT pg_catalog.count(pg_catalog.pg_terminate_backend(a.pid)) "
        "FROM pg_catalog.pg_stat_get_activity(NULL) AS a "
        "WHERE a.application_name OPERATOR(pg_catalog.=) $1::pg_catalog.text "
        "AND a.state OPERATOR(pg_catalog.=) 'active' "
        "AND a.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()), "
        "CASE WHEN pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) $2::pg_catalog.int4 "
        "THEN pg_catalog.concat("
        "pg_catalog.set_config('statement_timeout', '15s', false), "
        "pg_catalog.set_config('idle_session_timeout', '15s', false), "
        "pg_catalog.set_config('tcp_user_timeout', '15s', false), "
        "pg_catalog.set_config('client_connection_check_interval', '2s', false)) END) "
        "FROM pg_catalog.pg_extension AS e "
        "WHERE e.extname OPERATOR(pg_catalog.=) 'flakeid_coordinator'";
    char pid[16];
    snprintf(pid, sizeof pid, "%d", PQbackendPID(c.connection));
    const char* const values[] = {c.name, pid};
    PGresult* result = ask(c, sql, 2, values);
    if (result == nullptr && c.connection != nullptr && c.trouble == Trouble::nonsense) {
        (void)trouble(c, Trouble::refused,
                      "extension flakeid_coordinator is not installed in the coordinator's "
                      "database");
    }
    return check(c, result, read_nothing);
}

// Drives an attempt to connect to its end; PQstatus() says then how it ended. `wait` waits until
// the socket can be read, or written where its argument is false. It returns false to give up, and
// so does this; it may have ended the connection by then.
template <typename Wait>
bool finish_connecting(PGconn* connection, Wait wait)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (PQstatus(connection) != CONNECTION_BAD && status != PGRES_POLLING_OK &&
           status != PGRES_POLLING_FAILED) {
        if (!wait(status == PGRES_POLLING_READING)) {
            return false;
        }
        status = PQconnectPoll(connection);
    }
    return true;
}

// Keeps the notices of the other server out of this server's log, where libpq would write them.
void watch_notices(Coordinator& c)
{
    PQsetNoticeReceiver(
        c.connection,
        [](void* warned, const PGresult* notice) {
            const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
            if (severity != nullptr && strcmp(severity, "WARNING") == 0) {
                *static_cast<bool*>(warned) = true;
            }
        },
        &c.warned);
}

// Connects to one address, or where all its fields are empty to whatever libpq finds. Gives up when
// nothing was answered for `quiet_us`.
bool connect_to(Coordinator& c, const Address& address, int64_t quiet_us)
{
    const char* const keywords[] = {"dbname", "application_name", "host", "hostaddr", "port",
                                    nullptr};
    const char* const values[] = {c.conninfo,       c.name,       address.host,
                                  address.hostaddr, address.port, nullptr};
    c.connection = PQconnectStartParams(keywords, values, 1);
    if (c.connection == nullptr) {
        return trouble(c, Trouble::failed, "out of memory");
    }
    watch_notices(c);
    const Steady last = c.waiter->now() + most_quiet * quiet_us;
    if (!finish_connecting(c.connection, [&](bool reading) {
            const Steady limit = c.waiter->now() + quiet_us;
            // same with <=: the same moment
            return wait_for(c, reading, !reading, limit < last ? limit : last, false);
        })) {
        return false;
    }
    if (PQstatus(c.connection) != CONNECTION_OK || PQsetnonblocking(c.connection, 1) != 0) {
        return lost(c, Trouble::away, PQerrorMessage(c.connection));
    }
    c.address = address;
    c.has_address = true;
    if (!hands_out_leases(c)) {
        coordinator_disconnect(c);
        return false;
    }
    return true;
}

const char* seconds_text(int64_t us, char* text, size_t size)
{
    snprintf(text, size, "%lld.%06d", static_cast<long long>(us / s_us),
             static_cast<int>(us % s_us));
    return text;
}

} // namespace

bool coordinator_connect(Coordinator& c)
{
    if (c.connection != nullptr) {
        return true; // one that is of no use any more was ended
    }
    const bool stopping = c.stop != steady_never; // no time is left to look up names
    if (stopping && c.has_address) {
        return connect_to(c, c.address, c.stop - c.waiter->now());
    }
    const Address avoided = c.address;
    const bool avoids = c.has_address && c.unanswering;
    AddressList list;
    open_addresses(list, c.conninfo, !stopping);
    (void)trouble(c, Trouble::away, "there is no host");
    auto try_address = [&](const Address& address) {
        return connect_to(c, address, list.connect_limit_us);
    };
    bool open = false;
    bool cut = true;
    bool avoided_one = false;
    for (bool more = true; more && !open;) {
        Address address{};
        switch (next_address(list, &address)) {
        case NextAddress::found:
            if (avoids && same_address(address, avoided)) {
                avoided_one = true;
                continue;
            }
            open = try_address(address);
            more = c.trouble != Trouble::interrupted;
            break;
        case NextAddress::unresolved:
            more = !c.waiter->interrupted();
            (void)trouble(c, more ? Trouble::away : Trouble::interrupted, list.error);
            break;
        case NextAddress::uncut:
            cut = false;
            more = false;
            break;
        case NextAddress::end:
            more = false;
            break;
        }
    }
    if (!open && (avoided_one || (!cut && !stopping)) && c.trouble != Trouble::interrupted) {
        open = try_address(cut ? avoided : Address{});
    }
    close_addresses(list);
    return open;
}

bool coordinator_acquire(Coordinator& c, const char* realm, const char* holder, const Wish& wish,
                         Grant* grant)
{
    char node[16];
    char most[16];
    char length[24];
    char token[token_text_size];
    // A coordinator that was not updated yet leases nodes one by one, and says no number.
    constexpr char columns[] =
        "a.node, a.token, pg_catalog.date_part('epoch', a.lease_start)::pg_catalog.int8, "
        "pg_catalog.date_part('epoch', a.lease_end)::pg_catalog.int8, "
        "COALESCE(pg_catalog.to_jsonb(a) OPERATOR(pg_catalog.->>) 'nodes'::pg_catalog.text, '1'), "
        "c.realm_id, c.term, c.place";
    constexpr char source[] =
        ", LATERAL flakeid.lease_acquire(c.realm, $6::pg_catalog.text, $7::pg_catalog.interval, "
        "$8::pg_catalog.int4, $9::pg_catalog.int4, $10::pg_catalog.uuid) AS a";
    write_token(wish.token, token);
    snprintf(node, sizeof node, "%u", wish.node);
    snprintf(most, sizeof most, "%u", wish.any ? wish.node : wish.max_node);
    snprintf(length, sizeof length, "%d s", wish.seconds);
    const char* const values[] = {holder, length, wish.any ? nullptr : node,
                                  wish.any || wish.max_node != 0 ? most : nullptr, token};
    return check(c, ask_in_realm(c, realm, columns, source, 5, values),
                 [&](const Answer& answer) { return read_grant(answer, wish, &c.known, grant); });
}

bool coordinator_renew(Coordinator& c, const char* realm, const Grant& known, int seconds,
                       int64_t* end_us)
{
    constexpr char columns[] =
        "pg_catalog.date_part('epoch', flakeid.lease_renew($6::pg_catalog.uuid, "
        "$7::pg_catalog.interval, pg_catalog.to_timestamp("
        "$8::pg_catalog.numeric::pg_catalog.float8)))::pg_catalog.int8, "
        "c.realm_id, c.term, c.place";
    char token[token_text_size];
    char length[24];
    char end[40];
    write_token(known.token, token);
    snprintf(length, sizeof length, "%d s", seconds);
    const char* const values[] = {token, length, seconds_text(known.end_us, end, sizeof end)};
    return check(c, ask_in_realm(c, realm, columns, "", 3, values),
                 [&](const Answer& answer) { return read_end(answer, known, &c.known, end_us); });
}

bool coordinator_release(Coordinator& c, const char* realm, const unsigned char* token,
                         int64_t last_us)
{
    constexpr char columns[] = "flakeid.lease_release($6::pg_catalog.uuid, pg_catalog.to_timestamp("
                               "$7::pg_catalog.numeric::pg_catalog.float8))";
    char token_text[token_text_size];
    char last[40];
    write_token(token, token_text);
    const char* const values[] = {token_text, seconds_text(last_us, last, sizeof last)};
    return check(c, ask_in_realm(c, realm, columns, "", 2, values), read_nothing);
}

} // namespace flakeid
