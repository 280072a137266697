// A world of leases: several servers with sessions and lease workers, hosts of coordinators, the
// network between them, and what goes wrong with all of these.
#include "world.hpp"

#include "checkers.hpp"
#include "leases/faults.hpp"
#include "leases/life.hpp"
#include "leases/manners.hpp"
#include "leases/members.hpp"
#include "leases/realms.hpp"
#include "leases/truth.hpp"

#include <algorithm>

namespace sim {

const char world_option[] = " WORLD=leases";

constexpr char slow = 'V';

const std::vector<Feature> features = {
    {'X', "servers crash"},
    {'c', "directories are copied and put back"},
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
    {'v', "the coordinator is updated before the servers, or after them"},
    {'Q', "the coordinator is left and found again"},
    {'w', "the coordinator is reached in another way"},
    {'h', "names of hosts"},
    {'J', "sessions that want an id once in hours, leases of many hours"},
    {'l', "layouts of other kinds"},
    {'L', "sessions name layouts"},
    {'y', "layouts that are named and yield"},
    {'z', "bursts, after which a server crashes and is stopped before anybody draws"},
    {'u', "nobody asks for settled marks"},
    {'a', "sessions that reserve ids"},
    {'E', "errors in the lease worker"},
    {'r', "leases of several nodes, of which realms are divided anew"},
    {'g', "two regions with coordinators of their own"},
    {'d', "disks that fail"},
};

std::vector<Life> lives; // of all servers together: how many starts there were
uint64_t set_backs, polls;

namespace {

constexpr char plain_layout[] = "time:41:1ms node:10 sequence:3 epoch=2026-01-01";
constexpr char slow_layout[] = "time:39:10ms node:10 sequence:2 epoch=2026-01-01";
constexpr char yielded_to_layout[] = "time:39:10ms sequence:6 node:10 epoch=2026-01-01";
constexpr const char* other_layouts[] = {
    "time:41:1ms back:2 node:10 sequence:3 epoch=2026-01-01",
    "time:39:10ms back:1 node:10 sequence:6 epoch=2026-01-01",
    "time:39:10ms node:10 sequence:6 epoch=2026-01-01",
    "time:32:1s node:10 sequence:8 epoch=2026-01-01",
};

// Features that meet seldom by chance.
const char* const corners[] = {
    "J",   "JQF", "Q",   "QG", "QXR", "EU", "EGC", "lFK", "lGX", "GT", "wH", "hHC", "GNC",
    "HBU", "KX",  "QFw", "Ku", "KuL", "r",  "rX",  "rFT", "rcB", "g",  "gr", "gX", "aFX", "aG", "aK",
    "yX",  "z",
};

std::string connection_string(int number)
{
    if (world.has('g')) {
        return "hostaddr=10.0.0." + std::to_string(1 + region_of(number)) + " dbname=ids";
    }
    if (world.has('H') || world.has('O') || world.has('Y')) {
        const std::string hosts = world.has('h') ? "host=both" : "hostaddr=10.0.0.1,10.0.0.2";
        return hosts + " dbname=ids target_session_attrs=read-write";
    }
    return world.has('h') ? "host=10.0.0.9,one dbname=ids" : "hostaddr=10.0.0.1 dbname=ids";
}

void leave_out(const char* letters)
{
    for (const char* letter = letters; *letter != '\0'; letter++) {
        world.chosen.erase(std::remove(world.chosen.begin(), world.chosen.end(), *letter),
                           world.chosen.end());
    }
}

} // namespace

void make_world(uint64_t seed, const char* letters, int)
{
    reset_machine();
    Random choice(mix(seed, 1));
    world = World{};
    world.seed = seed;
    const int64_t kind = choice.below(6); // 0 and 1: of a corner
    const bool small = kind < 4;
    const auto all = static_cast<int64_t>(features.size());
    const std::string corner =
        kind < 2 ? corners[choice.below(static_cast<int64_t>(std::size(corners)))] : "";
    for (const Feature& feature : features) {
        if (feature.letter == slow && !choice.one_in(6)) {
            continue; // all takes long there
        }
        const bool more = small ? choice.below(all) < (corner.empty() ? 4 : 1) : choice.one_in(3);
        if (feature.letter == 'J' && !small) {
            continue; // hours of those who want ids all the time take long
        }
        if (more || corner.find(feature.letter) != std::string::npos) {
            world.chosen += feature.letter;
        }
    }
    if (letters != nullptr) {
        world.chosen = letters;
    }
    // In regions, neither coordinator takes the place of the other, and no clock is so wrong that a
    // server has no lease for an hour. A lease of several nodes is of any.
    if (world.has('g')) {
        leave_out("GHOYMJK");
    }
    if (world.has('r')) {
        leave_out("G");
    }
    chance = Random(mix(seed, 2));
    steps_begin(lease_steps);
    reset_network(seed);
    reset_hosts(seed);
    truth_begins();
    manners_begin();
    lives.clear();
    set_backs = polls = 0;
    on_log = [](Server& server, const char* message) {
        is_logged(server, message);
        if (made_ids(server) && !members[server.number].moved) {
            no_false_alarm(server, message);
        }
    };
    faults = Faults{};
    next_look = true_us;
    member_count = static_cast<int>(choice.between(2, 4));
    world.session_count = static_cast<int>(choice.between(1, most_sessions));
    // A coordinator that lost something rests for as long as leases may count.
    const bool never_rests = world.chosen.find_first_of("OYBACM") == std::string::npos;
    const bool hours = world.has('J') && choice.one_in(2) && never_rests;
    // Somebody else has the first node of a span all the time.
    const bool first_is_taken = world.has('G') && Random(mix(seed, 3)).one_in(4) && never_rests;
    const auto ttl_s = hours                                 ? choice.between(20000, 86400)
                       : choice.one_in(2) || world.has(slow) ? 60
                                                             : choice.between(3, 120);
    if (world.has(slow)) {
        network.quickest_trip_us = 500 * ms;
        network.slowest_trip_us = 800 * ms;
    }
    network.trips = static_cast<int>(choice.between(2, 5));
    for (Host& at : hosts) {
        if (at.number > 0 && !world.has('g')) {
            break; // it is a standby
        }
        start_host(at);
        Realm realm = default_lease_realm;
        if (world.has('g')) {
            realm.id[0] = static_cast<unsigned char>(10 + at.number);
            realm.settings.nodes /= most_hosts;
            realm.settings.first_node = realm.settings.nodes * at.number;
        }
        if (world.has('r') && !world.has('g')) { // so few that somebody gets the layout's last ones
            realm.settings.nodes /= 4;
            realm.settings.first_node = last_fixed + 1 - realm.settings.nodes;
        }
        realm.settings.lease_nodes = world.has('r') ? least_lease_nodes : 1;
        if (hours || first_is_taken) {
            realm.settings.max_ttl_s = 86400;
        }
        if (hours) {
            expect_no_renewals();
        }
        begin_realm(at, realm);
    }
    const char* layout =
        world.has('z')   ? slow_layout
        : world.has('y') ? yielded_to_layout
        : world.has('l') ? other_layouts[choice.below(static_cast<int64_t>(std::size(other_layouts)))]
                       : plain_layout;
    for (int i = 0; i < member_count; i++) {
        const bool preload = world.has('W') && choice.one_in(2);
        const bool any = world.has('g') || (world.has('r') && i == 0) ||
                         (!(world.has('G') && i == 0) &&
                          (world.has('M') ? !choice.one_in(4) : choice.one_in(2)));
        const bool span = world.has('G') && (i == 0 || choice.one_in(2));
        const auto further = static_cast<int32_t>(span ? choice.between(1, nodes_each - 1) : 0);
        const int32_t node = world.has('r') ? last_fixed + 1 - most_lease_nodes * (i + 1)
                                            : last_fixed - nodes_each * i - further;
        // Of some, all nodes of the smallest lease, or one more.
        const int64_t of_lease = !world.has('r') ? 1
                                 : i == 0        ? least_lease_nodes
                                                 : choice.between(1, least_lease_nodes + 1);
        const std::string several =
            of_lease == 1 ? "auto" : "auto(" + std::to_string(of_lease) + ")";
        const std::string fixed =
            std::to_string(node) + (span ? "-" + std::to_string(node + further) : "");
        make_member(i, any, node, any ? 0 : further, preload,
                    {{"flakeid.node", any ? several : fixed},
                     {"flakeid.layout", layout},
                     {"flakeid.cache", world.has('a') ? "3" : "1"},
                     {"flakeid.coordinator", connection_string(i)},
                     {"flakeid.lease_ttl", std::to_string(ttl_s)}});
        members[i].asks = static_cast<int>(of_lease);
    }
    if (first_is_taken) {
        tell_host(host(), wish_of_somebody({default_realm, members[0].node}, 86400 * second));
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


} // namespace sim
