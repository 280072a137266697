// A world of leases: several servers with sessions and lease workers, hosts of coordinators, the
// network between them, and what goes wrong with all of these.
#include "world.hpp"

#include "checkers.hpp"
#include "leases/faults.hpp"
#include "leases/life.hpp"
#include "leases/members.hpp"
#include "leases/truth.hpp"

#include <algorithm>

namespace sim {

const char world_option[] = " WORLD=leases";

constexpr char slow = 'V';

const std::vector<Feature> features = {
    {'X', "servers crash"},
    {'F', "servers are stopped and started"},
    {'P', "servers stand still"},
    {'K', "clocks of servers are set"},
    {'W', "the library is preloaded"},
    {'I', "idle sessions"},
    {'G', "spans of nodes"},
    {'R', "settings are reloaded"},
    {'D', "messages are late"},
    {'U', "answers are lost, connections cut"},
    {'2', "questions are asked twice"},
    {'N', "servers are cut off"},
    {slow, "a slow network"},
    {'H', "two addresses"},
    {'C', "the coordinator crashes"},
    {'k', "the coordinator's clock is set a little"},
    {'A', "the coordinator's clock runs far ahead"},
    {'O', "the coordinator fails over without its last commits"},
    {'Y', "an old coordinator stays beside the new one"},
    {'B', "the coordinator is restored from a dump"},
    {'T', "somebody leaves transactions open"},
    {'S', "a synchronous standby of the coordinator is lost"},
    {'M', "the realm gets another name, server by server"},
};

std::vector<Life> lives; // of all servers together: how many starts there were
uint64_t set_backs, polls;

namespace {

constexpr char layout_text[] = "time:41:1ms node:10 sequence:3 epoch=2026-01-01";

std::string connection_string()
{
    return world.has('H') || world.has('O') || world.has('Y')
               ? "hostaddr=10.0.0.1,10.0.0.2 dbname=ids target_session_attrs=read-write"
               : "hostaddr=10.0.0.1 dbname=ids";
}

} // namespace

void make_world(uint64_t seed, const char* letters, int)
{
    reset_machine();
    Random choice(mix(seed, 1));
    world = World{};
    world.seed = seed;
    const bool small = choice.one_in(2);
    const auto all = static_cast<int64_t>(features.size());
    for (const Feature& feature : features) {
        if (feature.letter == slow && !choice.one_in(6)) {
            continue; // nobody has ids there, as things are
        }
        if (small ? choice.below(all) < 4 : choice.one_in(3)) {
            world.chosen += feature.letter;
        }
    }
    if (letters != nullptr) {
        world.chosen = letters;
    }
    chance = Random(mix(seed, 2));
    steps_begin(lease_steps);
    reset_network(seed);
    reset_hosts(seed);
    truth_begins();
    lives.clear();
    set_backs = polls = 0;
    on_log = no_false_alarm;
    faults = Faults{};
    next_look = true_us;
    member_count = static_cast<int>(choice.between(2, 4));
    world.session_count = static_cast<int>(choice.between(1, most_sessions));
    const auto ttl_s = choice.one_in(2) ? 60 : choice.between(3, 120);
    if (world.has(slow)) {
        network.quickest_trip_us = 500 * ms;
        network.slowest_trip_us = 800 * ms;
        id_drawn(); // there may be none, as things are
        expect_no_answers();
    }
    network.trips = static_cast<int>(choice.between(2, 5));
    start_host(hosts[0]);
    for (int i = 0; i < member_count; i++) {
        const bool preload = world.has('W') && choice.one_in(2);
        const bool any =
            !(world.has('G') && i == 0) && (world.has('M') ? !choice.one_in(4) : choice.one_in(2));
        const bool span = world.has('G') && (i == 0 || choice.one_in(2));
        const int32_t node = last_fixed - 2 * i - (span ? 1 : 0);
        const std::string fixed =
            std::to_string(node) + (span ? "-" + std::to_string(node + 1) : "");
        make_member(i, any, node, preload,
                    {{"flakeid.node", any ? "auto" : fixed},
                     {"flakeid.layout", layout_text},
                     {"flakeid.coordinator", connection_string()},
                     {"flakeid.lease_ttl", std::to_string(ttl_s)}});
    }
    if (world.has('T')) {
        leave_transaction_open();
    }
    faults_begin();
}

void run_step(uint64_t number)
{
    choose_step(number).run();
}

void run_turns(int64_t turns, int64_t until)
{
    while (turns-- > 0 && true_us < until) {
        do_what_is_due();
        if (true_us >= next_look) {
            look();
        }
        (void)run_somebody(std::min({until, next_due(), next_look}));
    }
}

void end_world()
{
    chance = Random(mix(world.seed, 99));
    all_is_well();
    run_turns(never, true_us + 2 * calm_bound_us);
}

void max_ahead_is_asked(int64_t) {}

} // namespace sim
