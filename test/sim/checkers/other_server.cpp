// G1, how it is kept: a server that took another's place makes ids past all that the other can have
// stamped by then, where its clock is as guarantees.md wants it. Where that is a dump's server, its
// file says so from the end of the restore on, whatever other administrators do meanwhile.
#include "checkers.hpp"
#include "world.hpp"

#include <algorithm>

namespace sim {

namespace {

int64_t restored_us; // up to where the servers stamped whose dumps were restored here
size_t restored_in;  // the number of lives then
int64_t taken_us;    // up to where the server stamped whose place was taken, for the restarts since

// Of the server whose place was taken in that life.
int64_t place_us(const Life& life)
{
    const bool other = took_a_place(life.how) && life.how != Start::put_back &&
                       life.behind < clock_may_lag && !world.has('w');
    return other ? life.right_us + world.max_ahead : 0;
}

int64_t place_us()
{
    return place_us(lives.back());
}

} // namespace

void other_server_life_begins(Start how)
{
    if (how == Start::crash || how == Start::fast) {
        const Life& before = lives[lives.size() - 2];
        taken_us = before.behind < clock_may_lag ? std::max(taken_us, place_us(before)) : 0;
    } else {
        restored_us = taken_us = 0; // a copy may be older
    }
}

void other_server_is_restored(int64_t us)
{
    restored_us = std::max(restored_us, us);
    restored_in = lives.size();
}

int64_t other_server_us()
{
    return restored_us;
}

int64_t spared_from_repairs_us()
{
    return std::max(restored_in == lives.size() ? restored_us : 0, place_us());
}

void other_server_is_forgotten(int64_t us)
{
    us = std::max(us, spared_from_repairs_us());
    restored_us = std::min(restored_us, us);
    taken_us = std::min(taken_us, us);
}

void other_server_is_said(Server& server)
{
    if (restored_in == lives.size() && flushed_file(server).stamped.latest_us < restored_us) {
        broken("the file of the server does not say how far the server of a dump may have stamped");
    }
}

void past_other_server(const Id& id)
{
    const int64_t us = word_start_us(id.generator, id.word);
    // Where nobody came before a restart, its own clock counts.
    const int64_t other_us =
        std::max(place_us(), lives.back().behind < clock_may_lag ? taken_us : 0);
    if (us <= other_us) {
        tell("id %llx of %.6f, the other server may have stamped up to %.6f",
             static_cast<unsigned long long>(id.raw), static_cast<double>(us) / 1e6,
             static_cast<double>(other_us) / 1e6);
        broken("an id that the server may have made whose place was taken");
    }
}

} // namespace sim
