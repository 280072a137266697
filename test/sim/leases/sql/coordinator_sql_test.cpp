// Holds the tables of coordinator.cpp against the SQL functions of a real coordinator: random calls
// in overlapping transactions, with the same answers, the same waits and the same rows.
//   coordinator_sql_test CONNINFO CLOCK SEED CALLS PROMOTE
// CLOCK is the file of frozen_clock.c, PROMOTE a command that promotes the server.
// test/world/208_coordinator_rules.pl builds and runs it.
#include "leases/sql/statements.hpp"
#include "machine.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <set>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

using namespace sim;

namespace {

constexpr int64_t s_us = 1000000;
constexpr int64_t patience_s = 120; // a server that takes longer hangs
constexpr int sessions = 4;
constexpr int64_t first_us = INT64_C(2017000000) * s_us;

struct Session {
    PGconn* connection = nullptr;
    int transaction = 0; // of the tables; 0: none
    bool open = false;   // BEGIN was said
    bool blocked = false;
    Question question;
    PGresult* answered = nullptr; // that was looked at already
};

Session session[sessions];
PGconn* monitor;
LeaseDatabase database;
volatile int64_t* clock_us;
int64_t acquired_us; // when a lease was asked for last
Random dice;
int calls, waits, refusals[32], circles;
std::map<Token, std::string> real; // token of the tables -> of the server
std::vector<Token> known;          // that were given, also by transactions that did not commit
std::string conninfo;
std::vector<std::string> said_so_far;
// What the sessions did, the last of it printed with a failure.
void remember(const Session& s, const std::string& what)
{
    said_so_far.push_back(std::to_string(&s - session) + ": " + what);
}

[[noreturn]] void fail(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    constexpr size_t shown = 25;
    const size_t count = said_so_far.size();
    for (size_t i = count > shown ? count - shown : 0; i < count; i++) {
        printf("%s\n", said_so_far[i].c_str());
    }
    printf("differs at call %d: ", calls);
    vprintf(format, arguments);
    printf("\n");
    exit(1);
}

PGconn* connect()
{
    PGconn* connection = PQconnectdb(conninfo.c_str());
    if (PQstatus(connection) != CONNECTION_OK) {
        fail("%s", PQerrorMessage(connection));
    }
    return connection;
}

std::string query(PGconn* connection, const char* sql)
{
    PGresult* result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        fail("%s: %s", sql, PQerrorMessage(connection));
    }
    std::string text;
    for (int row = 0; row < PQntuples(result); row++) {
        for (int i = 0; i < PQnfields(result); i++) {
            text += i > 0 ? "|" : "";
            text += PQgetisnull(result, row, i) != 0 ? "-" : PQgetvalue(result, row, i);
        }
        text += "\n";
    }
    PQclear(result);
    return text;
}

std::string sql_of(const Question& q)
{
    const auto at = real.find(q.token);
    return sql_of(q, at != real.end() ? at->second : "00000000-0000-0000-0000-00000000ffff");
}

bool is_done(PGconn* connection)
{
    if (PQconsumeInput(connection) != 1) {
        fail("%s", PQerrorMessage(connection));
    }
    return PQisBusy(connection) == 0;
}

void await_answer(Session& s)
{
    const time_t limit = time(nullptr) + patience_s;
    while (!is_done(s.connection)) {
        pollfd file{PQsocket(s.connection), POLLIN, 0};
        (void)poll(&file, 1, 1000);
        if (time(nullptr) > limit) {
            fail("session %d waits, and nothing is in its way: %s", static_cast<int>(&s - session),
                 sql_of(s.question).c_str());
        }
    }
}

// Until the server says that the session waits for another one.
void await_block(Session& s)
{
    const std::string sql =
        "SELECT cardinality(pg_blocking_pids(" + std::to_string(PQbackendPID(s.connection)) + "))";
    while (query(monitor, sql.c_str()) == "0\n") {
        if (is_done(s.connection)) {
            fail("session %d need not wait: %s", static_cast<int>(&s - session),
                 sql_of(s.question).c_str());
        }
    }
}

void check_answer(Session& s)
{
    const Reply& reply = database.reply(s.transaction);
    await_answer(s);
    PGresult* result = s.answered != nullptr ? s.answered : PQgetResult(s.connection);
    s.answered = nullptr;
    const std::string sql = sql_of(s.question);
    refusals[static_cast<int>(reply.refusal)]++;
    if (reply.refusal != LeaseRefusal::none) {
        const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
        if (state == nullptr || strcmp(state, lease_sqlstate(reply.refusal)) != 0 ||
            strstr(message, words_of(reply.refusal)) == nullptr) {
            fail("%s is refused (%s %s), and by the tables: %s", sql.c_str(),
                 state != nullptr ? state : "not", message != nullptr ? message : "",
                 words_of(reply.refusal));
        }
    } else {
        if (PQresultStatus(result) != PGRES_TUPLES_OK) {
            fail("%s: %s", sql.c_str(), PQresultErrorMessage(result));
        }
        auto field = [&](int i) {
            return std::string(
                PQntuples(result) > 0 && i < PQnfields(result) ? PQgetvalue(result, 0, i) : "");
        };
        std::string said = field(0), expected = said;
        if (s.question.kind == Question::acquire) {
            said = field(0) + " " + field(2) + " " + field(3) + " " + field(4);
            expected = std::to_string(reply.node) + " " + std::to_string(reply.start_us) + " " +
                       std::to_string(reply.end_us) + " " + std::to_string(reply.nodes);
            real[reply.token] = field(1);
            known.push_back(reply.token);
        } else if (s.question.kind == Question::renew || s.question.kind == Question::release) {
            expected = reply.end_us == INT64_MAX ? "" : std::to_string(reply.end_us);
        } else if (s.question.kind == Question::revoke) {
            expected = reply.yes ? "t" : "f";
        }
        if (said != expected) {
            fail("%s says %s, and the tables %s", sql.c_str(), said.c_str(), expected.c_str());
        }
    }
    PQclear(result);
    while ((result = PQgetResult(s.connection)) != nullptr) {
        PQclear(result);
    }
}

void command(Session& s, const char* sql)
{
    remember(s, sql);
    (void)query(s.connection, sql);
}

void end(Session& s, bool commit);

// The statement of a session is done, by the tables.
void finish(Session& s)
{
    s.blocked = false;
    remember(s, std::to_string(s.transaction) + " is done");
    check_answer(s);
    if (database.reply(s.transaction).refusal != LeaseRefusal::none) {
        const int transaction = s.transaction;
        s.transaction = 0;
        if (s.open) {
            command(s, "ROLLBACK"); // the error has given up its locks before
            s.open = false;
        }
        for (int id : database.end(transaction, false)) {
            for (Session& other : session) {
                if (other.transaction == id) {
                    finish(other);
                }
            }
        }
    } else if (!s.open) {
        end(s, true);
    }
}

void end(Session& s, bool commit)
{
    if (s.open) {
        command(s, commit ? "COMMIT" : "ROLLBACK");
        s.open = false;
    }
    const int transaction = s.transaction;
    s.transaction = 0;
    for (int id : database.end(transaction, commit)) {
        for (Session& other : session) {
            if (other.transaction == id) {
                finish(other);
            }
        }
    }
}

Token any_token()
{
    if (known.empty() || dice.one_in(30)) {
        return Token{{1}};
    }
    const auto recent = static_cast<int64_t>(std::min<size_t>(known.size(), 12));
    return dice.one_in(8) ? known[static_cast<size_t>(dice.below(known.size()))]
                          : known[known.size() - 1 - static_cast<size_t>(dice.below(recent))];
}

int64_t any_moment(const Token& token)
{
    if (dice.one_in(15)) {
        return dice.one_in(2) ? INT64_MIN : INT64_MAX;
    }
    const auto found = database.tables.history.find(token);
    const int64_t near = found != database.tables.history.end() && !dice.one_in(3)
                             ? found->second.end_us
                             : *clock_us;
    const int64_t off = dice.one_in(3) ? 0 : dice.between(-40 * s_us, 40 * s_us);
    return dice.one_in(4) ? (near + off) / s_us * s_us : near + off;
}

// Where the realm has a free node, a lease of that may be given.
void want_free_node(Question& q)
{
    q.wish.ttl_us = 10 * s_us;
    q.wish.has_max_node = false;
    for (const auto& [key, row] : database.tables.nodes) {
        const bool free = key.first == q.realm && row.free_from_us <= database.wall_us;
        q.wish.node = free && dice.one_in(2) ? key.second : q.wish.node;
    }
}

// What a token was asked for before, in most cases, or something else with it.
void ask_again(Question& q)
{
    q.token = any_token();
    for (const Session& other : session) { // with what an open question has, where there is one
        if (other.transaction != 0 && other.question.kind == Question::acquire &&
            other.question.chosen) {
            q.token = other.question.token;
            want_free_node(q);
        }
    }
    const auto found = database.tables.history.find(q.token);
    // Where an open transaction has it, which node it is would be told too late.
    q.wish.any = q.wish.any && found != database.tables.history.end();
    if (found != database.tables.history.end() && !dice.one_in(5)) {
        q.realm = found->second.realm;
        q.holder = found->second.holder;
        q.wish.named = true;
        q.wish.bad_name = false;
        q.wish.node = found->second.node;
    }
}

Question any_question()
{
    Question q;
    q.realm = dice.one_in(4) ? "a" : dice.one_in(40) ? "none" : "default";
    q.holder = dice.one_in(60) ? "" : "h" + std::to_string(dice.below(3));
    if (dice.one_in(60)) {
        q.holder = dice.one_in(2) ? std::string(256, 'h') : "h\n0";
        q.wish.bad_name = true;
    }
    q.wish.named = !q.holder.empty();
    q.wish.ttl_us = dice.one_in(25)  ? -1
                    : dice.one_in(8) ? dice.between(0, 70 * s_us)
                                     : dice.between(1, 30) * s_us;
    q.wish.any = dice.one_in(2);
    q.wish.node =
        static_cast<int32_t>(dice.one_in(30) ? dice.between(-1, 2000) : dice.between(0, 8));
    q.wish.has_max_node = dice.one_in(2);
    q.wish.max_node = static_cast<int32_t>(dice.between(dice.one_in(20) ? -1 : 0, 12));
    const int64_t kind = dice.below(100);
    // Of two leases that were acquired at the same moment either may go from the history first.
    const int64_t now_us = std::max<int64_t>(database.wall_us, database.clock.clock_us);
    if (kind < 40 && now_us != acquired_us) {
        acquired_us = now_us;
        q.kind = Question::acquire;
        const uint64_t number = static_cast<uint64_t>(calls) + 1000;
        memcpy(q.token.data(), &number, sizeof number);
        q.chosen = dice.one_in(2);
        if (q.chosen && dice.one_in(2)) {
            ask_again(q);
        }
        if (q.chosen && real.count(q.token) == 0) {
            real[q.token] = "00000000-0000-4000-8000-" + std::to_string(100000000000 + number);
        }
    } else if (kind < 68) {
        q.kind = Question::renew;
    } else if (kind < 90) {
        q.kind = Question::release;
    } else if (kind < 92) {
        q.kind = Question::set_realm;
        const auto each = static_cast<int32_t>(dice.one_in(2) ? 1 : dice.between(2, 4));
        q.settings.settings = {static_cast<int32_t>(dice.one_in(2) ? 0 : dice.between(1, 5)),
                               each * static_cast<int32_t>(dice.between(1, 6)), each,
                               static_cast<int32_t>(dice.between(3, 60)),
                               static_cast<int32_t>(dice.between(0, 12))};
    } else if (kind < 94) {
        q.kind = Question::revoke;
        q.wish.any = false;
    } else if (kind < 96) {
        constexpr Question::Kind rare[] = {Question::begin_rest, Question::repair_clock,
                                           Question::restored};
        q.kind = rare[dice.below(3)];
        q.moment_us = dice.between(0, 100);
    } else {
        q.kind = Question::end_rest;
    }
    if (q.kind == Question::renew || q.kind == Question::release) {
        q.token = any_token();
        q.has_moment = !dice.one_in(5);
        q.moment_us = any_moment(q.token);
    }
    return q;
}

void pass_time()
{
    const int64_t how = dice.below(40);
    *clock_us = *clock_us + (how == 0   ? -dice.below(30 * s_us)
                             : how < 3  ? dice.below(100 * s_us)
                             : how < 20 ? dice.below(3 * s_us)
                                        : dice.between(1, 200000));
    database.wall_us = *clock_us;
}

void ask(Session& s)
{
    if (s.transaction == 0) {
        s.open = dice.one_in(2);
        if (s.open) {
            command(s, "BEGIN");
        }
        s.transaction = database.begin();
    }
    s.question = any_question();
    remember(s, sql_of(s.question));
    if (PQsendQuery(s.connection, sql_of(s.question).c_str()) != 1) {
        fail("%s", PQerrorMessage(s.connection));
    }
    calls++;
    // The SQL functions begin their search for a free node anywhere.
    if (s.question.kind == Question::acquire && s.question.wish.any) {
        await_answer(s);
        s.answered = PQgetResult(s.connection);
        if (PQresultStatus(s.answered) == PGRES_TUPLES_OK) {
            s.question.chosen_node = atoi(PQgetvalue(s.answered, 0, 0));
        }
    }
    if (database.ask(s.transaction, s.question)) {
        finish(s);
        return;
    }
    remember(s, std::to_string(s.transaction) + " waits " + database.obstacle(s.transaction));
    s.blocked = true;
    waits++;
}

// A statement that waits for itself is cancelled, and one that the server may let go first or not.
void cancel(Session& s)
{
    remember(s, "is cancelled");
    PGcancel* cancel = PQgetCancel(s.connection);
    char error[256];
    if (PQcancel(cancel, error, sizeof error) != 1) {
        fail("%s", error);
    }
    PQfreeCancel(cancel);
    await_answer(s);
    while (PGresult* result = PQgetResult(s.connection)) {
        PQclear(result);
    }
    s.blocked = false;
    end(s, false);
}

// Who waits by the tables waits.
void settle()
{
    for (Session& s : session) {
        if (s.blocked) {
            await_block(s);
        }
        const bool circle = s.blocked && database.in_circle(s.transaction);
        if (circle || (s.blocked && !database.order_is_known(s.transaction))) {
            circles += circle ? 1 : 0;
            cancel(s);
        }
    }
}

// The rows of both, a line each.
void compare_rows()
{
    std::map<std::string, Token> ours;
    for (const auto& [token, text] : real) {
        ours[text] = token;
    }
    auto token_number = [](const Token& token) {
        uint64_t number;
        memcpy(&number, token.data(), sizeof number);
        return std::to_string(number);
    };
    auto us = [](int64_t moment_us) {
        return moment_us == INT64_MIN ? "-" : std::to_string(moment_us);
    };
    std::set<std::string> said, expected;
    auto take = [&](const std::string& sql) {
        const std::string text = query(monitor, sql.c_str());
        for (size_t at = 0; at < text.size();) {
            const size_t end = text.find('\n', at);
            std::string line = text.substr(at, end - at);
            const size_t star = line.find('*');
            if (star != std::string::npos) {
                const std::string token = line.substr(star + 1, 36);
                line.replace(star, 37, ours.count(token) != 0 ? token_number(ours[token]) : "?");
            }
            said.insert(line);
            at = end + 1;
        }
    };
    take("SELECT 'realm', realm, first_node, nodes, lease_nodes, max_ttl_s, max_skew_s FROM "
         "flakeid.lease_realm");
    take("SELECT 'node', realm, node, nodes, '*' || token, CASE WHEN isfinite(free_from) THEN " +
         in_us("free_from") + " END FROM flakeid.lease_node");
    take("SELECT 'lease', '*' || token, realm, node, nodes, holder, " + in_us("lease_start") +
         ", " + in_us("lease_end") +
         ", released_at IS NOT NULL, CASE WHEN isfinite(earlier_end) THEN " + in_us("earlier_end") +
         " END FROM flakeid.lease_history");
    take(
        "SELECT 'clock', lease_clock, lease_rest, lease_hold, lease_term FROM flakeid.state");
    for (const auto& [name, r] : database.tables.realms) {
        expected.insert(
            "realm|" + name + "|" + std::to_string(r.settings.first_node) + "|" +
            std::to_string(r.settings.nodes) + "|" + std::to_string(r.settings.lease_nodes) + "|" +
            std::to_string(r.settings.max_ttl_s) + "|" + std::to_string(r.settings.max_skew_s));
    }
    for (const auto& [key, row] : database.tables.nodes) {
        expected.insert("node|" + key.first + "|" + std::to_string(key.second) + "|" +
                        std::to_string(row.nodes) + "|" +
                        (row.leased ? token_number(row.token) : "-") + "|" + us(row.free_from_us));
    }
    for (const auto& [token, row] : database.tables.history) {
        expected.insert("lease|" + token_number(token) + "|" + row.realm + "|" +
                        std::to_string(row.node) + "|" + std::to_string(row.nodes) + "|" +
                        row.holder + "|" + us(row.start_us) + "|" + us(row.end_us) + "|" +
                        (row.released ? "t" : "f") + "|" + us(row.earlier_us));
    }
    expected.insert("clock|" + us(database.clock.clock_us) + "|" + us(database.clock.rest_us) +
                    "|" + us(database.clock.hold_s) + "|" + us(database.clock.term));
    for (const std::string& line : said) {
        if (expected.count(line) == 0) {
            fail("the server has the row %s, the tables have not", line.c_str());
        }
    }
    for (const std::string& line : expected) {
        if (said.count(line) == 0) {
            fail("the tables have the row %s, the server has not", line.c_str());
        }
    }
}

// All transactions end; those that are blocked first wait for the others.
void end_all()
{
    for (bool some = true; some;) {
        some = false;
        for (Session& s : session) {
            if (s.transaction != 0 && !s.blocked) {
                end(s, dice.one_in(2));
                settle();
                some = true;
            }
        }
    }
}

void promote(const char* how)
{
    end_all();
    for (Session& s : session) {
        PQfinish(s.connection);
    }
    PQfinish(monitor);
    if (system(how) != 0) {
        fail("%s failed", how);
    }
    for (Session& s : session) {
        s = Session{};
        s.connection = connect();
    }
    monitor = connect();
    database.here++;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 6) {
        fprintf(stderr, "coordinator_sql_test CONNINFO CLOCK SEED CALLS PROMOTE\n");
        return 2;
    }
    setvbuf(stdout, nullptr, _IOLBF, 0);
    conninfo = argv[1];
    const int file = open(argv[2], O_RDWR);
    void* memory = mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || memory == MAP_FAILED) {
        fail("no clock %s", argv[2]);
    }
    clock_us = static_cast<volatile int64_t*>(memory);
    *clock_us = database.wall_us = first_us;
    dice = Random(strtoull(argv[3], nullptr, 10));
    const int wanted = atoi(argv[4]);
    for (Session& s : session) {
        s.connection = connect();
    }
    monitor = connect();
    int rounds = 0;
    while (calls < wanted) {
        Session& s = session[dice.below(sessions)];
        if (s.blocked) {
            continue;
        }
        pass_time();
        const bool somebody_waits = std::any_of(
            session, session + sessions, [](const Session& other) { return other.blocked; });
        if (s.transaction != 0 && (somebody_waits || dice.one_in(5))) {
            end(s, !dice.one_in(4));
        } else {
            ask(s);
        }
        settle();
        if (calls >= (rounds + 1) * wanted / 20) {
            rounds++;
            end_all();
            compare_rows();
            if (rounds % 7 == 0) {
                promote(argv[5]);
            }
        }
        bool all_blocked = true;
        for (const Session& other : session) {
            all_blocked = all_blocked && other.blocked;
        }
        if (all_blocked) {
            fail("everybody waits");
        }
    }
    end_all();
    compare_rows();
    printf("%d calls agree: %d answered, %d waited, %d in a circle", calls, refusals[0], waits,
           circles);
    for (int i = 1; i <= static_cast<int>(LeaseRefusal::same_time); i++) {
        printf(", %d \"%s\"", refusals[i], words_of(static_cast<LeaseRefusal>(i)));
    }
    printf("\n");
    return 0;
}
