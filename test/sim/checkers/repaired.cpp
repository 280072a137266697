// A repair forgets what was stamped further ahead than a right clock lets sessions stamp, and
// settled marks from before it; whoever orders it says that none of that was kept. The world does
// so only where it is nearly sure of it. Of what was stamped nearer nothing is forgotten. There is
// something to repair only after a mistake, and what is flushed then has nothing of it any more.
#include "checkers.hpp"
#include "world.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace sim {

namespace {

struct Repair {
    size_t life;
    int64_t us;
};
std::vector<Repair> repairs;
int count[most_databases];
int under_way[most_databases]; // one that was killed stays until the life ends
int64_t highest_us;
int64_t nodes;
std::map<uint64_t, int64_t> highest_of_count;                      // of ids that count set-backs
bool raised_or_extended[most_databases], extended[most_databases]; // by mistake
int mistakes, mistakes_under_way;
struct Repaired {
    int64_t at;   // true time; 0: not in this life
    int mistakes; // that were made before
} repaired_last[most_databases];
PROCESS_LOCAL int my_mistakes = 0; // of this transaction

// Ids of a count that is still used lie up to where the file says so, all others before its least
// moment.
bool says_all_ids(const flakeid::Stamped& file)
{
    const auto back = flakeid::stamp_of_number(file.stamp[flakeid::back_horizon]);
    return std::all_of(highest_of_count.begin(), highest_of_count.end(), [&](const auto& one) {
        return flakeid::stamp_of(one.first, one.second) <= back || one.second <= file.least_us;
    });
}

} // namespace

bool says_mistake(const flakeid::Stamped& stamped, int64_t now_us)
{
    int64_t us = std::max(stamped.latest_us, stamped.least_us);
    for (const int64_t stamp : stamped.stamp) {
        us = std::max(us, stamp_us(flakeid::stamp_of_number(stamp)));
    }
    return us > now_us + far_ahead;
}

bool has_far_sessions()
{
    return world.has('f') && world.chosen.find_first_of("CKMP") == std::string::npos;
}

int64_t repaired_to()
{
    return has_far_sessions() ? minute : world.max_ahead;
}

void repaired_begins()
{
    repairs.clear();
    highest_us = nodes = 0;
    highest_of_count.clear();
    std::fill(raised_or_extended, raised_or_extended + most_databases, false);
    std::fill(extended, extended + most_databases, false);
}

void stamped(const Id& id)
{
    highest_us = std::max(highest_us, word_start_us(id.generator, id.word));
    nodes |= static_cast<int64_t>(flakeid::bit_of_node(id.generator.node));
    if (id.generator.shape.has_back) {
        int64_t& us = highest_of_count[word_back(id.generator.shape, id.word)];
        us = std::max(us, word_start_us(id.generator, id.word));
    }
}

int64_t highest_stamped_us()
{
    return highest_us;
}

int64_t nodes_with_ids()
{
    return nodes;
}

size_t repairs_ever()
{
    return repairs.size();
}

int repairs_of(int database)
{
    return count[database];
}

void repair_begins(int database, int64_t us)
{
    count[database]++;
    under_way[database]++;
    repairs.push_back({lives.size() - 1, us});
}

void repair_ends(int database)
{
    count[database]++;
    under_way[database]--;
}

bool repair_goes_on(int database)
{
    return under_way[database] > 0;
}

void repaired_life_begins(Start how)
{
    std::fill(repaired_last, repaired_last + most_databases, Repaired{});
    if (how != Start::crash && how != Start::fast) { // a copy may be older
        nodes = 0;
        highest_of_count.clear();
    }
    std::fill(under_way, under_way + most_databases, 0);
    mistakes_under_way = 0;
}

void mistake_begins(int database, bool relied)
{
    mistakes++;
    mistakes_under_way++;
    my_mistakes++;
    raised_or_extended[database] = true;
    extended[database] = extended[database] || relied;
}

void mistake_is_dropped(int database)
{
    const bool repairs =
        std::any_of(under_way, under_way + most_databases, [](int n) { return n > 0; });
    repaired_last[database] = {}; // a dump that takes its place may bring another
    extended[database] = extended[database] && repairs; // one that began before finds it there
}

void mistakes_end()
{
    mistakes_under_way -= my_mistakes;
    my_mistakes = 0;
}

bool somebody_errs()
{
    return mistakes_under_way > my_mistakes;
}

int mistakes_ever()
{
    return mistakes;
}

bool erred(int database)
{
    return raised_or_extended[database];
}

void repaired(Server& server, int database)
{
    const bool somebody_erred = std::find(raised_or_extended, raised_or_extended + most_databases,
                                          true) != raised_or_extended + most_databases;
    // Two crashes at once, each between the row and the file, drive a horizon ahead, and so does a
    // transaction that replaces the state: the floor that it raised stays, though nobody relies on
    // it. So does a dump of another server, after a start.
    const auto starts = std::count_if(lives.begin(), lives.end(), [](const Life& life) {
        return life.began_us > true_us - 10 * second;
    });
    const bool restored = other_server_us() > right_wall() - 10 * second;
    const bool slow = world.has('Z'); // the row may be more than a second further than the file
    if (!somebody_erred && !may_look_moved(server) && starts < (restored || slow ? 1 : 2) &&
        world.chosen.find_first_of("KwrIV") == std::string::npos) {
        broken("a repair where nothing was wrong");
    }
    if (world.has('w')) {
        return; // the clock may have been days ahead while it was repaired
    }
    const int64_t now_us = wall_clock(server);
    if (says_mistake(durable_of(server.flushed_rows[database]).stamped, now_us)) {
        broken("a repair that leaves the mistake in the row");
    }
    repaired_last[database] = {true_us, mistakes};
    if (!says_all_ids(flushed_file(server).stamped)) {
        broken("a repair after which the file of the server forgets ids whose count is used");
    }
    // What another database relies on is its own to repair.
    const bool others = std::count(extended, extended + most_databases, true) > extended[database];
    if (!others && says_mistake(flushed_file(server).stamped, now_us)) {
        broken("a repair that leaves the mistake in the file of the server");
    }
}

bool is_repaired(int database)
{
    const Repaired& last = repaired_last[database];
    return last.at != 0 && last.at < true_us - second && last.mistakes == mistakes;
}

bool repaired_since(size_t life)
{
    return !repairs.empty() && repairs.back().life >= life;
}

bool forgotten(const Id& id, size_t life)
{
    const int64_t us = word_start_us(id.generator, id.word);
    return std::any_of(repairs.begin(), repairs.end(),
                       [&](const Repair& repair) { return repair.life >= life && us > repair.us; });
}

} // namespace sim
