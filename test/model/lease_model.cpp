// Leases of one node: two holders, a coordinator whose clock says anything at any transaction, its
// standby, lost and late messages, crashes. Holders draw with src/core/step.cpp itself, and their
// clocks say anything at any reading. The rules are those of DESIGN section 6.
//
//     lease_model                every run; a line each
//     lease_model NAME...        these runs, and the way to what they find
//
// One id is watched, every one in turn: it must not be issued twice, and its tick must not lie in
// two leases.
#include "search.hpp"

#include "../../src/core/layout.hpp"
#include "../../src/core/step.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using namespace flakeid;

// A tick is a second, and leases are whole seconds.
constexpr char layout_text[] = "time:4:1s sequence:1 epoch=1970-01-01";

constexpr int holders = 2;
constexpr int max_ttl = 2;
constexpr int max_skew = 1;
constexpr int rest = max_ttl + max_skew;
constexpr int max_ahead = 1;

enum class Mutation {
    none,
    no_rest,              // a new coordinator hands out at once
    short_rest,           // it rests for max_ttl only
    renew_while_resting,  // it renews whatever it knows of
    no_lease_check,       // ids are drawn whatever the lease says
    lease_by_clock,       // the clock has to lie in the lease, not the id's tick
    early_grant,          // a lease begins before the end of the one before
    release_of_any,       // a release counts whoever's lease it is now
    stamp_before_closing, // the last stamp is read, then the words are closed
    reopened,             // after a release without a reply the lease is used again
    same_lease_again,     // a holder that asks again gets the lease that it has
    commit_not_durable,   // the coordinator answers, and a crash of it undoes the commit
    not_fenced,           // the old coordinator goes on beside the new one
    claim_of_any,         // what a holder says it knows counts whoever's lease it is now
};

struct Setup {
    int last_clock; // clocks lie in [0, last_clock]
    int leases;     // handed out at most
    bool draws;     // otherwise whoever was given a lease may ask anything at any time
    int crashes;    // of holders
    int failovers;
    bool any_skew; // of the new coordinator against the old one, otherwise at most max_skew
    Mutation mutation;
};

// What the coordinator's table says of the node.
struct Table {
    uint8_t lease, holder; // 0: none so far
    uint8_t open;          // neither released nor given to another one
    uint8_t end;           // nobody else gets the node before
    uint8_t start;
    uint8_t clock; // the latest that was seen
    uint8_t rest_until;
    uint8_t timeline; // that it was written on
};

enum Request : uint8_t { no_request, acquire, renew, release };

struct Holder {
    uint8_t lease; // 0: none
    uint8_t start, end;
    uint8_t closed;
    uint8_t word;    // issued last
    uint8_t pending; // to be swapped in
    uint8_t waiting; // for a reply
    Request request; // on its way, or arrived late
    uint8_t request_lease, request_last;
    Request reply;
    uint8_t reply_lease, reply_start, reply_end;
    uint8_t stamp; // stamp_before_closing only: read already, + 1
};

struct State {
    uint8_t watched; // the word; 0: to be chosen
    uint8_t issued;
    uint8_t claimed; // the lease that holds the watched tick
    Table table[2];  // of the coordinator; of the one before it, while it is not fenced
    Table standby;
    uint8_t timeline;
    uint8_t least_clock; // of the coordinator's readings
    uint8_t leases, crashes, failovers;
    uint8_t released; // a bit a lease: never asked for again
    uint8_t known[4]; // a lease: the latest end that its holder was told
    Holder holder[holders];
};

enum Event : uint8_t {
    ev_watch,
    ev_send,
    ev_serve,
    ev_receive,
    ev_time_out,
    ev_expire,
    ev_draw,
    ev_swap,
    ev_close,
    ev_stamp,
    ev_crash,
    ev_replicate,
    ev_coordinator_crash,
    ev_fail_over,
};

struct Move {
    Event event;
    uint8_t holder;
    uint8_t value;
    uint8_t coordinator;
    Request request;
    uint8_t lease;
    uint8_t claim;
};

class Model {
public:
    using State = ::State;
    using Move = ::Move;

    explicit Model(const Setup& setup) : setup_(setup)
    {
        if (parse_layout(layout_text, sizeof layout_text - 1, &layout_).status !=
            LayoutStatus::ok) {
            fprintf(stderr, "bad layout\n");
            exit(2);
        }
        shape_ = word_shape(layout_);
    }

    State first() const
    {
        State state;
        memset(&state, 0, sizeof state);
        state.table[0].timeline = state.standby.timeline = state.timeline = 1;
        return state;
    }

    // The holders may be exchanged: one state stands for both.
    State canonical(State state) const
    {
        if (is(Mutation::none) && memcmp(&state.holder[0], &state.holder[1], sizeof(Holder)) > 0) {
            std::swap(state.holder[0], state.holder[1]);
        }
        return state;
    }

    template <class Emit>
    void next(const State& state, Emit emit) const
    {
        if (state.watched == 0) {
            const int words = (setup_.last_clock + max_ttl) * sequences();
            for (int word = setup_.draws ? 1 : sequences(); word < words;
                 word += setup_.draws ? 1 : sequences()) {
                State after = state;
                after.watched = static_cast<uint8_t>(word);
                emit(after, Move{ev_watch, 0, after.watched, 0, no_request, 0, 0}, nullptr);
            }
            return;
        }
        for (int i = 0; setup_.draws && i < holders; i++) {
            const Holder& holder = state.holder[i];
            holder_moves(state, i, emit);
            if (holder.request != no_request) {
                serve(state, {holder.request, holder.request_lease, holder.request_last - 1, 0}, i,
                      emit);
            }
        }
        if (!setup_.draws) {
            serve(state, {acquire, 0, -1, 0}, 0, emit);
            for (int lease = 1; lease <= state.leases; lease++) {
                if (state.released >> lease & 1) {
                    continue;
                }
                for (int claim = 0; claim <= state.known[lease]; claim++) {
                    serve(state, {renew, static_cast<uint8_t>(lease), -1, claim}, 0, emit);
                }
                for (int last = -1; last < setup_.last_clock + max_ttl; last++) {
                    serve(state, {release, static_cast<uint8_t>(lease), last, 0}, 0, emit);
                }
            }
        }
        coordinator_moves(state, emit);
    }

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
                fprintf(out, "refuses %s%s\n", lease.c_str(),
                        table.rest_until > table.clock ? ", resting" : "");
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
        case ev_fail_over:
            fprintf(out, "the coordinator dies; its standby is promoted%s\n",
                    memcmp(&before.standby, &before.table[0], sizeof(Table)) == 0
                        ? ""
                        : " without the last changes");
            break;
        }
    }

private:
    bool is(Mutation mutation) const { return setup_.mutation == mutation; }

    int sequences() const { return static_cast<int>(max_sequence(shape_)) + 1; }

    int tick_of(int word) const
    {
        return static_cast<int>(word_tick(shape_, static_cast<uint64_t>(word)));
    }

    std::string word_text(int word) const
    {
        return std::to_string(tick_of(word)) + "/" +
               std::to_string(word_sequence(shape_, static_cast<uint64_t>(word)));
    }

    // ---- Coordinator.

    struct Call {
        Request request;
        uint8_t lease;
        int last;  // stamp; -1: none
        int claim; // end that the holder of a renewal knows; 0: it says none
    };

    // One transaction: it counts as soon as it is served, also when the reply is lost.
    template <class Emit>
    void serve(const State& state, const Call& call, int i, Emit emit) const
    {
        const bool two = is(Mutation::not_fenced) && state.failovers > 0;
        for (int which = 0; which <= (two ? 1 : 0); which++) {
            const int least = which == 0 ? state.least_clock : 0;
            for (int reading = least; reading <= setup_.last_clock; reading++) {
                State after = state;
                Holder& holder = after.holder[i];
                holder.request = no_request;
                holder.request_lease = holder.request_last = 0;
                const Move move{ev_serve,
                                static_cast<uint8_t>(i),
                                static_cast<uint8_t>(reading),
                                static_cast<uint8_t>(which),
                                call.request,
                                call.lease,
                                static_cast<uint8_t>(call.claim)};
                emit(after, move, serve_at(after, which, call, i, reading));
            }
        }
    }

    const char* serve_at(State& state, int which, const Call& call, int i, int reading) const
    {
        Table& table = state.table[which];
        Holder& holder = state.holder[i];
        const int now = reading > table.clock ? reading : table.clock;
        table.clock = static_cast<uint8_t>(now);
        const int timeline = which == 0 ? state.timeline : state.timeline - 1;
        if (table.timeline != timeline) {
            table.timeline = static_cast<uint8_t>(timeline);
            const int length = is(Mutation::no_rest)      ? 0
                               : is(Mutation::short_rest) ? max_ttl
                                                          : rest;
            table.rest_until = static_cast<uint8_t>(now + length);
        }
        const bool resting = now < table.rest_until;
        const int lease = call.lease;
        const int last = call.last;
        const bool theirs = table.lease == lease && table.open;

        switch (call.request) {
        case acquire:
            if (is(Mutation::same_lease_again) && table.open && table.holder == i + 1 &&
                now < table.end) {
                return answer(state, holder, acquire, table);
            }
            if (resting || (now < table.end && !is(Mutation::early_grant)) ||
                state.leases == setup_.leases) {
                return nullptr;
            }
            table.lease = ++state.leases;
            table.holder = static_cast<uint8_t>(is(Mutation::same_lease_again) ? i + 1 : 0);
            table.open = 1;
            table.start = static_cast<uint8_t>(now);
            table.end = static_cast<uint8_t>(now + max_ttl);
            return answer(state, holder, acquire, table);
        case renew: {
            const int limit = now + max_ttl + (resting ? max_skew : 0);
            const int known = call.claim < limit ? call.claim : limit;
            const bool claimed = known > table.end;
            const bool granted = theirs || (is(Mutation::claim_of_any) && claimed);
            const int end = claimed ? known : table.end;
            // What the old coordinator knew it may have been max_skew later.
            const bool soon = now + max_skew >= end;
            if (!granted || now >= end || (resting && soon && !is(Mutation::renew_while_resting))) {
                return nullptr;
            }
            const int longest = claimed && soon ? end : now + max_ttl;
            table.end = static_cast<uint8_t>(end < longest ? longest : end);
            return answer(state, holder, renew, table);
        }
        case release:
            if (!setup_.draws) {
                state.released = static_cast<uint8_t>(state.released | 1 << lease);
            }
            if (theirs || is(Mutation::release_of_any)) {
                const int free = last < 0 ? table.start : last + 1;
                table.end = static_cast<uint8_t>(free < table.end ? free : table.end);
                table.open = 0;
                if (state.claimed == lease && tick_of(state.watched) > last) {
                    state.claimed = 0;
                }
            }
            return nullptr;
        default:
            return nullptr;
        }
    }

    // Returns the broken rule when the lease overlaps another one in the watched tick.
    const char* answer(State& state, Holder& holder, Request what, const Table& table) const
    {
        if (holder.waiting) {
            holder.reply = what;
            holder.reply_lease = table.lease;
            holder.reply_start = table.start;
            holder.reply_end = table.end;
        }
        const int tick = tick_of(state.watched);
        if (!setup_.draws && state.known[table.lease] < table.end) {
            state.known[table.lease] = table.end;
        }
        if (tick < table.start || tick >= table.end) {
            return nullptr;
        }
        const bool overlap = state.claimed != 0 && state.claimed != table.lease;
        state.claimed = table.lease;
        return overlap ? "two leases of the node overlap" : nullptr;
    }

    template <class Emit>
    void coordinator_moves(const State& state, Emit emit) const
    {
        const bool behind = memcmp(&state.standby, &state.table[0], sizeof state.standby) != 0;
        if (behind && (state.failovers < setup_.failovers || is(Mutation::commit_not_durable))) {
            State after = state;
            after.standby = after.table[0];
            emit(after, Move{ev_replicate, 0, 0, 0, no_request, 0, 0}, nullptr);
        }
        if (behind && is(Mutation::commit_not_durable)) {
            State after = state;
            after.table[0] = after.standby;
            emit(after, Move{ev_coordinator_crash, 0, 0, 0, no_request, 0, 0}, nullptr);
        }
        if (state.failovers < setup_.failovers) {
            State after = state;
            after.table[1] = state.table[0];
            if (!is(Mutation::not_fenced)) {
                memset(&after.table[1], 0, sizeof after.table[1]);
            }
            after.table[0] = after.standby;
            memset(&after.standby, 0, sizeof after.standby);
            after.timeline++;
            after.failovers++;
            const int least = state.table[0].clock - max_skew;
            if (!setup_.any_skew && least > state.least_clock) {
                after.least_clock = static_cast<uint8_t>(least);
            }
            emit(after, Move{ev_fail_over, 0, 0, 0, no_request, 0, 0}, nullptr);
        }
    }

    // ---- Holders.

    Limits limits(const Holder& holder, int now) const
    {
        auto first_word = [&](int tick) {
            return word_of(shape_, 0, static_cast<uint64_t>(tick), 0);
        };
        Limits limits{static_cast<uint64_t>(now), max_ahead, first_word(holder.start),
                      first_word(holder.end) - 1};
        if (is(Mutation::no_lease_check) || is(Mutation::lease_by_clock)) {
            limits.first = 1;
            limits.last = UINT64_MAX;
        }
        return limits;
    }

    static void send(Holder& holder, Request request, int last)
    {
        holder.request = request;
        holder.request_lease = request == acquire ? 0 : holder.lease;
        holder.request_last = static_cast<uint8_t>(last + 1);
        holder.waiting = 1;
        holder.reply = no_request;
        holder.reply_lease = holder.reply_start = holder.reply_end = 0;
    }

    // A word of an earlier lease makes no difference: the next one begins later.
    void forget_word(Holder& holder) const
    {
        if (holder.pending == 0 && !is(Mutation::same_lease_again) &&
            (holder.lease == 0 || last_stamp(holder) < 0)) {
            holder.word = 0;
        }
    }

    void drop_lease(Holder& holder) const
    {
        holder.lease = holder.start = holder.end = holder.closed = 0;
        forget_word(holder);
    }

    static void stop_waiting(Holder& holder)
    {
        holder.waiting = 0;
        holder.reply = no_request;
        holder.reply_lease = holder.reply_start = holder.reply_end = 0;
    }

    template <class Emit>
    void holder_moves(const State& state, int i, Emit emit) const
    {
        const Holder& was = state.holder[i];
        auto move = [&](Event event, int value, auto change) {
            State after = state;
            const char* broken = change(after, after.holder[i]);
            emit(after,
                 Move{event, static_cast<uint8_t>(i), static_cast<uint8_t>(value), 0, no_request, 0,
                      0},
                 broken);
        };

        // The lease.
        if (!was.waiting && (was.lease == 0 || !was.closed)) {
            move(ev_send, 0, [&](State&, Holder& holder) -> const char* {
                send(holder, was.lease == 0 ? acquire : renew, -1);
                return nullptr;
            });
        }
        if (was.waiting && was.reply != no_request) {
            move(ev_receive, 0, [&](State&, Holder& holder) -> const char* {
                holder.lease = was.reply_lease;
                holder.start = was.reply_start;
                holder.end = was.reply_end;
                stop_waiting(holder);
                forget_word(holder);
                return nullptr;
            });
        }
        if (was.waiting) {
            move(ev_time_out, 0, [&](State&, Holder& holder) -> const char* {
                stop_waiting(holder);
                if (was.closed && !is(Mutation::reopened)) {
                    drop_lease(holder);
                }
                holder.closed = 0;
                return nullptr;
            });
        }
        if (was.lease != 0 && !was.closed) {
            move(ev_expire, 0, [&](State&, Holder& holder) -> const char* {
                stop_waiting(holder);
                drop_lease(holder);
                holder.stamp = 0;
                return nullptr;
            });
            if (is(Mutation::stamp_before_closing) && was.stamp == 0) {
                move(ev_stamp, 0, [&](State& after, Holder& holder) -> const char* {
                    holder.stamp = static_cast<uint8_t>(last_stamp(after.holder[i]) + 2);
                    return nullptr;
                });
            } else {
                move(ev_close, 0, [&](State&, Holder& holder) -> const char* {
                    stop_waiting(holder);
                    holder.closed = 1;
                    holder.pending = 0;
                    return nullptr;
                });
            }
        }
        if (was.closed && !was.waiting) {
            move(ev_send, 0, [&](State&, Holder& holder) -> const char* {
                send(holder, release, was.stamp > 0 ? was.stamp - 2 : last_stamp(was));
                holder.stamp = 0;
                return nullptr;
            });
        }
        if (state.crashes < setup_.crashes) {
            move(ev_crash, 0, [&](State& after, Holder& holder) -> const char* {
                // What it sent may arrive all the same.
                const Holder sent = holder;
                memset(&holder, 0, sizeof holder);
                holder.request = sent.request;
                holder.request_lease = sent.request_lease;
                holder.request_last = sent.request_last;
                after.crashes++;
                return nullptr;
            });
        }

        // Drawing.
        if (was.lease != 0 && !was.closed && was.pending == 0) {
            for (int now = 0; now <= setup_.last_clock + max_ttl; now++) {
                if (is(Mutation::lease_by_clock) && (now < was.start || now >= was.end)) {
                    continue;
                }
                const Draw draw = step(was.word, shape_, limits(was, now), {1, false});
                if (draw.verdict == Verdict::issue) {
                    move(ev_draw, now, [&](State&, Holder& holder) -> const char* {
                        holder.pending = static_cast<uint8_t>(draw.word);
                        return nullptr;
                    });
                }
            }
        }
        if (was.pending != 0) {
            move(ev_swap, 0, [&](State& after, Holder& holder) -> const char* {
                holder.word = was.pending;
                holder.pending = 0;
                forget_word(holder);
                if (was.pending != state.watched) {
                    return nullptr;
                }
                after.issued = 1;
                return state.issued ? "an id is issued twice" : nullptr;
            });
        }
    }

    // Of the ids drawn under the lease; -1: none.
    int last_stamp(const Holder& holder) const
    {
        const int tick = tick_of(holder.word);
        return holder.word == 0 || tick < holder.start ? -1 : tick;
    }

    const Setup setup_;
    Layout layout_;
    WordShape shape_;
};

// ---- The runs.

// Holders that draw; nothing happens to the coordinator.
Setup drawing()
{
    return {3, 2, true, 1, 0, false, Mutation::none};
}

// Leases alone, with a standby that is promoted.
Setup failover()
{
    return {5, 3, false, 0, 2, false, Mutation::none};
}

Setup mutated(Setup setup, Mutation mutation)
{
    setup.mutation = mutation;
    return setup;
}

std::vector<Run<Setup>> all_runs()
{
    std::vector<Run<Setup>> runs;
    auto proof = [&](const char* name, const char* what, const Setup& setup) {
        runs.push_back({name, Expect::proof, what, setup});
    };
    auto found = [&](const char* name, const char* what, const Setup& setup) {
        runs.push_back({name, Expect::found, what, setup});
    };
    proof("leases", "ids drawn, any clocks, lost replies, a crash", drawing());
    proof("failover", "any clocks, lost replies, a standby promoted that lags", failover());

    found("no-lease-check", "ids drawn whatever the lease says",
          mutated(drawing(), Mutation::no_lease_check));
    found("lease-by-clock", "the clock lies in the lease, not the id's tick",
          mutated(drawing(), Mutation::lease_by_clock));
    found("stamp-before-closing", "the last stamp read before the words are closed",
          mutated(drawing(), Mutation::stamp_before_closing));
    found("reopened", "a lease used on after its release was sent",
          mutated(drawing(), Mutation::reopened));
    found("same-lease-again", "the same lease given again to its holder",
          mutated(drawing(), Mutation::same_lease_again));

    found("early-grant", "a lease that begins before the earlier one's end",
          mutated(failover(), Mutation::early_grant));
    found("release-of-any", "a release of a lease that is another's now",
          mutated(failover(), Mutation::release_of_any));
    found("commit-not-durable", "a commit that a crash of the coordinator undoes",
          mutated(failover(), Mutation::commit_not_durable));
    found("no-rest", "the rest after a promotion left out", mutated(failover(), Mutation::no_rest));
    found("short-rest", "a rest of max_ttl only", mutated(failover(), Mutation::short_rest));
    found("renew-while-resting", "renewals while resting without a margin of max_skew",
          mutated(failover(), Mutation::renew_while_resting));
    found("not-fenced", "the old coordinator goes on after the promotion",
          mutated(failover(), Mutation::not_fenced));
    found("claim-of-any", "an end that a holder knows of a node that is another's now",
          mutated(failover(), Mutation::claim_of_any));
    Setup setup = failover();
    setup.any_skew = true;
    found("any-skew", "a new coordinator whose clock is more than max_skew behind", setup);
    return runs;
}

} // namespace

int main(int argc, char** argv)
{
    return check_runs<Model>(all_runs(), argc, argv);
}
