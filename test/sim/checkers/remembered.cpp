// What a dump of the database is to know stands in it before an id is: the node or the coordinator
// that the server was given, and the key of an enciphered layout.
#include "checkers.hpp"
#include "durable/fingerprints.hpp"
#include "world.hpp"

namespace {

PROCESS_LOCAL bool my_key_is_remembered = false;

} // namespace

void flakeid::remember_enciphering()
{
    my_key_is_remembered = true;
}

namespace sim {

void remembered(const flakeid::Generator& g)
{
    if (g.layout.enciphered && !my_key_is_remembered) {
        broken("an enciphered id, and nothing remembers the key");
    }
    // Otherwise the row may have been made anew since the session looked.
    const bool stays = world.chosen.find_first_of("VrfMCd") == std::string::npos;
    const bool given = g.tenure.entry != nullptr || g.granted.first != g.granted.last;
    if (stays && given && durable_of(here().flushed_rows[my_database()]).assigned == 0) {
        broken("an id, and no dump would know of its node or coordinator");
    }
}

} // namespace sim
