#include "leases/faults.hpp"

#include "checker.hpp"
#include "leases/life.hpp"
#include "leases/members.hpp"
#include "leases/realms.hpp"
#include "leases/truth.hpp"
#include "leases/worker_process.hpp"

#include <algorithm>

namespace sim {

Faults faults;

namespace {

Reached crash_happened('X', "a server crashed");
Reached copy_happened('c', "a directory was copied or put back");
Reached stop_happened('F', "a server was stopped");
Reached still_happened('P', "a server stood still");
Reached clock_happened('K', "a clock was set");
Reached reload_happened('R', "settings were reloaded");
Reached cut_happened('N', "a server was cut off");
Reached host_crash_happened('C', "the coordinator crashed");
Reached host_clock_happened('k', "the coordinator's clock was set");
Reached ahead_happened('A', "the coordinator's clock ran ahead");
Reached failover_happened('O', "a failover");
Reached back_happened('O', "a holder was back after its node was given away");
Reached split_happened('Y', "two coordinators beside each other");
Reached dump_happened('B', "a dump was restored");
Reached open_happened('T', "a transaction was left open");
Reached standby_happened('S', "a synchronous standby was lost");
Reached version_happened('v', "the coordinator was of another version");
Reached left_happened('Q', "a server left its coordinator");
Reached way_happened('w', "the coordinator was reached in another way");

void update(Host& at)
{
    at.database.oldest_version = at.database.latest_version = flakeid::lease_wire_version;
}

void down(Host& at, int64_t for_us)
{
    stop_host(at);
    const uint64_t life = at.life;
    at_time(true_us + for_us, [&at, life] {
        if (at.life == life) {
            start_host(at);
            note("host %lld is up", at.number);
        }
    });
}

} // namespace

Host& host()
{
    return hosts[faults.serving];
}

void faults_begin()
{
    faults.calm = false;
    network.late = world.has('D');
    network.lossy = world.has('U');
    network.doubled = world.has('2');
    for (int i = 0; i < member_count; i++) {
        servers[i].failing_writes = world.has('d') ? static_cast<int>(chance.between(2, 20)) : 0;
        servers[i].wal_fails = false; // no step starts a server that ended so
    }
    note("faults begin");
}

void all_is_well()
{
    network.late = network.lossy = network.doubled = false;
    for (int i = 0; i < most_servers; i++) {
        network.cut_off_until[i] = 0;
        network.unreachable[i] = -1;
        stop_all_of(servers[i], 0);
        servers[i].failing_writes = 0;
        members[i].still_until = 0;
        set_clock(servers[i], chance.between(-500 * ms, 500 * ms));
        members[i].harmless = false;
    }
    for (Host& at : hosts) {
        update(at);
        at.empty_until = at.nonsense_until = 0;
        at.ahead_us = chance.between(-500 * ms, 500 * ms);
        at.standby_lost_until = 0;
    }
    if (!host().up) {
        start_host(host());
    }
    if (host().database.clock.clock_us > host_wall_us(host()) + 2 * second) {
        tell_host(host(), Question::repair_clock);
        note("flake_lease_repair_clock()");
    }
    if (faults.named && host().database.tables.names.empty()) {
        add_name(); // the standby had not heard of it
    }
    if (faults.unheard && !faults.told) {
        faults.told = true;
        tell_host(host(), Question::begin_rest);
        note("flakeid.lease_begin_rest()");
    }
    // Of two coordinators of a realm one goes.
    Host& other = hosts[1 - faults.serving];
    if (other.up && !world.has('g')) {
        stop_host(other);
    }
    faults.calm = true;
    faults.calm_since = true_us;
    note("all is well");
}

void pass(int64_t longest_us)
{
    run_turns(never, true_us + chance.below(longest_us));
}

// ---- Steps

namespace {

void step_time_passes()
{
    pass(chance.one_in(8) ? 60 * second : 8 * second);
}

// Faults stop for a while, and begin again.
void step_all_is_well()
{
    all_is_well();
    run_turns(never, true_us + calm_bound_us + chance.below(calm_bound_us));
    for (int64_t n = chance.below(4); n > 0; n--) {
        // Nothing else is wrong, and a server starts again.
        run_turns(never, true_us + 2 * calm_bound_us);
        if (world.has('J')) {
            pass(10000 * second);
        }
        const int number = any_member();
        if (runs(number) && world.has('X')) {
            crash_member(number, chance.below(2 * second), true);
        } else if (runs(number) && world.has('F')) {
            begin_stop(number, true);
        }
        pass(chance.one_in(4) ? 1200 * second : 100 * second);
    }
    faults_begin();
}

void step_crash()
{
    const int number = any_member();
    if (runs(number)) {
        crash_happened();
        crash_member(number, chance.below(chance.one_in(2) ? 500 * ms : 30 * second), false);
    }
    pass(4 * second);
}

void step_crash_and_stop()
{
    const int number = any_member();
    if (runs(number)) {
        crash_member(number, chance.below(500 * ms), false);
    }
    pass(chance.between(100 * ms, 2 * second));
    if (runs(number)) {
        begin_stop(number, false);
    }
    pass(4 * second);
}

// A copy goes on beside the server that it is of; one that was kept comes back in place of it.
void step_copy()
{
    static Directory kept[most_servers];
    static uint64_t of_seed;
    if (of_seed != world.seed) {
        of_seed = world.seed;
        std::fill(std::begin(kept), std::end(kept), Directory{});
    }
    const int from = any_member();
    const int to = any_member();
    if (!runs(from) || !runs(to) || (world.has('g') && region_of(from) != region_of(to))) {
        return; // or a directory that remembers another realm
    }
    if (kept[from].files.empty() || chance.one_in(3)) {
        kept[from] = crashed(servers[from]);
        pass(20 * second);
    }
    if (!runs(from) || !runs(to)) {
        return;
    }
    copy_happened();
    const bool older = from == to || chance.one_in(3);
    const Directory& source = older ? kept[from] : crashed(servers[from]);
    if (to != from) {
        marks_are_of(to, older ? -1 : from);
    }
    const bool cloned = to != from && chance.one_in(3); // the whole disk
    Directory directory = cloned ? source
                          : chance.one_in(2)
                              ? copied(servers[to], source)
                              : synchronised(servers[to], servers[to].now, source, true);
    directory.timeline += chance.one_in(3) ? 1 : 0;
    note("server %lld gets a directory of server %lld", to, from);
    // It says how far the other's ids went.
    members[to].begins_us = std::max(members[to].begins_us, members[from].begins_us);
    begins_past_ids_of(to, from, 0);
    replace_member(to, directory);
    pass(4 * second);
}

void set_to(int number, int64_t ahead_us)
{
    set_clock(servers[number], ahead_us);
    note("the clock of server %lld is set", number);
}

void step_stop()
{
    const int number = any_member();
    if (world.has('K') && world.has('l')) { // words from before have later ticks than the last one
        set_to(number, chance.between(7 * second, 20 * second));
        pass(chance.between(second, 4 * second));
        set_to(number, -chance.below(2 * second));
        pass(chance.between(100 * ms, 2 * second));
    }
    if (runs(number)) {
        stop_happened();
        begin_stop(number, false);
    }
    pass(4 * second);
    if (world.has('K') && runs(number)) { // its machine asks others for the time as it starts
        set_to(number, chance.between(-20 * second, second));
    }
}

void step_stand_still()
{
    still_happened();
    const int number = any_member();
    const int64_t us = chance.below(chance.one_in(3) ? 100 * second : 3 * second);
    members[number].still_until = std::max(members[number].still_until, true_us + us);
    Process* worker = lease_worker(servers[number]);
    if (worker != nullptr && chance.one_in(2)) {
        note("the lease worker of server %lld stands still for %lld us", number, us);
        worker->stopped_until = true_us + us;
    } else {
        note("server %lld stands still for %lld us", number, us);
        stop_all_of(servers[number], true_us + us);
    }
    pass(4 * second);
}

void step_clock()
{
    clock_happened();
    const int number = any_member();
    const int64_t far = chance.one_in(8) ? 600 * second : chance.one_in(2) ? 20 * second : second;
    set_to(number, chance.between(-far, far));
    pass(4 * second);
}

void step_reload()
{
    const int number = any_member();
    reload_happened();
    servers[number].configuration["flakeid.lease_ttl"] = std::to_string(chance.between(3, 120));
    reload_member(number);
    pass(4 * second);
}

void step_version()
{
    version_happened();
    Host& at = host();
    if (chance.one_in(4)) {
        faults.nonsense = true;
        at.nonsense_until = true_us + chance.below(20 * second);
        at.looks_right = chance.one_in(2);
        note("the coordinator answers with two rows");
        pass(4 * second);
        return;
    }
    LeaseDatabase& database = at.database;
    const int other = flakeid::lease_wire_version + (chance.one_in(2) ? 1 : -1);
    database.oldest_version = database.latest_version = other;
    note("the coordinator speaks version %lld", other);
    at_time(true_us + chance.below(90 * second), [&at] { update(at); });
    pass(4 * second);
}

// Without a coordinator for a while; its nodes are as its own settings say.
void step_leave()
{
    left_happened();
    const int number = any_member();
    std::string& setting = servers[number].configuration["flakeid.coordinator"];
    const std::string before = setting;
    if (before.empty()) {
        return; // it is away already
    }
    if (chance.one_in(4)) {
        note("the lease worker of server %lld is terminated", number);
        terminate_worker(servers[number]);
        pass(second);
    }
    setting = "";
    members[number].left_us = true_us;
    note("server %lld leaves its coordinator", number);
    reload_member(number);
    const auto come_back = [number, before] {
        servers[number].configuration["flakeid.coordinator"] = before;
        members[number].left_us = 0;
        note("server %lld finds its coordinator again", number);
        reload_member(number);
    };
    if (chance.one_in(3)) {
        at_time(true_us + chance.below(10 * second), come_back); // it may crash until then
        pass(4 * second);
        if (world.has('X') && runs(number) && chance.one_in(2)) {
            crash_happened();
            crash_member(number, chance.below(10 * second), false);
        }
        return;
    }
    pass(chance.one_in(3) ? 100 * second : 4 * second);
    come_back();
    pass(4 * second);
}

void step_other_way()
{
    way_happened();
    const int number = any_member();
    std::string& setting = servers[number].configuration["flakeid.coordinator"];
    if (setting.empty()) {
        return;
    }
    const size_t at = setting.find(" connect_timeout");
    setting = at == std::string::npos ? setting + " connect_timeout=4" : setting.substr(0, at);
    note("server %lld reaches its coordinator in another way", number);
    reload_member(number);
    pass(4 * second);
}

void step_hours_pass()
{
    pass(chance.one_in(2) ? 9000 * second : 1200 * second);
}

void step_cut_off()
{
    cut_happened();
    const int number = any_member();
    const int64_t us = chance.below(chance.one_in(3) ? 100 * second : 5 * second);
    network.cut_off_until[number] = true_us + us;
    note("server %lld is cut off for %lld us", number, us);
    pass(4 * second);
}

void step_cut_connection()
{
    for (auto& [id, connection] : connections) {
        if (chance.one_in(2)) {
            const bool told_here = chance.one_in(2);
            cut_connection(connection, told_here, chance.one_in(2));
        }
    }
    pass(4 * second);
}

void step_host_crash()
{
    if (host().up) {
        host_crash_happened();
        note("the coordinator crashes");
        down(host(), chance.below(chance.one_in(3) ? 90 * second : 5 * second));
    }
    pass(4 * second);
}

void step_host_clock()
{
    host_clock_happened();
    host().ahead_us = chance.between(-4 * second, 4 * second);
    note("the coordinator's clock is %lld us ahead", host().ahead_us);
    pass(4 * second);
}

void step_host_ahead()
{
    ahead_happened();
    faults.ran_ahead = true;
    host().ahead_us = 600 * second;
    note("the coordinator's clock is 600 s ahead");
    run_turns(never, true_us + 35 * second);
    host().ahead_us = 0;
    note("the coordinator's clock is right");
    pass(4 * second);
}

// The standby takes over; the old coordinator is gone, or stays.
void fail_over(bool stays)
{
    Host& old = host();
    Host& next = hosts[1 - faults.serving];
    if (next.up || !old.up) {
        return;
    }
    const int64_t late_us = chance.one_in(2) ? 0 : chance.below(5 * second);
    become_standby(next, old, late_us);
    next.ahead_us = chance.between(-4 * second, 4 * second);
    faults.forgotten =
        faults.forgotten || (next.database.clock.origin == 0 && old.database.clock.origin != 0);
    faults.unheard = faults.unheard || next.database.clock.origin != old.database.clock.origin ||
                     old.database.clock.origin != old.database.here;
    if (stays) {
        faults.split = true;
        split_happened();
        old.base = old.database.tables;
    } else {
        failover_happened();
        stop_host(old);
    }
    faults.serving = 1 - faults.serving;
    note("host %lld takes over, %lld us late, the old one stays: %lld", faults.serving, late_us,
         stays);
    next.in_recovery = false;
    promote(next);
    Host& up = next;
    at_time(true_us + chance.below(5 * second), [&up] {
        start_host(up);
        note("host %lld is up", up.number);
    });
    next.life++;
}

void step_failover()
{
    fail_over(false);
    pass(8 * second);
}

// By the clock of the coordinator, which is ahead, a lease has ended, and somebody else gets the
// node. Another one takes over, which may not have heard of that, and by whose clock the lease
// lasts. Then its holder is back.
void step_holder_is_back()
{
    constexpr int64_t most_ahead_us = 5 * second; // of the next one by no more than max_skew
    Host& old = host();
    const int number = any_member();
    const std::string name = "db-" + std::to_string(number);
    const LeaseTables& tables = old.database.tables;
    if (rests_until(old) != 0) {
        run_turns(never, true_us + rests_until(old) - host_wall_us(old) + second);
    }
    const auto held =
        std::find_if(tables.nodes.begin(), tables.nodes.end(), [&](const auto& node) {
            const auto lease = tables.history.find(node.second.token);
            return node.second.leased && lease != tables.history.end() &&
                   lease->second.holder.find(name) != std::string::npos &&
                   node.second.free_from_us > host_wall_us(old) + second;
        });
    if (!runs(number) || !old.up || held == tables.nodes.end()) {
        return;
    }
    const NodeKey key = held->first;
    note("server %lld is cut off until node %lld is given away", number, key.second);
    old.ahead_us =
        std::min(most_ahead_us, held->second.free_from_us - host_wall_us(old) - second / 2);
    const int64_t ends_us = true_us + held->second.free_from_us - host_wall_us(old);
    network.cut_off_until[number] = ends_us + 100 * ms;
    run_turns(never, ends_us + 20 * ms);
    const Question q = wish_of_somebody(key, 10 * second);
    if (old.up) {
        tell_host(old, q);
        run_turns(never, true_us + 20 * ms);
        const auto given = tables.history.find(q.token);
        if (given != tables.history.end()) {
            back_happened();
            node_is_given_away(static_cast<uint32_t>(key.second), given->second.start_us);
        }
    }
    fail_over(false);
    run_turns(never, true_us + 20 * second);
}

// Servers reach the old one, the new one or both, and all want leases now and then.
void step_split()
{
    if (!hosts[1 - faults.serving].up) {
        fail_over(true);
    }
    for (int64_t n = chance.between(1, 12); n > 0; n--) {
        for (int& host : network.unreachable) {
            host = chance.one_in(3) ? static_cast<int>(chance.between(-1, 1)) : host;
        }
        const int number = any_member();
        if (runs(number)) {
            crash_member(number, chance.below(5 * second), false);
        }
        pass(60 * second);
    }
}

void step_dump()
{
    if (host().up) {
        dump_happened();
        note("a dump is restored");
        stop_host(host());
        restore_dump(host(), host());
        const int64_t down_us = chance.below(10 * second);
        host().empty_until = chance.one_in(2) ? true_us + down_us + chance.below(10 * second) : 0;
        down(host(), down_us);
    }
    pass(4 * second);
}

void step_open_transaction()
{
    leave_transaction_open();
    pass(4 * second);
}

void step_lose_standby()
{
    standby_happened();
    host().standby_lost_until = true_us + chance.below(90 * second);
    note("the coordinator's synchronous standby is lost");
    pass(8 * second);
}

} // namespace

void leave_transaction_open()
{
    if (host().up) {
        open_happened();
        const bool any = chance.one_in(2);
        const int32_t node = last_fixed - nodes_each * any_member();
        Question q = wish_of_somebody({default_realm, node}, 60 * second);
        q.wish.any = any;
        const int64_t us = chance.below(chance.one_in(2) ? 300 * second : 20 * second);
        note("somebody leaves a transaction open for %lld us", us);
        open_transaction(host(), q, us);
    }
}

void crash_now_and_then(int number, int64_t in, int64_t within_us)
{
    if (world.has('X') && !faults.calm && running->random.one_in(in)) {
        at_time(true_us + running->random.below(within_us), [number] {
            if (runs(number)) {
                crash_happened();
                crash_member(number, chance.below(5 * second), false);
            }
        });
    }
}

const std::vector<StepKind> lease_steps = {
    {"time passes", 0, 60, step_time_passes},
    {"all is well", 0, 6, step_all_is_well},
    {"a server crashes", 'X', 15, step_crash},
    {"a server is stopped", 'F', 15, step_stop},
    {"a server crashes, comes back and is stopped", 'z', 15, step_crash_and_stop},
    {"a server is stopped, so that a layout can yield again", 'y', 6, step_stop},
    {"a directory is copied", 'c', 10, step_copy},
    {"a server stands still", 'P', 10, step_stand_still},
    {"a clock is set", 'K', 15, step_clock},
    {"a server is stopped, after its clock was set back", 'l', 10, step_stop},
    {"a reload", 'R', 10, step_reload},
    {"the realm is renamed", 'M', 6, step_rename},
    {"another version of the coordinator", 'v', 6, step_version},
    {"the coordinator is left for a while", 'Q', 15, step_leave},
    {"another way to the coordinator", 'w', 10, step_other_way},
    {"a realm is divided anew", 'r', 12, step_divide},
    {"the regions are cut from each other", 'g', 2, step_cut_regions},
    {"hours pass", 'J', 6, step_hours_pass},
    {"a server is cut off", 'N', 12, step_cut_off},
    {"a connection is cut", 'U', 12, step_cut_connection},
    {"the coordinator crashes", 'C', 8, step_host_crash},
    {"the coordinator's clock is set", 'k', 10, step_host_clock},
    {"the coordinator's clock runs ahead", 'A', 4, step_host_ahead},
    {"a failover", 'O', 6, step_failover},
    {"a holder is back after a failover", 'O', 4, step_holder_is_back},
    {"two coordinators", 'Y', 2, step_split},
    {"a dump is restored", 'B', 8, step_dump},
    {"a transaction is left open", 'T', 20, step_open_transaction},
    {"a synchronous standby is lost", 'S', 6, step_lose_standby},
};

} // namespace sim
