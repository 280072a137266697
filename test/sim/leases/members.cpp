#include "leases/members.hpp"

#include "checkers.hpp"
#include "core/settled.hpp"
#include "generator/compose.hpp"
#include "generator/draw.hpp"
#include "leases/believed.hpp"
#include "leases/network.hpp"
#include "leases/status.hpp"
#include "leases/truth.hpp"
#include "leases/worker_process.hpp"
#include "world.hpp"

extern "C" {
#include "postmaster/interrupt.h"
}

#include <algorithm>
#include <cstring>
#include <iterator>

namespace sim {

Member members[most_servers];
int member_count;
Reached id_drawn(0, "an id");
Reached named_drawn('L', "an id of a layout that was named");
Reached further_drawn('G', "an id of a further node of a span");
Reached leased_drawn('r', "an id of a further node of a lease");
Reached small_refused('.', "a lease that is too small");
Reached yielding_drawn('y', "an id of a layout that yields");
Reached reserved_drawn('a', "a reserved id");

namespace {

uint64_t next_machine;
int next_directory;

PROCESS_LOCAL int my_configuration = 0;

// ---- Sessions

PROCESS_LOCAL flakeid::Generator* my_generator = nullptr; // of the last draw

// An error is part of the trace by its text, without the numbers in it.
void note_error()
{
    static std::set<std::string> texts;
    std::string text = "error: ";
    for (const char* c = my_message; *c != '\0'; c++) {
        text += *c >= '0' && *c <= '9' ? '#' : *c == '%' ? ' ' : *c;
    }
    note(texts.insert(text).first->c_str());
}

// Its lease may get more nodes, when the realm is divided anew.
void lease_may_be_too_small()
{
    Member& member = members[here().number];
    int asked, nodes;
    if (sscanf(my_message, "flakeid.node is auto(%d), and a lease has %d", &asked, &nodes) != 2) {
        return;
    }
    if (asked != member.asks || nodes >= asked) {
        broken("a lease is too small, and has the nodes that are asked for");
    }
    small_refused();
    member.taken_us = true_us;
}

// Settings that change meanwhile count for the next transaction.
void draw_some(DrawingSession& me)
{
    Random& dice = running->random;
    const int64_t pause = world.has('Q') && dice.one_in(4) ? dice.between(1, 6) : 0;
    for (int64_t n = dice.between(1, 6); n > 0; n--) {
        if (n == pause) {
            me.wants_since = 0;
            sleep_us(dice.below(20 * second));
            me.wants_since = true_us;
            CHECK_FOR_INTERRUPTS();
        }
        const int64_t began_us = true_us;
        flakeid::Generator& g = flakeid::configured_generator();
        my_generator = &g;
        my_highest_wall = INT64_MIN;
        if (dice.one_in(5)) {
            const auto most = dice.one_in(world.has('z') ? 30 : 100) ? 2000 : 6;
            const flakeid::Draw d = draw(g, {static_cast<uint32_t>(dice.between(1, most)), false});
            leased_nodes_in_step(g, d.word);
            for (uint32_t i = 0; i < d.count; i++) {
                lease_id_is_handed_out(g, d.word + i, began_us);
            }
        } else {
            const bool reserved = g.cache.next != g.cache.end;
            const flakeid::Word word = next_word(g);
            if (reserved && g.cache.next != g.cache.end) {
                reserved_drawn();
            }
            leased_nodes_in_step(g, word);
            lease_id_is_handed_out(g, word, began_us);
        }
        id_drawn();
        members[here().number].served_us = true_us;
        if (g.node != g.granted.first && g.granted.first != g.granted.last) {
            g.tenure.wanted_node == flakeid::any_node ? leased_drawn() : further_drawn();
        }
    }
}

// flake_next('layout'): of fewer nodes than flakeid.layout has, or of more.
void draw_named()
{
    constexpr const char* names[] = {"time:41:1ms node:7 sequence:6 epoch=2020-01-01",
                                     "time:41:1ms node:12 sequence:1 epoch=2018-01-01"};
    const char* name = names[running->random.below(static_cast<int64_t>(std::size(names)))];
    const int64_t began_us = true_us;
    flakeid::Generator g{};
    make_named(g, name, strlen(name));
    lease_id_is_handed_out(g, draw(g, {1, false}).word, began_us);
    named_drawn();
}

// The same by a session with a flakeid.layout of its own, of a layout that makes ids which the
// server's layout makes too: it yields to that as soon as that is used.
void draw_yielding()
{
    constexpr char name[] = "time:38:20ms sequence:7 node:10 epoch=2026-01-01";
    if (!set_setting("flakeid.layout", "time:41:1ms node:10 sequence:3 epoch=2018-01-01")) {
        return;
    }
    const int64_t began_us = true_us;
    flakeid::Generator g{};
    make_named(g, name, strlen(name));
    for (int64_t n = running->random.between(1, 6); n > 0; n--) {
        const flakeid::Draw d = draw(g, {60, false});
        for (uint32_t i = 0; i < d.count; i++) {
            lease_id_is_handed_out(g, d.word + i, began_us);
        }
    }
    yielding_drawn();
}

// Its own ids have settled: it drew none in this transaction.
void poll()
{
    flakeid::Generator& g = flakeid::configured_generator();
    if (!flakeid::can_settle(g.layout)) {
        return;
    }
    mark_is_answered(settled_id(g, take_snapshot()), world.session_count == 1);
}

void session()
{
    int seat = 0;
    Member& member = members[here().number];
    while (member.sessions[seat].process != running) {
        seat++;
    }
    DrawingSession& me = member.sessions[seat];
    become_backend(seat, 0, {});
    Random& dice = running->random;
    const bool idle = world.has('I') && dice.one_in(2);
    const bool for_hours = world.has('J');
    my_configuration = here().configuration_version;
    if (world.has('z') && dice.one_in(2)) {
        sleep_us(dice.below(4 * second));
    }
    if (world.has('y') && dice.one_in(2)) {
        begin_transaction();
        const bool good = survives_error([&] {
            load_library();
            draw_yielding();
            end_transaction(true);
        });
        if (!good) {
            note_error();
            abort_transaction();
        }
        reload_settings();
    }
    while (!my_end) {
        me.wants_since = me.wants_since == 0 ? true_us : me.wants_since;
        member.tried_us = true_us;
        if (my_configuration != here().configuration_version) {
            my_configuration = here().configuration_version;
            reload_settings();
        }
        begin_transaction();
        const bool good = survives_error([&] {
            CHECK_FOR_INTERRUPTS();
            load_library();
            if (running->random.one_in(4) && !world.has('u')) {
                poll();
            }
            draw_some(me);
            if (running->random.one_in(8)) {
                look_at_status();
            }
            end_transaction(!running->random.one_in(4));
        });
        if (good) {
            me.wants_since = 0;
            if (world.has('L') && dice.one_in(3)) {
                begin_transaction();
                if (survives_error(draw_named)) {
                    end_transaction(true);
                } else {
                    note_error();
                    abort_transaction();
                }
            }
            const int64_t longest = world.has('g')    ? minute
                                    : for_hours       ? (dice.one_in(3) ? 9000 : 700) * second
                                    : idle            ? 900 * second
                                    : dice.one_in(10) ? 5 * second
                                                      : second;
            sleep_us(dice.below(longest));
        } else {
            note_error();
            lease_may_be_too_small();
            if (strstr(my_message, "the next id of node") != nullptr) {
                leased_nodes_are_refused(*my_generator);
            }
            abort_transaction();
            if (running->random.one_in(8) && survives_error([] { load_library(); })) {
                look_at_status();
            }
            sleep_us(dice.between(100 * ms, second));
        }
    }
    me.wants_since = 0;
    me.process = nullptr;
    end_backend();
}

void begin_session(Server& server, int seat, int64_t at)
{
    DrawingSession& s = members[server.number].sessions[seat];
    s.wants_since = 0;
    s.process = &spawn(server, "session", session, server.image, at);
    s.process->random = Random(chance.next());
}

// ---- Servers

void create_extension()
{
    Server& s = here();
    become_backend(most_backends - 1, 0, {});
    flakeid::Durable durable{};
    durable.format = flakeid::durable_format;
    StateFile& file = s.base.databases[0].files[0];
    file.number = 1000;
    set_durable(file, durable);
    s.base.databases[0].current = file.number;
    end_backend();
}

Directory fresh_directory(Server& s)
{
    Directory directory;
    directory.system = new_system(s);
    make_file(s, directory, "PG_VERSION", "15\n");
    make_file(s, directory, "global/pg_control", "new");
    return directory;
}

// A server takes a directory that is not its own for one that another goes on with; the pristine
// one too, as after pg_upgrade.
void note_beginning(Server& server, int64_t ahead_us)
{
    Member& member = members[server.number];
    if (member.moved || member.torn || !made_ids(server)) {
        member.begins_us = std::max(member.begins_us, true_us + ahead_us + 10 * second);
    }
}

void start_member(int number, Directory directory, bool harmless)
{
    Server& s = servers[number];
    Member& member = members[number];
    if (member.forgets) {
        directory.files.erase("flakeid/leases");
        member.directory = ++next_directory;
        member.moved = true;
        member.forgets = false;
        harmless = false;
    }
    forget_worker(s);
    start_server(s, directory);
    lives.push_back({});
    member.wanted = true;
    member.stopping = false;
    member.harmless = harmless;
    member.started_us = true_us;
    member.made_until_us = last_made_us(number);
    note_beginning(s, s.clock.offset);
    note("server %lld starts", number);
    for (int i = 0; i < world.session_count; i++) {
        begin_session(s, i, true_us + chance.below(chance.one_in(2) ? 1 : 2 * second));
    }
    if (worker_is_registered(s)) {
        start_worker(s, true_us + chance.below(20 * ms));
        lease_worker(s)->random = Random(chance.next());
    }
}

// What was put back had not changed, so that its files were left as they are.
bool is_as_it_was(const Directory& before, const Directory& after)
{
    bool same = before.timeline == after.timeline && before.system == after.system;
    for (const char* name : {"flakeid/horizon", "flakeid/leases"}) {
        const auto a = before.files.find(name);
        const auto b = after.files.find(name);
        same = same && a != before.files.end() && b != after.files.end() &&
               a->second.number == b->second.number && a->second.bytes == b->second.bytes &&
               a->second.modified == b->second.modified && a->second.changed == b->second.changed;
    }
    return same;
}

// It comes up again by itself.
void end_member(int number, const Directory& directory, int64_t down_us, bool harmless)
{
    Server& s = servers[number];
    Member& member = members[number];
    for (DrawingSession& one : member.sessions) {
        one = DrawingSession{};
    }
    stop_server(s);
    forget_worker(s);
    forget_connections(number);
    const uint64_t seed = chance.next();
    at_time(true_us + down_us, [number, directory, harmless, seed] {
        const Random before = chance;
        chance = Random(seed);
        start_member(number, directory, harmless);
        chance = before;
    });
}

} // namespace

void reload_member(int number)
{
    servers[number].configuration_version++;
    if (Process* process = lease_worker(servers[number])) {
        signal_worker(*process, ConfigReloadPending);
    }
}

void make_member(int number, bool any, int32_t node, int32_t further, bool preload,
                 const Settings& configuration)
{
    Server& s = servers[number];
    members[number] = Member{};
    members[number].any = any;
    members[number].node = node;
    members[number].further = further;
    members[number].directory = ++next_directory;
    // Moments of the steady clock have an arbitrary zero.
    s.booted_us = true_us - chance.below(chance.one_in(2) ? minute : 2592000 * second);
    s.number = number;
    s.preload = preload;
    s.machine = ++next_machine;
    s.configuration = configuration;
    s.base = s.now = fresh_directory(s);
    Process& process = spawn(s, "initdb", create_extension, pristine, true_us);
    while (process.alive) {
        run(process);
    }
    start_member(number, s.base, false);
}

void begins_past_ids_of(int number, int other, int64_t ahead_us)
{
    const int64_t passed_us = last_made_us(other) - true_epoch_us - ahead_us;
    members[number].begins_us = std::max(members[number].begins_us, passed_us + 10 * second);
}

void set_clock(Server& server, int64_t ahead_us)
{
    Member& member = members[server.number];
    member.clock_set_us = true_us;
    member.clock_was_us = std::max(member.clock_was_us, wall_clock(server));
    if (!world.has('u')) { // a settled mark may have been answered by the clock as it was
        member.begins_us = std::max(member.begins_us, true_us + server.clock.offset + 10 * second);
    }
    if (server.configuration["flakeid.layout"].find(" back:") == std::string::npos) {
        begins_past_ids_of(server.number, server.number, ahead_us);
    }
    server.clock = Clock{};
    server.clock.offset = ahead_us;
    note_beginning(server, ahead_us);
}

void crash_member(int number, int64_t down_us, bool harmless)
{
    note("server %lld crashes", number);
    Member& member = members[number];
    Directory directory = crashed(servers[number]);
    if (!harmless && chance.one_in(3)) {
        note("and its machine");
        lose_power(directory);
        member.torn = true;
        servers[number].booted_us = true_us;
    }
    for (const auto& [name, file] : directory.files) {
        member.torn = member.torn || file.other_date;
        member.misdated = member.misdated || (name == "flakeid/horizon" && file.other_date);
    }
    believed_crash(number);
    leases_crash(number);
    member.crashed = true;
    end_member(number, directory, down_us, harmless);
}

void replace_member(int number, const Directory& directory)
{
    Member& member = members[number];
    note("server %lld gets another directory", number);
    believed_crash(number);
    leases_crash(number);
    if (!is_as_it_was(servers[number].now, directory)) {
        member.directory = ++next_directory;
    }
    member.crashed = member.moved = true;
    end_member(number, directory, chance.below(5 * second), false);
}

void begin_stop(int number, bool harmless)
{
    Server& s = servers[number];
    Member& member = members[number];
    note("server %lld is stopped", number);
    member.stopping = true;
    member.harmless = harmless;
    member.stopped_since = true_us;
    for (int i = 0; i < world.session_count; i++) {
        if (member.sessions[i].process != nullptr) {
            send_terminate(*member.sessions[i].process);
        }
        member.sessions[i].wants_since = 0;
    }
    stop_worker(s);
}

void forget_realm(int number)
{
    note("server %lld is to forget its realm", number);
    members[number].forgets = true;
    if (runs(number)) {
        begin_stop(number, false);
    }
}

void attend_stop(int number)
{
    Server& s = servers[number];
    Member& member = members[number];
    bool alive = lease_worker(s) != nullptr;
    for (int i = 0; i < world.session_count; i++) {
        alive = alive || member.sessions[i].process != nullptr;
    }
    if (alive && true_us - std::max(member.stopped_since, member.still_until) > 60 * second) {
        broken("a stop does not end");
    }
    if (!alive) {
        note("server %lld has stopped", number);
        member.stopping = member.crashed = false;
        member.torn = member.torn && member.served_us < member.started_us;
        member.misdated = member.misdated && member.torn;
        end_member(number, replayed(s, s.inserted),
                   chance.below(chance.one_in(4) ? minute : 2 * second), member.harmless);
    }
}

int any_member()
{
    return static_cast<int>(chance.below(member_count));
}

bool runs(int number)
{
    return servers[number].up && !members[number].stopping;
}

} // namespace sim
