// G2: ids of a plain layout and one node lie above each that was handed out before their draw
// began, in this life of the server, whatever the database. In one database they lie above those of
// earlier lives too.
#include "checkers.hpp"
#include "sessions.hpp"

namespace sim {

namespace {

uint64_t highest[layout_count];

} // namespace

void rising_begins()
{
    rising_life_begins();
}

void rising_life_begins()
{
    for (uint64_t& id : highest) {
        id = 0;
    }
}

uint64_t highest_id(int layout)
{
    return highest[layout];
}

void rising(const Id& id)
{
    if (id.generator.granted.first != id.generator.granted.last ||
        id.generator.layout.back_bits > 0) {
        return;
    }
    if (!id.cached && id.raw <= id.highest_before) {
        tell("id %llx after %llx", static_cast<unsigned long long>(id.raw),
             static_cast<unsigned long long>(id.highest_before));
        broken("G2: an id below one from before its draw");
    }
    highest[id.layout] = std::max(highest[id.layout], id.raw);
}

} // namespace sim
