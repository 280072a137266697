// What is drawn after the horizon of a database was raised lies past that moment. A repair
// takes back no more than what lies further ahead of the clock than any session stamps.
#include "checkers.hpp"

#include <algorithm>

namespace sim {

namespace {

int64_t raised[most_databases];
int64_t raised_at[most_databases];    // true time, of the highest
size_t life_of_raise[most_databases]; // the number of lives when one began

} // namespace

void raised_life_begins(Start how)
{
    for (int i = 0; i < most_databases; i++) {
        // A standby lags by less than a second, and a copy may be older.
        const bool known = how == Start::crash || how == Start::fast ||
                           (how == Start::promoted && raised_at[i] < true_us - 2 * second);
        raised[i] = known ? raised[i] : 0;
    }
}

void raise_begins(int database)
{
    life_of_raise[database] = lives.size();
}

bool raise_began(int database)
{
    return life_of_raise[database] == lives.size();
}

void horizon_is_raised(int database, int64_t us)
{
    raised_at[database] = us > raised[database] ? true_us : raised_at[database];
    raised[database] = us == 0 ? 0 : std::max(raised[database], us);
}

void horizon_is_lowered(int database, int64_t us)
{
    raised[database] = std::min(raised[database], us);
}

int64_t raised_to(int database)
{
    return std::max(raised[database], other_server_us());
}

void past_raised(const Id& id)
{
    const int64_t us = std::min(id.raised_before, raised_to(my_database()));
    if (id.repairs_before == repairs_of(my_database()) &&
        word_start_us(id.generator, id.word) <= us) {
        tell("id %llx of %.6f, raised to %.6f", static_cast<unsigned long long>(id.raw),
             static_cast<double>(word_start_us(id.generator, id.word)) / 1e6,
             static_cast<double>(id.raised_before) / 1e6);
        broken("an id that was drawn after a raise lies below it");
    }
}

} // namespace sim
