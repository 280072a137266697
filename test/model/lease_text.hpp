// The moves of the leases' model in words.
#pragma once

#include "lease_moves.hpp"

namespace leases {

class Model : public Moves {
public:
    using Moves::Moves;

    void print(const State& before, const Move& move, const State& after, FILE* out) const
    {
        const Holder& was = before.holder[move.holder];
        const Holder& is = after.holder[move.holder];
        const char name = static_cast<char>('A' + move.holder);
        switch (move.event) {
        case ev_watch:
            fprintf(out, setup_.draws ? "watch id %s\n" : "watch tick %.1s\n",
                    word_text(move.value).c_str());
            break;
        case ev_send:
            fprintf(out, "%c: asks the coordinator for %s", name,
                    is.request == acquire ? "a lease"
                    : is.request == renew ? "a renewal"
                                          : "release");
            if (is.request == release) {
                fprintf(out, ", last stamp %s",
                        is.request_last == 0 ? "none"
                                             : std::to_string(is.request_last - 1).c_str());
            }
            fprintf(out, "\n");
            break;
        case ev_serve: {
            const Table& table = after.table[move.coordinator];
            const std::string lease =
                move.request == acquire
                    ? "a lease"
                    : (move.request == renew ? "to renew lease " : "the release of lease ") +
                          std::to_string(move.lease) +
                          (move.claim > 0 ? ", known until " + std::to_string(move.claim) : "");
            fprintf(out, "%scoordinator: reads the clock: %d; ",
                    move.coordinator == 1 ? "old " : "", move.value);
            if (memcmp(&before.table[move.coordinator].end, &table.end, 2) == 0 &&
                before.table[move.coordinator].open == table.open &&
                before.table[move.coordinator].lease == table.lease && is.reply == no_request) {
                fprintf(out, "refuses %s%s\n", lease.c_str(), table.rests ? ", resting" : "");
            } else if (move.request == release) {
                fprintf(out, "takes %s: the node is free from %d\n", lease.c_str(), table.end);
            } else {
                fprintf(out, "%s lease %d: [%d, %d)\n",
                        move.request == acquire ? "gives" : "renews", table.lease, table.start,
                        table.end);
            }
            break;
        }
        case ev_receive:
            fprintf(out, "%c: receives the reply\n", name);
            break;
        case ev_time_out:
            fprintf(out, "%c: gives up waiting for the reply\n", name);
            break;
        case ev_expire:
            fprintf(out, "%c: lets its lease end\n", name);
            break;
        case ev_draw:
            fprintf(out, "%c: reads the clock: %d; may issue %s\n", name, move.value,
                    word_text(is.pending).c_str());
            break;
        case ev_swap:
            fprintf(out, "%c: issues %s\n", name, word_text(was.pending).c_str());
            break;
        case ev_close:
            fprintf(out, "%c: closes its words\n", name);
            break;
        case ev_stamp:
            fprintf(out, "%c: reads its last stamp: %s\n", name,
                    is.stamp == 1 ? "none" : std::to_string(is.stamp - 2).c_str());
            break;
        case ev_crash:
            fprintf(out, "%c: crashes, and starts again\n", name);
            break;
        case ev_replicate:
            fprintf(out, "the standby catches up\n");
            break;
        case ev_coordinator_crash:
            fprintf(out, "the coordinator crashes, and loses what was not flushed\n");
            break;
        case ev_set_ttl:
            fprintf(out, "max_ttl is set to %d\n", move.value);
            break;
        case ev_dump:
            fprintf(out, "the coordinator is dumped: max_ttl %d, leases may have counted for %d\n",
                    after.dump.max_ttl, after.dump.hold);
            break;
        case ev_restore:
            fprintf(out, "the coordinator is lost, and the dump restored at %d\n", move.value);
            break;
        case ev_force:
            fprintf(out, "%c: leases come in force\n", name);
            break;
        case ev_fail_over:
            fprintf(out, "the coordinator dies; its standby is promoted%s\n",
                    memcmp(&before.standby, &before.table[0], sizeof(Table)) == 0
                        ? ""
                        : " without the last changes");
            break;
        }
    }
};

} // namespace leases
