// No false alarm: where nothing was copied or promoted, the log does not say so.
#include "checkers.hpp"

namespace sim {

void no_false_alarm(Server&, const char* message)
{
    bool moved = false;
    for (const Life& life : lives) {
        moved = moved ||
                (life.how != Start::first && life.how != Start::crash && life.how != Start::fast);
    }
    if (!moved && strstr(message, "copied or moved") != nullptr) {
        broken("a false alarm: %s", message);
    }
}

} // namespace sim
