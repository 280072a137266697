// How one state of the leases' model follows another: coordinator and holders.
#pragma once

#include "lease_state.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace leases {

class Moves {
public:
    using State = leases::State;
    using Move = leases::Move;

    explicit Moves(const Setup& setup) : setup_(setup)
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
        state.timeline = 1;
        state.table[0].timeline = 1;
        state.table[0].max_ttl = static_cast<uint8_t>(setup_.max_ttl);
        state.standby = state.table[0];
        state.holder[0].unleased = setup_.unleased;
        return state;
    }

    // The holders may be exchanged: one state stands for both.
    State canonical(State state) const
    {
        if (is(Mutation::none) && !setup_.unleased &&
            memcmp(&state.holder[0], &state.holder[1], sizeof(Holder)) > 0) {
            std::swap(state.holder[0], state.holder[1]);
        }
        return state;
    }

    template <class Emit>
    void next(const State& state, Emit emit) const
    {
        if (state.watched == 0) {
            const int words = (setup_.last_clock + most_ttl) * sequences();
            for (int word = setup_.draws ? 1 : sequences(); word < words;
                 word += setup_.draws ? 1 : sequences()) {
                State after = state;
                after.watched = static_cast<uint8_t>(word);
                emit(after, Move{ev_watch, 0, after.watched, 0, no_request, 0, 0}, nullptr);
            }
            return;
        }
        for (int i = 0; setup_.draws && i < (setup_.unleased ? 1 : holders); i++) {
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
                for (int last = -1; last < setup_.last_clock + most_ttl; last++) {
                    serve(state, {release, static_cast<uint8_t>(lease), last, 0}, 0, emit);
                }
            }
        }
        coordinator_moves(state, emit);
        if (setup_.dumped) {
            dump_moves(state, emit);
        }
    }

protected:
    bool is(Mutation mutation) const { return setup_.mutation == mutation; }

    int sequences() const { return static_cast<int>(max_sequence(shape_)) + 1; }

    int tick_of(int word) const
    {
        return static_cast<int>(word_tick(shape_, static_cast<Word>(word)));
    }

    std::string word_text(int word) const
    {
        return std::to_string(tick_of(word)) + "/" +
               std::to_string(word_sequence(shape_, static_cast<Word>(word)));
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

    static void begin_rest(Table& table, int now)
    {
        table.rests = 1;
        table.rest_from = static_cast<uint8_t>(now);
    }

    int rest_length(const Table& table) const
    {
        return is(Mutation::no_rest)         ? 0
               : is(Mutation::short_rest)    ? table.max_ttl
               : is(Mutation::rest_of_realm) ? table.max_ttl + max_skew
                                             : table.hold;
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
            begin_rest(table, now);
        }
        table.hold = std::max(table.hold, static_cast<uint8_t>(table.max_ttl + max_skew));
        if (now >= table.rest_from + rest_length(table)) {
            table.rests = table.rest_from = 0;
        }
        const bool resting = table.rests;
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
            table.end = static_cast<uint8_t>(now + table.max_ttl);
            return answer(state, holder, acquire, table);
        case renew: {
            const int limit = now + table.max_ttl + (resting ? max_skew : 0);
            const int known = std::min(call.claim, limit);
            const bool claimed = known > table.end;
            const bool granted = theirs || (is(Mutation::claim_of_any) && claimed);
            const int end = claimed ? known : table.end;
            // What the old coordinator knew it may have been max_skew later.
            const bool soon = now + max_skew >= end;
            if (!granted || now >= end || (resting && soon && !is(Mutation::renew_while_resting))) {
                return nullptr;
            }
            const int longest = claimed && soon ? end : now + table.max_ttl;
            table.end = static_cast<uint8_t>(std::max(end, longest));
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

    // The realm's settings, and a dump with them.
    template <class Emit>
    void dump_moves(const State& state, Emit emit) const
    {
        auto move = [&](Event event, int value, auto change) {
            State after = state;
            change(after, after.table[0]);
            emit(after, Move{event, 0, static_cast<uint8_t>(value), 0, no_request, 0, 0}, nullptr);
        };
        const Table& was = state.table[0];
        if (state.restored) {
            return;
        }
        if (was.max_ttl != setup_.next_ttl) {
            move(ev_set_ttl, setup_.next_ttl, [&](State&, Table& table) {
                table.max_ttl = static_cast<uint8_t>(setup_.next_ttl);
            });
        }
        if (was.hold != 0 && state.dump.hold == 0) {
            move(ev_dump, 0, [&](State& after, Table&) {
                after.dump.max_ttl = was.max_ttl;
                after.dump.hold = was.hold;
            });
        }
        for (int now = std::max(was.clock - max_skew, 0);
             state.dump.hold != 0 && now <= setup_.last_clock; now++) {
            move(ev_restore, now, [&](State& after, Table& table) {
                const Table lost = table;
                memset(&table, 0, sizeof table);
                table.timeline = lost.timeline;
                table.clock = static_cast<uint8_t>(now);
                table.max_ttl = state.dump.max_ttl;
                table.hold = state.dump.hold;
                begin_rest(table, now);
                after.least_clock = 0;
                after.restored = 1;
                memset(&after.dump, 0, sizeof after.dump);
            });
        }
    }

    // ---- Holders.

    Limits limits(const Holder& holder, int now) const
    {
        auto first_word = [&](int tick) { return word_of(shape_, 0, static_cast<Tick>(tick), 0); };
        Limits limits{static_cast<Tick>(now), max_ahead, first_word(holder.start),
                      first_word(holder.end) - 1};
        if (holder.unleased || is(Mutation::no_lease_check) || is(Mutation::lease_by_clock)) {
            limits.first = no_word + 1;
            limits.last = highest_word;
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
        const bool keeps =
            is(Mutation::same_lease_again) || (setup_.unleased && !is(Mutation::opened_at_lease));
        if (holder.pending == 0 && !holder.unleased && !keeps &&
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

        if (was.unleased) {
            // lease.cpp, lease_begin_force(): a swap that is under way fails.
            move(ev_force, 0, [&](State&, Holder& holder) -> const char* {
                holder.unleased = holder.pending = 0;
                forget_word(holder);
                return nullptr;
            });
        }

        // The lease.
        if (!was.unleased && !was.waiting && (was.lease == 0 || !was.closed)) {
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
        if ((was.unleased || (was.lease != 0 && !was.closed)) && was.pending == 0) {
            for (int now = 0; now <= setup_.last_clock + most_ttl; now++) {
                if (is(Mutation::lease_by_clock) && (now < was.start || now >= was.end)) {
                    continue;
                }
                const Draw draw = step(Word{was.word}, shape_, limits(was, now), {1, false});
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

} // namespace leases
