#include "sessions.hpp"

#include "checkers.hpp"
#include "clocks.hpp"
#include "core/settled.hpp"
#include "drawing.hpp"
#include "polling.hpp"
#include "slots/pins.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

namespace {

const Settings roles[] = {
    {},
    {{"flakeid.max_ahead", "1000"}},
    {{"flakeid.cache", "5"}},
    {{"flakeid.max_ahead", "60000"}},
    {{"flakeid.max_ahead", "8000"}},
};
// To draw, to draw all that the horizon has, to poll, to raise by an hour.
enum class Errand { none, id, all, mark, mistake };

struct Seat {
    Process* process = nullptr;
    int database = 0;
    int role = 0;
    uint64_t told[4] = {};
    int told_count = 0;
    bool busy = false;
    Errand errand = Errand::none;
    bool got_it = false;
    std::string refusal; // without the numbers in it
};
Seat seats[most_backends];
int only_polled; // the database in which nobody draws in this life, or -1

Reached was_many('G', "a session drew many at once");
Reached was_cancelled('E', "a cancel met a session at work");
Reached was_prepared('Y', "a transaction was prepared");
Reached prepared_ended('Y', "a prepared transaction ended");
Reached was_saved('s', "a savepoint was rolled back");
Reached was_set('H', "a session set another layout");
Reached was_terminated('E', "a session was terminated at work");
Reached was_hurried('v', "a session ended more transactions than are kept of one");
Reached was_parallel('l', "a parallel worker drew an id");

PROCESS_LOCAL int my_configuration = 0; // the version that it has read

bool nobody_else_works()
{
    return here().now.prepared.empty() &&
           std::none_of(seats, seats + world.session_count, [](const Seat& seat) {
               return seat.process != running && seat.process->alive && seat.busy;
           });
}

void ask_for_mark()
{
    poll(seats[my_seat].errand != Errand::none, nobody_else_works);
}

// What is drawn after a savepoint stays drawn when an error brings the session back to it.
void in_savepoint()
{
    const bool good = survives_error([&] {
        draw_many(mine().between(1, 3));
        if (mine().one_in(2)) {
            ereport(ERROR, errmsg("the savepoint is rolled back"));
        }
    });
    if (good) {
        return;
    }
    if (my_end || my_error == ERRCODE_QUERY_CANCELED) {
        pg_re_throw();
    }
    was_saved();
    abort_subtransaction();
}

// A query in parallel, of one worker. It draws for the transaction of its leader.
struct Query {
    Process *leader, *worker; // nullptr: it has ended
    int transaction;
    uint64_t told;
    bool failed;
};
Query queries[most_backends];      // by the place of the leader
constexpr int place_of_worker = 5; // after that of its leader

void work_in_parallel()
{
    int place = 0;
    while (queries[place].worker != running) {
        place++;
    }
    Query& query = queries[place];
    const Seat& seat = seats[place];
    become_backend(place + place_of_worker, seat.database, roles[seat.role]);
    my_layout = layout_of_database[seat.database];
    my_transaction = query.transaction;
    running->random = Random(query.told);
    load_library();
    follow_leader(place);
    const bool good = survives_error([&] {
        draw_many(mine().between(1, 3));
        was_parallel();
    });
    if (!good) {
        refused();
    }
    end_worker(good);
    of(*query.leader, my_ids) += my_ids;
    query.failed = !good;
    query.worker = nullptr;
    wake(*query.leader);
}

void draw_in_parallel()
{
    Query& query = queries[my_seat];
    if (my_xid == 0 && mine().one_in(2)) {
        transactions[static_cast<size_t>(my_transaction)].xid = assign_xid();
    }
    lead_workers();
    query = {running, nullptr, my_transaction, mine().next(), false};
    query.worker = &spawn(here(), "worker", work_in_parallel, here().image, true_us);
    if (mine().one_in(2)) {
        draw_many(1);
    }
    while (query.worker != nullptr) {
        sleep_until(never);
        CHECK_FOR_INTERRUPTS();
    }
    my_parallel = false;
    if (query.failed) {
        ereport(ERROR, errmsg("a worker failed"));
    }
}

// No worker outlives its query.
void end_query()
{
    Query& query = queries[my_seat];
    if (my_parallel && query.worker != nullptr) {
        send_terminate(*query.worker);
        while (query.worker != nullptr) {
            sleep_until(never);
        }
    }
    my_parallel = false;
}

// What the session does in one transaction.
void transact()
{
    if (my_database() == only_polled) {
        if (may_poll()) {
            ask_for_mark();
        }
        return;
    }
    // Before anybody has drawn in this life, what is left of the last one may end.
    if (world.has('Q') && world.has('Y') && !lives.back().made_ids && mine().one_in(2)) {
        if (end_prepared(true)) {
            prepared_ended();
        } else {
            ask_for_mark();
        }
        return;
    }
    if (world.has('J') && world.has('S') && !lives.back().made_ids && mine().one_in(2)) {
        draw_yielding();
        return;
    }
    if (world.has('H') && mine().one_in(15)) {
        was_set();
        set_layout(some_layout(mine()));
    }
    if (world.has('H') && world.has('R') && mine().one_in(15)) { // SET, until the next reload
        (void)set_setting("flakeid.max_ahead", "1000");
    }
    if (world.has('Q') && may_poll() && mine().one_in(6)) {
        ask_for_mark();
        return;
    }
    if (world.has('l') && mine().one_in(5)) {
        draw_in_parallel();
        if (mine().one_in(2)) {
            return;
        }
    }
    if (world.has('V') && mine().one_in(12)) {
        replace();
        transactions[static_cast<size_t>(my_transaction)].xid = my_xid;
    }
    if (world.has('f') && mine().one_in(20)) {
        repair(layouts[my_layout].layout.max_node, !mine().one_in(4));
        if (mine().one_in(2)) {
            raise_by_mistake();
        } else if (mine().one_in(2)) {
            extend_by_mistake();
        }
        return;
    }
    if (world.has('r') && mine().one_in(20)) {
        raise(wall_clock(here()) - wrong_us + mine().below(3 * second));
        return;
    }
    if (world.has('s') && mine().one_in(5)) {
        in_savepoint();
    }
    if (world.has('Y') && mine().one_in(6)) {
        if (end_prepared(!mine().one_in(3))) {
            prepared_ended();
        }
        return;
    }
    if (world.has('U') && mine().one_in(8)) {
        leave_open();
    }
    if (world.has('J') && mine().one_in(6)) {
        draw_named(some_layout(mine()));
    }
    if (world.has('N') && mine().one_in(6)) {
        draw_of_node();
    }
    if (world.has('G') && mine().one_in(8)) {
        was_many();
        draw_many(mine().between(50, 1500));
        return;
    }
    for (int64_t n = mine().between(1, 6); n > 0; n--) {
        if (my_xid == 0 && mine().one_in(3)) {
            transactions[static_cast<size_t>(my_transaction)].xid = assign_xid();
        }
        if (world.has('Q') && may_poll() && mine().one_in(10)) {
            ask_for_mark();
        } else {
            draw_many(1);
        }
        if (mine().one_in(20)) {
            sleep_us(mine().below(2 * second));
        }
    }
}

// In a transaction of its own.
void run_errand(Seat& seat)
{
    new_transaction();
    begin_transaction();
    const bool good = survives_error([&] {
        load_library();
        if (seat.errand == Errand::mistake) {
            raise_by_mistake();
        } else if (seat.errand == Errand::all) {
            draw_all();
        } else if (seat.errand == Errand::mark) {
            while (end_prepared(true)) {
                prepared_ended();
            }
            ask_for_mark();
        } else {
            if (world.has('f')) {
                repair(layouts[my_layout].layout.max_node, true);
            }
            draw_one();
        }
        end_transaction(true);
    });
    seat.got_it = good || is_deserved();
    if (!good) {
        refused();
        seat.refusal = refusal_text();
        abort_transaction();
    }
}

// More transactions than the ring of the process keeps, with synchronous_commit = off. Some may
// fail.
void hurry()
{
    my_commits_wait = false;
    uint64_t ended = 0;
    for (int failed = 0; ended < flakeid::ended_kept + 200 && failed < 30;) {
        new_transaction();
        begin_transaction();
        const bool good = survives_error([&] {
            load_library();
            transactions[static_cast<size_t>(my_transaction)].xid = assign_xid();
            draw_one();
            end_transaction(true);
        });
        if (good) {
            ended++;
        } else {
            failed++;
            refused();
            abort_transaction();
            if (my_end || my_error == ERRCODE_QUERY_CANCELED) {
                break;
            }
        }
    }
    my_commits_wait = true;
    if (ended > flakeid::ended_kept) {
        was_hurried();
    }
}

// One transaction; false when the session leaves.
bool work()
{
    if (world.has('v') && my_database() != only_polled &&
        mine().one_in(snapshot_is_held() ? 8 : 60)) {
        hurry();
        if (my_end) {
            return false;
        }
    }
    new_transaction();
    const bool commits = !mine().one_in(4);
    my_commits_wait = !mine().one_in(4);
    const bool prepares =
        world.has('Y') && my_database() != only_polled && mine().one_in(8); // nobody ends it there
    if (my_configuration != here().configuration_version) {
        my_configuration = here().configuration_version;
        reload_settings();
        my_layout = layout_of_database[my_database()];
    }
    begin_transaction();
    const bool good = survives_error([&] {
        load_library();
        transact();
        if (prepares && here().replacing[my_database()].process != running->number) {
            Transaction& transaction = transactions[static_cast<size_t>(my_transaction)];
            transaction.xid = assign_xid();
            prepare_transaction(my_transaction);
            transactions[static_cast<size_t>(my_transaction)].prepared = true;
            was_prepared();
        } else {
            end_transaction(commits);
        }
    });
    if (!good) {
        refused();
        repair_is_refused();
        poll_is_refused();
        end_query();
        abort_transaction();
    }
    if (my_end || mine().one_in(60)) {
        return false;
    }
    return true;
}

void session()
{
    int number = 0;
    while (seats[number].process != running) {
        number++;
    }
    Seat& seat = seats[number];
    become_backend(number, seat.database, roles[seat.role]);
    my_layout = layout_of_database[seat.database];
    my_configuration = here().configuration_version;
    note("connects to database %lld, layout %lld, role %lld", seat.database, my_layout, seat.role);
    while (!terminate_pending) {
        while (seat.told_count == 0 && seat.errand == Errand::none) {
            seat.busy = false;
            sleep_until(never);
        }
        seat.busy = true;
        cancel_pending = false; // one that came between two statements
        if (seat.errand != Errand::none) {
            run_errand(seat);
            seat.errand = Errand::none;
            if (my_end) {
                break;
            }
            continue;
        }
        running->random = Random(seat.told[0]);
        std::copy(seat.told + 1, seat.told + seat.told_count, seat.told);
        seat.told_count--;
        if (!work()) {
            break;
        }
    }
    end_backend();
}

void begin_session(Server& server, int number, int64_t within)
{
    Seat& seat = seats[number];
    seat = Seat{};
    seat.database = static_cast<int>(chance.below(server.database_count));
    seat.role = has_far_sessions() && chance.one_in(4) ? 3
                : world.has('R') && chance.one_in(2)   ? world.other_role
                : world.has('A') && chance.one_in(3)   ? 2
                                                       : 0;
    seat.process =
        &spawn(server, "session", session, server.image, true_us + chance.below(within + 1));
}

void transaction_ends(bool committed)
{
    Transaction& transaction = transactions[static_cast<size_t>(my_transaction)];
    if (committed && transaction.xid != 0) {
        pins_may_be_kept(my_seat, my_ids);
    }
    my_ids = 0;
    transaction.ended = true;
    transaction.committed = committed && transaction.xid != 0;
    raise_ends(committed);
    end_is_counted();
}

void prepared_ends(int number, bool committed)
{
    Transaction& transaction = transactions[static_cast<size_t>(number)];
    transaction.ended = true;
    transaction.committed = committed;
}

} // namespace

void begin_sessions(Server& server, int64_t within)
{
    on_transaction_end = transaction_ends;
    on_prepared_end = prepared_ends;
    on_log = no_false_alarm;
    on_row_flushed = seldom_extended;
    on_write = written;
    std::fill(queries, queries + most_backends, Query{});
    polls_begin();
    const bool some_only_poll = world.has('Q') && world.has('D') && chance.one_in(3);
    only_polled = some_only_poll ? static_cast<int>(chance.below(server.database_count)) : -1;
    for (int i = 0; i < world.session_count; i++) {
        begin_session(server, i, within);
    }
}

void renew_sessions(Server& server)
{
    for (int i = 0; i < world.session_count; i++) {
        if (seats[i].process == nullptr || !seats[i].process->alive) {
            begin_session(server, i, 0);
        }
    }
}

void tell_session(Server& server, int number, uint64_t seed)
{
    (void)server;
    Seat& seat = seats[number % world.session_count];
    if (seat.told_count < static_cast<int>(lengthof(seat.told)) && seat.process->alive) {
        seat.told[seat.told_count++] = seed;
        wake(*seat.process);
    }
}

void tell_everyone(Server& server)
{
    for (int i = 0; i < world.session_count; i++) {
        tell_session(server, i, chance.next());
    }
}

bool calm_down()
{
    auto somebody_works = [] {
        return std::any_of(seats, seats + world.session_count,
                           [](const Seat& seat) { return seat.process->alive && seat.busy; });
    };
    for (int i = 0; i < world.session_count; i++) {
        seats[i].told_count = 0;
        seats[i].errand = Errand::none;
        if (seats[i].process->alive && seats[i].busy) {
            send_cancel(*seats[i].process);
        }
    }
    const int64_t until = true_us + minute;
    while (true_us < until && somebody_works() && run_somebody(until)) {
    }
    return !somebody_works();
}

namespace {

void everyone_gets(Errand errand, Server& server, int64_t within, const char* problem)
{
    renew_sessions(server);
    for (int i = 0; i < world.session_count; i++) {
        seats[i].errand = errand;
        seats[i].got_it = false;
        seats[i].refusal = "it waits";
        wake(*seats[i].process);
    }
    run_turns(1000000, true_us + within);
    int missing = world.session_count;
    while (problem != nullptr && missing > 0) {
        const int before = missing;
        missing = static_cast<int>(std::count_if(seats, seats + world.session_count,
                                                 [](const Seat& seat) { return !seat.got_it; }));
        for (int i = 0; missing > 0 && i < world.session_count; i++) {
            Seat& seat = seats[i];
            // Sessions that come at once may want more than the ids of a tick: others got them.
            const bool may_wait = seat.errand != Errand::none ||
                                  seat.refusal.find("ahead of the clock") != std::string::npos;
            if (!seat.got_it && (errand != Errand::id || missing == before || !may_wait)) {
                tell("session %d of database %d with role %d", i, seat.database, seat.role);
                broken("life: all is well, and a session gets no %s: %s", problem,
                       seat.refusal.c_str());
            }
            seat.errand = seat.got_it ? seat.errand : errand;
            wake(*seat.process);
        }
        run_turns(1000000, true_us + (missing > 0 ? 2 * second : 0));
    }
}

} // namespace

void everyone_draws(Server& server, int64_t within, Fails fails)
{
    everyone_gets(Errand::id, server, within, fails == Fails::may_not ? "id" : nullptr);
    for (int i = 0; fails == Fails::with_error && !server.panicked && i < world.session_count;
         i++) {
        if (seats[i].errand != Errand::none && seats[i].process->alive) {
            tell("session %d of database %d with role %d", i, seats[i].database, seats[i].role);
            broken("G6: a session gets neither an id nor an error");
        }
    }
}

void everyone_draws_all(Server& server)
{
    everyone_gets(Errand::all, server, second, nullptr);
}

void everyone_errs(Server& server)
{
    everyone_gets(Errand::mistake, server, second, nullptr);
}

void everyone_polls(Server& server, Fails fails)
{
    everyone_gets(Errand::mark, server, second, nullptr); // ends what is prepared
    (void)calm_down();
    marks_must_pass(true);
    everyone_gets(Errand::mark, server, second, fails == Fails::may ? nullptr : "settled mark");
    marks_must_pass(false);
}

bool leave_database(int database)
{
    auto is_in_it = [&](const Seat& seat) {
        return seat.process->alive && seat.database == database;
    };
    auto somebody_is = [&] { return std::any_of(seats, seats + world.session_count, is_in_it); };
    for (const Seat& seat : seats) {
        if (seat.process != nullptr && is_in_it(seat)) {
            send_terminate(*seat.process);
        }
    }
    const int64_t until = true_us + minute;
    while (true_us < until && !server().panicked && somebody_is() && run_somebody(until)) {
    }
    return !somebody_is();
}

Process* busy_session(Server& server, int number)
{
    (void)server;
    Seat& seat = seats[number % world.session_count];
    return seat.process->alive && seat.busy ? seat.process : nullptr;
}

void cancel_somebody()
{
    Process* process = busy_session(server(), static_cast<int>(chance.below(world.session_count)));
    if (process != nullptr && chance.one_in(4)) {
        was_terminated();
        note("session %lld is terminated", process->number);
        send_terminate(*process);
    } else if (process != nullptr) {
        was_cancelled();
        note("session %lld is cancelled", process->number);
        send_cancel(*process);
    }
}

} // namespace sim
