// G1, how it is kept: a server that took another's place makes ids past all that the other can have
// stamped by then, where its clock is as guarantees.md wants it.
#include "checkers.hpp"
#include "world.hpp"

namespace sim {

void past_other_server(const Id& id)
{
    const Life& life = lives.back();
    if (!took_a_place(life.how) || life.how == Start::put_back || life.behind >= clock_may_lag ||
        repaired_since(lives.size() - 1) || world.has('w')) {
        return;
    }
    const int64_t us = word_start_us(id.generator, id.word);
    const int64_t other_us = life.right_us + world.max_ahead;
    if (us <= other_us) {
        tell("id %llx of %.6f, the other server may have stamped up to %.6f",
             static_cast<unsigned long long>(id.raw), static_cast<double>(us) / 1e6,
             static_cast<double>(other_us) / 1e6);
        broken("an id that the server may have made whose place was taken");
    }
}

} // namespace sim
