// A repair forgets what was stamped further ahead than a right clock lets sessions stamp, and
// settled marks from before it; whoever orders it says that none of that was kept. The world does
// so only where it is nearly sure of it. Of what was stamped nearer nothing is forgotten.
#include "checkers.hpp"
#include "world.hpp"

#include <algorithm>
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

} // namespace

bool has_far_sessions()
{
    return world.has('f') && world.chosen.find_first_of("CKMP") == std::string::npos;
}

int64_t repaired_to()
{
    return has_far_sessions() ? minute : longest_max_ahead;
}

void repaired_begins()
{
    repairs.clear();
    highest_us = 0;
}

void stamped(const Id& id)
{
    highest_us = std::max(highest_us, word_start_us(id.generator, id.word));
}

int64_t highest_stamped_us()
{
    return highest_us;
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
    horizon_is_raised(database, 0);
}

void repair_ends(int database)
{
    under_way[database]--;
}

bool repair_goes_on(int database)
{
    return under_way[database] > 0;
}

void repaired_life_begins()
{
    std::fill(under_way, under_way + most_databases, 0);
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
