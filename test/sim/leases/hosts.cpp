#include "leases/hosts.hpp"

#include "checker.hpp"
#include "leases/tokens.hpp"
#include "leases/wire.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

Host hosts[most_hosts];
HostCounts host_counts;

namespace {

constexpr int64_t longest_lag_us = 10 * second;

Random dice;
int last_backend;
uint64_t next_token;
int64_t next_origin;

Token new_token()
{
    Token token{};
    const uint64_t halves[] = {mix(++next_token, 5), next_token};
    memcpy(token.data(), halves, sizeof halves);
    return token;
}

void leave(Host& host, int number)
{
    host.backends.erase(number);
}

void say(Host& host, Backend& backend, const Answer& answer)
{
    backend.asked = false;
    const auto found = connections.find(backend.connection);
    if (found == connections.end() || backend.gone) {
        leave(host, backend.number);
        return;
    }
    Connection& connection = found->second;
    const bool question = backend.question.kind != Question::functions;
    if (question && network.lossy && network.random.one_in(15)) {
        host_counts.lost_answers++;
        note("the answer of host %lld is lost", host.number);
        cut_connection(connection, network.random.one_in(2), false);
        leave(host, backend.number);
        return;
    }
    Message message;
    message.kind = Message::answer;
    message.said = answer;
    message.said.twice =
        answer.row && host.nonsense_until > true_us && (question || !host.looks_right);
    send_back(connection, message);
}

// The clock outlives a transaction.
void remember_clock(Host& host)
{
    const LeaseClock& now = host.database.clock;
    const LeaseClock& before = host.records.empty() ? host.base_clock : host.records.back().clock;
    if (memcmp(&now, &before, sizeof now) != 0) {
        host.records.push_back({true_us, {}, now});
    }
    while (!host.records.empty() && host.records.front().at < true_us - longest_lag_us) {
        host.base.apply(host.records.front().changes);
        host.base_clock = host.records.front().clock;
        host.records.pop_front();
    }
}

void after_end(Host& host, const std::vector<int>& done);

void end_transaction_of(Host& host, Backend& backend, bool commit)
{
    const int transaction = backend.transaction;
    backend.transaction = 0;
    backend.committing = false;
    if (commit) {
        host.records.push_back({true_us, host.database.changes(transaction), host.database.clock});
    }
    after_end(host, host.database.end(transaction, commit));
}

void commit(Host& host, int number)
{
    const auto found = host.backends.find(number);
    if (found == host.backends.end() || !found->second.committing) {
        return;
    }
    Backend& backend = found->second;
    // What writes nothing waits for no standby.
    const bool waits =
        host.standby_lost_until > true_us && backend.question.kind != Question::functions;
    if (waits && !network.random.one_in(30)) { // otherwise somebody cancels it
        const uint64_t life = host.life;
        at_time(std::min(host.standby_lost_until, true_us + second), [&host, number, life] {
            if (host.life == life) {
                commit(host, number);
            }
        });
        return;
    }
    const Reply reply = host.database.reply(backend.transaction);
    const Question::Kind kind = backend.question.kind;
    end_transaction_of(host, backend, true);
    host_counts.grants += kind == Question::acquire ? 1 : 0;
    host_counts.renewals += kind == Question::renew ? 1 : 0;
    host_counts.releases += kind == Question::release ? 1 : 0;
    Answer answer = answer_of(host, backend, reply);
    answer.warned = waits;
    say(host, backend, answer);
}

// The statement of a backend is done.
void statement_done(Host& host, int number)
{
    Backend& backend = host.backends.at(number);
    const Reply& reply = host.database.reply(backend.transaction);
    if (reply.refusal != LeaseRefusal::none) {
        host_counts.refusals++;
        if (reply.refusal == LeaseRefusal::in_use && backend.server >= 0) {
            node_is_refused(host, backend.server, backend.question);
        }
        if (reply.refusal == LeaseRefusal::not_believed &&
            flakeid::stands(backend.question.known, reply.here) != flakeid::Standing::other_realm) {
            host.later_known_us = std::max(host.later_known_us, backend.question.known.number);
        }
        const Answer answer = answer_of(host, backend, reply);
        end_transaction_of(host, backend, false);
        say(host, backend, answer);
        return;
    }
    const uint64_t life = host.life;
    if (backend.holds_us > 0) {
        at_time(true_us + backend.holds_us, [&host, number, life] {
            if (host.life == life && host.backends.count(number) != 0) {
                note("the open transaction at host %lld ends", host.number);
                Backend& visitor = host.backends.at(number);
                end_transaction_of(host, visitor, false);
                host.free_since = true_us;
                leave(host, number);
            }
        });
        return;
    }
    backend.committing = true;
    at_time(true_us + dice.below(host.slowest_flush_us), [&host, number, life] {
        if (host.life == life) {
            commit(host, number);
        }
    });
}

void after_end(Host& host, const std::vector<int>& done)
{
    for (int transaction : done) {
        for (auto& [number, backend] : host.backends) {
            if (backend.transaction == transaction) {
                statement_done(host, number);
                break;
            }
        }
    }
}

void run_statement(Host& host, int number)
{
    Backend& backend = host.backends.at(number);
    host_counts.questions++;
    backend.asked = true;
    if (backend.question.kind == Question::acquire && backend.question.token == Token{}) {
        backend.question.token = new_token();
    }
    if (host.empty_until > true_us) {
        if (backend.question.kind != Question::functions && backend.server >= 0) {
            broken("a coordinator is asked for leases that has none");
        }
        Answer answer;
        answer.empty = true;
        say(host, backend, answer);
        return;
    }
    if (network.lossy && backend.server >= 0 && backend.question.kind != Question::functions &&
        network.random.one_in(40)) {
        note("a question is cancelled at host %lld", host.number);
        Answer answer;
        answer.state = network.random.one_in(2) ? "57014" : "40001";
        answer.message = "somebody cancels it, or it is to be tried again";
        say(host, backend, answer);
        return;
    }
    if (host.in_recovery && backend.question.kind != Question::functions) {
        Answer answer;
        answer.state = "25006";
        answer.message = "cannot hand out leases during recovery";
        say(host, backend, answer);
        return;
    }
    backend.transaction = host.database.begin();
    host.database.wall_us = host_wall_us(host);
    const bool done = host.database.ask(backend.transaction, backend.question);
    remember_clock(host);
    if (done) {
        statement_done(host, number);
        return;
    }
    host_counts.waited++;
    note("a backend of server %lld waits at host %lld", backend.server, host.number);
    // Who closes a circle is the one that is told so.
    if (host.database.in_circle(backend.transaction)) {
        end_transaction_of(host, backend, false);
        Answer answer;
        answer.state = "40P01";
        answer.message = "deadlock detected";
        say(host, backend, answer);
    }
}

Backend& new_backend(Host& host)
{
    Backend& backend = host.backends[++last_backend];
    backend.number = last_backend;
    return backend;
}

// Ends all backends of that name but one, whatever they wait for.
void end_others(Host& host, const std::string& name, int but)
{
    std::vector<int> ended;
    for (const auto& [number, backend] : host.backends) {
        if (number != but && backend.name == name) {
            ended.push_back(number);
        }
    }
    for (int number : ended) {
        const auto found = host.backends.find(number);
        if (found != host.backends.end() && found->second.transaction != 0) {
            // Where a commit waits for a standby, the transaction is one here.
            end_transaction_of(host, found->second, found->second.committing);
        }
        leave(host, number);
    }
}

Backend* backend_of(Host& host, int connection)
{
    for (auto& [number, backend] : host.backends) {
        if (backend.connection == connection) {
            return &backend;
        }
    }
    return nullptr;
}

} // namespace

void host_receives(Connection& connection, const Message& message)
{
    if (connection.host < 0 || connection.host >= most_hosts) {
        return; // nobody is there: silence
    }
    Host& host = hosts[connection.host];
    Message reply;
    if (!host.up) {
        connection.open_there = false;
        if (message.kind == Message::greeting && network.random.one_in(2)) {
            reply.kind = Message::reset;
            send_back(connection, reply);
        }
        return;
    }
    Backend* backend = backend_of(host, connection.id);
    switch (message.kind) {
    case Message::greeting:
        if (message.trip > 0 && !connection.open_there) {
            reply.kind = Message::reset;
        } else if (message.trip == network.trips - 1 && message.sql == "read-write" &&
                   host.in_recovery) {
            reply.kind = Message::answer;
            reply.said.message = "session is read-only";
        } else if (message.trip == network.trips - 1 && backend == nullptr) {
            Backend& made = new_backend(host);
            made.connection = connection.id;
            made.server = connection.server;
            made.name = connection.name;
        }
        connection.open_there = true;
        send_back(connection, reply);
        return;
    case Message::question:
        if (backend == nullptr || backend->asked) {
            reply.kind = Message::reset;
            send_back(connection, reply);
            return;
        }
        backend->question = question_of(message.sql, message.values);
        if (backend->question.kind == Question::functions) {
            end_others(host, message.values[0].text, backend->number);
        }
        if (network.doubled && backend->question.kind != Question::functions &&
            network.random.one_in(20)) {
            // Something between them asks again on a connection of its own.
            const Question again = question_of(message.sql, message.values);
            const uint64_t life = host.life;
            host_counts.doubled++;
            at_time(true_us + network.random.below(20 * second), [&host, again, life] {
                if (host.life == life) {
                    Backend& other = new_backend(host);
                    other.question = again;
                    note("a question is asked again at host %lld", host.number);
                    run_statement(host, other.number);
                }
            });
        }
        run_statement(host, backend->number);
        return;
    case Message::goodbye:
    case Message::reset:
        if (backend != nullptr) {
            backend->gone = true;
            if (!backend->asked) {
                leave(host, backend->number);
            }
        }
        close_there(connection.id);
        return;
    case Message::answer:
        return;
    }
}

int64_t host_wall_us(const Host& host)
{
    return true_epoch_us + true_us + host.ahead_us;
}

void reset_hosts(uint64_t seed)
{
    for (int i = 0; i < most_hosts; i++) {
        hosts[i] = Host{};
        hosts[i].number = i;
        hosts[i].database.random = Random(mix(seed, static_cast<uint64_t>(40 + i)));
        hosts[i].base = hosts[i].database.tables;
    }
    host_counts = HostCounts{};
    dice = Random(mix(seed, 4));
    last_backend = 0;
    next_token = 0;
    next_origin = 1;
}

void stop_host(Host& host)
{
    // A commit that was on its way may be safe.
    for (auto& [number, backend] : host.backends) {
        if (backend.committing && dice.one_in(2)) {
            const LeaseTables& changes = host.database.changes(backend.transaction);
            host.records.push_back({true_us, changes, host.database.clock});
            host.database.tables.apply(changes);
        }
    }
    // What is left of it; no transaction is.
    LeaseDatabase after;
    after.tables = host.database.tables;
    after.clock = host.database.clock;
    after.here = host.database.here;
    after.random = host.database.random;
    host.database = after;
    host.backends.clear();
    host.up = false;
    host.life++;
    for (auto& [id, connection] : connections) {
        if (connection.host == host.number && connection.open_there) {
            connection.open_there = false;
            const int64_t said = network.random.below(4); // 0: nothing
            Message last;
            last.kind = said == 1 ? Message::answer : Message::reset;
            last.said.fatal = true;
            last.said.state = "57P01";
            last.said.message = "terminating connection due to administrator command";
            if (said > 0) {
                send_back(connection, last);
            }
        }
    }
}

void start_host(Host& host)
{
    host.up = true;
    host.life++;
}

void become_standby(Host& host, Host& of, int64_t late_us)
{
    const Random random = host.database.random;
    host.database = LeaseDatabase{};
    host.database.random = random;
    host.database.tables = of.base;
    host.database.clock = of.base_clock;
    for (const Record& record : of.records) {
        if (record.at <= true_us - late_us) {
            host.database.tables.apply(record.changes);
            host.database.clock = record.clock;
        }
    }
    host.database.here = of.database.here;
    host.base = host.database.tables;
    host.base_clock = host.database.clock;
    host.records.clear();
    host.later_known_us = host.told_of_us = 0;
    host.in_recovery = true;
}

void promote(Host& host)
{
    host.in_recovery = false;
    host.database.here = ++next_origin;
}

void restore_dump(Host& host, const Host& of)
{
    LeaseDatabase empty;
    for (const auto& [name, realm] : of.database.tables.realms) {
        empty.tables.realms[name] = realm;
        empty.tables.make_nodes(name, realm.settings);
    }
    empty.tables.names = of.database.tables.names;
    empty.random = host.database.random;
    empty.here = ++next_origin;
    empty.wall_us = host_wall_us(host);
    empty.clock =
        flakeid::restored_lease_clock(empty.clock, empty.wall_us, of.database.clock.hold_s);
    empty.clock.term = std::max(empty.clock.term, of.database.clock.term + 1);
    host.database = empty;
    host.base = empty.tables;
    host.base_clock = empty.clock;
    host.records.clear();
}

void tell_host(Host& host, const Question& question)
{
    Backend& backend = new_backend(host);
    backend.question = question;
    run_statement(host, backend.number);
}

void tell_host(Host& host, Question::Kind kind)
{
    Question q;
    q.kind = kind;
    q.realm = "default";
    tell_host(host, q);
}

Question wish_of_somebody(const NodeKey& key, int64_t ttl_us)
{
    Question q;
    q.kind = Question::acquire;
    q.realm = key.first;
    q.holder = "somebody";
    q.wish.named = true;
    q.wish.node = key.second;
    q.wish.ttl_us = ttl_us;
    q.token[0] = 1; // as no other is
    std::memcpy(&q.token[8], &true_us, sizeof true_us);
    return q;
}

void open_transaction(Host& host, const Question& question, int64_t for_us)
{
    Backend& backend = new_backend(host);
    backend.question = question;
    backend.holds_us = for_us;
    run_statement(host, backend.number);
}

int64_t rests_until(Host& host)
{
    const LeaseClock& clock = host.database.clock;
    const auto read = flakeid::read_lease_clock(clock, host_wall_us(host), host.database.here, 0);
    return read.moment.rest_until_us;
}

bool leaves_several(const Host& host, int server)
{
    std::set<std::string> names;
    for (const auto& [number, backend] : host.backends) {
        if (backend.server == server && backend.gone && !names.insert(backend.name).second) {
            return true;
        }
    }
    return false;
}

} // namespace sim
