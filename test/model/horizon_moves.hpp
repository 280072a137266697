// How one state of the horizon's model follows another. Sessions follow
// src/generator/generator.cpp, src/generator/draw.cpp, src/durable/horizon.cpp and
// src/durable/durable.cpp move by move.
#pragma once

#include "horizon_rules.hpp"

#include <utility>

namespace horizon {

class Moves : protected Rules {
public:
    using State = horizon::State;
    using Move = horizon::Move;

    explicit Moves(const Setup& setup) : Rules(setup)
    {
        const SessionSetup& a = setup.sessions[0];
        const SessionSetup& b = setup.sessions[1];
        symmetric_ = !setup.exact && setup.session_count == 2 && a.database == b.database &&
                     a.layout == b.layout && a.want.count == b.want.count &&
                     a.want.in_one_tick == b.want.in_one_tick && a.program == b.program;
    }

    State first() const
    {
        State state;
        memset(&state, 0, sizeof state);
        state.timeline = state.place = 1;
        state.clock = setup_.promotions > 0 ? 1 : 0;
        for (Page& page : state.page) {
            page.stamp[plain_horizon] = static_cast<uint8_t>(units_of(setup_.begun));
            page.stamp[back_horizon] = static_cast<uint8_t>(setup_.begun);
            page.timeline = page.place = 1;
        }
        memcpy(state.flushed, state.page, sizeof state.page);
        memcpy(state.lagging, state.page, sizeof state.page);
        return state;
    }

    // Two sessions that run the same program may be exchanged: one state stands for both.
    State canonical(State state) const
    {
        if (symmetric_ && memcmp(&state.session[0], &state.session[1], sizeof(Session)) > 0) {
            std::swap(state.session[0], state.session[1]);
        }
        return state;
    }

    template <class Emit>
    void next(const State& state, Emit emit) const
    {
        for (int i = 0; i < setup_.session_count; i++) {
            session_moves(state, i, emit);
        }
        if (state.crashes < setup_.crashes) {
            for (int survived = 0; survived <= state.record_count; survived++) {
                State after = state;
                flush(after, survived);
                forget(after);
                after.crashes++;
                emit(after, Move{ev_crash, 0, static_cast<uint8_t>(survived), false}, nullptr);
            }
        }
        if (setup_.promotions > 0) {
            promotion_moves(state, emit);
        } else if (any_extended(state)) {
            State after = state;
            second_passes(after);
            emit(after, Move{ev_second, 0, 0, false}, nullptr);
        }
    }

private:
    // ---- Time, promotion, copies.

    static bool any_extended(const State& state)
    {
        for (const Entry& entry : state.entry) {
            if (entry.extended[plain_horizon] || entry.extended[back_horizon]) {
                return true;
            }
        }
        return false;
    }

    // All that was flushed has reached the standby by then.
    void second_passes(State& state) const
    {
        for (Entry& entry : state.entry) {
            memset(entry.extended, 0, sizeof entry.extended);
        }
        if (setup_.promotions > 0 && !setup_.copy) {
            memcpy(state.lagging, state.flushed, sizeof state.lagging);
        }
    }

    // Another server goes on with these pages.
    State moved(const State& state, const Page* pages) const
    {
        State after = state;
        memcpy(after.flushed, pages, sizeof after.flushed);
        forget(after);
        memcpy(after.lagging, after.flushed, sizeof after.lagging);
        after.promotions++;
        (setup_.copy ? after.place : after.timeline)++;
        return after;
    }

    template <class Emit>
    void promotion_moves(const State& state, Emit emit) const
    {
        if (state.clock + units_per_s <= setup_.last_clock) {
            State after = state;
            after.clock = static_cast<uint8_t>(after.clock + units_per_s);
            second_passes(after);
            emit(after, Move{ev_second, 0, 0, false}, nullptr);
        }
        if (state.clock < setup_.last_clock) {
            State after = state;
            after.clock++;
            emit(after, Move{ev_half_second, 0, 0, false}, nullptr);
        }
        if (state.promotions == setup_.promotions) {
            return;
        }
        const bool lags = memcmp(state.lagging, state.flushed, sizeof state.lagging) != 0;
        emit(moved(state, state.flushed), Move{ev_promote, 0, 0, false}, nullptr);
        if (lags) {
            emit(moved(state, state.lagging), Move{ev_promote, 0, 0, true}, nullptr);
        }
        if (lags && setup_.copy) {
            State after = state;
            memcpy(after.lagging, after.flushed, sizeof after.lagging);
            emit(after, Move{ev_copy, 0, 0, false}, nullptr);
        }
        if (is(Mutation::load_during_recovery)) {
            // It had cached an earlier state of the pages when the last records were replayed.
            State cached = moved(state, state.flushed);
            for (int database = 0; database < max_databases; database++) {
                for (int k = 0; k < horizon_kinds; k++) {
                    cached.entry[database].floor[k] = cached.entry[database].bound[k] =
                        static_cast<uint8_t>(state.lagging[database].stamp[k] + 1);
                }
            }
            emit(cached, Move{ev_recovery_load, 0, 0, false}, nullptr);
        }
    }

    // ---- Sessions.

    // Where a draw begins, or begins again.
    At at_draw() const
    {
        // Where the clock may say anything at any time, it does not matter when it is read.
        return setup_.promotions > 0 ? at_clock : at_bound;
    }

    // Only these move the floor after a start; otherwise what a session keeps of it makes no
    // difference, and is dropped.
    bool keeps_limits() const { return setup_.replacements > 0 || raises(max_sessions - 1); }

    // Drops what is not needed any more, so that states that mean the same are the same.
    void finish(Session& session, At at) const
    {
        Session kept;
        memset(&kept, 0, sizeof kept);
        kept.at = at;
        if (keeps_limits()) {
            kept.bound = session.bound;
            kept.floor = session.floor;
        }
        if (at == at_return) {
            kept.next = session.next;
            kept.count = session.count;
        }
        if (at != at_idle) {
            kept.after_raise = session.after_raise;
        }
        session = kept;
    }

    // Publishes what is left to be, or goes on. Skips what would change nothing now, and so never
    // will.
    void publish(State& state, int i) const
    {
        Session& session = state.session[i];
        const Entry& entry = state.entry[database(i)];
        session.at = at_publish;
        while (session.step < 2 * horizon_kinds) {
            const int k = session.step / 2;
            if (session.step % 2 == 0 ? entry.floor[k] < session.new_floor[k]
                                      : entry.bound[k] < session.new_bound[k]) {
                return;
            }
            session.step++;
        }
        if (is(Mutation::publish_before_flush) && session.lsn > 0) {
            session.at = at_flush;
            session.step = 0;
            memset(session.new_floor, 0, sizeof session.new_floor);
            memset(session.new_bound, 0, sizeof session.new_bound);
            return;
        }
        published_all(state, i);
    }

    // The relation is unlocked.
    void published_all(State& state, int i) const
    {
        Session& session = state.session[i];
        if (!session.refused) {
            state.entry[database(i)].file =
                replaces(state, i) ? state.fresh.file : state.page[database(i)].file;
        }
        if (program(i) == Program::replaces_and_raises) {
            finish(session, at_commit);
        } else if (program(i) == Program::restores && session.row + 1 < horizon_kinds &&
                   !is(Mutation::first_row_only)) {
            const auto row = static_cast<uint8_t>(session.row + 1);
            finish(session, at_change);
            session.row = row;
        } else if (raises(i)) {
            finish(session, at_end);
            state.raised = 1;
        } else if (session.refused) {
            roll_back(state, i);
        } else {
            finish(session, session.drawn ? (setup_.exact ? at_return : at_idle) : at_draw());
        }
    }

    // The page is unlocked.
    void changed(State& state, int i) const
    {
        Session& session = state.session[i];
        session.wanted = 0;
        if (session.lsn > 0 && !is(Mutation::publish_before_flush)) {
            session.at = at_flush;
        } else {
            publish(state, i);
        }
    }

    // ---- A transaction that replaces the file.

    bool may_replace(const State& state, int i) const
    {
        if (program(i) < Program::replaces || state.replacer != 0 ||
            state.page[database(i)].file == setup_.replacements ||
            state.entry[database(i)].bound[back_horizon] == 0) {
            return false;
        }
        for (int other = 0; other < setup_.session_count; other++) {
            if (database(other) == database(i) && holds_relation(state.session[other])) {
                return false;
            }
        }
        return true;
    }

    // horizon.cpp, flakeid_state_now(). What copies the row as it is finds at least that.
    void replace(State& state, int i) const
    {
        state.replacer = static_cast<uint8_t>(i + 1);
        state.fresh = state.page[database(i)];
        state.fresh.file++;
        for (int k = 0; k < horizon_kinds; k++) {
            const Entry& entry = state.entry[database(i)];
            const Stamp known = std::max(published(entry.bound[k]), published(entry.floor[k]));
            state.fresh.stamp[k] = small_of(known);
        }
    }

    static void end_replacement(State& state)
    {
        state.replacer = 0;
        memset(&state.fresh, 0, sizeof state.fresh);
    }

    void roll_back(State& state, int i) const
    {
        end_replacement(state);
        finish(state.session[i], at_idle);
    }

    // Its record may be flushed later than what it says is seen.
    void commit(State& state, int i, bool flushed) const
    {
        write(state, database(i), state.fresh);
        state.page_lsn[database(i)] = 0;
        if (flushed) {
            flush(state, state.record_count);
        }
        end_replacement(state);
        const bool raised = raises(i);
        finish(state.session[i], raised ? at_end : at_idle);
        state.raised |= raised;
    }

    template <class Emit>
    void transaction_moves(const State& state, int i, Emit emit) const
    {
        auto move = [&](Event event, bool flushed, auto change) {
            State after = state;
            change(after);
            emit(after, Move{event, static_cast<uint8_t>(i), 0, flushed}, nullptr);
        };
        if (may_replace(state, i)) {
            move(ev_replace, false, [&](State& after) { replace(after, i); });
        }
        if (replaces(state, i)) {
            move(ev_roll_back, false, [&](State& after) { roll_back(after, i); });
            move(ev_commit, true, [&](State& after) { commit(after, i, true); });
            if (!raises(i)) {
                move(ev_commit, false, [&](State& after) { commit(after, i, false); });
            }
        }
    }

    template <class Emit>
    void session_moves(const State& state, int i, Emit emit) const
    {
        const Session& was = state.session[i];
        State after = state;
        Session& session = after.session[i];
        Entry& entry = after.entry[database(i)];
        Move move{ev_session, static_cast<uint8_t>(i), 0, false};
        auto done = [&](const char* broken = nullptr) { emit(after, move, broken); };
        auto read_bound = [&] {
            session.at = entry.bound[kind(i)] != was.bound ? at_floor : at_word;
            session.bound = entry.bound[kind(i)];
        };

        switch (was.at) {
        case at_idle: {
            const bool loads = entry.bound[back_horizon] == 0 && !is(Mutation::no_load);
            if (!loads && (program(i) == Program::replaces ||
                           (program(i) == Program::replaces_and_raises && !replaces(state, i)))) {
                transaction_moves(state, i, emit);
            }
            session.after_raise = state.raised && !raises(i);
            if (loads) {
                session.at = at_load;
            } else if (program(i) == Program::replaces_and_raises && !replaces(state, i)) {
                return;
            } else if (raises(i)) {
                session.at = at_change;
            } else if (setup_.promotions > 0) {
                session.at = at_clock;
            } else {
                read_bound();
            }
            return done();
        }
        case at_load:
            if (shut_out(state, i)) {
                return;
            }
            for (int k = 0; k < horizon_kinds; k++) {
                session.new_floor[k] = loaded_floor(state, state.page[database(i)], k);
            }
            session.lsn =
                is(Mutation::trust_unflushed_page) ? uint8_t{0} : state.page_lsn[database(i)];
            session.at = session.lsn > 0 ? at_load_flush : at_load_floor;
            return done();
        case at_load_flush:
            flush(after, was.lsn);
            session.at = at_load_floor;
            return done();
        case at_load_floor:
        case at_load_bound: {
            const bool floor_now = (was.at == at_load_floor) == !is(Mutation::bound_before_floor);
            entry.file = state.page[database(i)].file;
            if (floor_now && entry.floor[was.step] == 0) {
                entry.floor[was.step] = was.new_floor[was.step];
            } else if (!floor_now && entry.bound[was.step] == 0) {
                entry.bound[was.step] = is(Mutation::bound_before_floor) ? was.new_floor[was.step]
                                                                         : entry.floor[was.step];
            }
            if (was.at == at_load_floor) {
                session.at = at_load_bound;
            } else if (++session.step == horizon_kinds) {
                finish(session, raises(i) || program(i) == Program::replaces ? at_idle : at_draw());
            } else {
                session.at = at_load_floor;
            }
            return done();
        }
        case at_clock:
            session.at = at_bound;
            session.now = static_cast<uint8_t>(clock_of(state));
            return done();
        case at_bound:
            read_bound();
            return done();
        case at_floor:
            session.at = at_word;
            session.floor = entry.floor[kind(i)];
            return done();
        case at_word:
            if (setup_.promotions > 0) {
                return take_step(after, i, done);
            }
            for (int now = 1; now <= setup_.last_clock; now++) {
                after = state;
                session.now = move.value = static_cast<uint8_t>(now);
                take_step(after, i, done);
            }
            return;
        case at_swap:
            if (state.word[word_slot(i)] != was.word) {
                finish(session, at_draw());
                return done();
            }
            after.word[word_slot(i)] = static_cast<uint8_t>(was.next + was.count - 1);
            {
                const char* broken = check_swap(state, after, i);
                if (broken == nullptr && !setup_.exact) {
                    broken = note(after, i, was.next, was.count);
                }
                // draw.cpp, extend_early(). Not always: at most every quarter of a second.
                if (was.wanted > 0) {
                    session.at = at_change;
                    session.drawn = 1;
                    session.word = 0;
                    if (!setup_.exact) {
                        session.next = session.count = 0;
                    }
                    done(broken);
                    session = was;
                }
                finish(session, setup_.exact ? at_return : at_idle);
                return done(broken);
            }
        case at_change:
            if (shut_out(state, i)) {
                return;
            }
            if (is(Mutation::page_not_locked)) {
                State written = state;
                change(written, i);
                memcpy(session.new_bound, written.session[i].new_bound, sizeof session.new_bound);
                session.at = at_write;
                return done();
            }
            change(after, i);
            changed(after, i);
            return done();
        case at_write: {
            Page page = state.page[database(i)];
            for (int k = 0; k < horizon_kinds; k++) {
                page.stamp[k] = static_cast<uint8_t>(was.new_bound[k] - 1);
            }
            write(after, database(i), page);
            session.lsn = after.page_lsn[database(i)];
            changed(after, i);
            return done();
        }
        case at_flush:
            flush(after, was.lsn);
            if (is(Mutation::publish_before_flush)) {
                published_all(after, i);
            } else {
                publish(after, i);
            }
            return done();
        case at_publish: {
            const int k = was.step / 2;
            if (was.step % 2 == 0) {
                entry.floor[k] = std::max(entry.floor[k], was.new_floor[k]);
            } else {
                entry.bound[k] = std::max(entry.bound[k], was.new_bound[k]);
                entry.extended[k] |= !is(Mutation::no_limit) && !is(Mutation::limit_from_write);
            }
            session.step++;
            publish(after, i);
            return done();
        }
        case at_return: {
            const char* broken = note(after, i, was.next, was.count);
            finish(session, at_idle);
            return done(broken);
        }
        case at_commit:
            return transaction_moves(state, i, emit);
        case at_end:
            return;
        }
    }

    template <class Done>
    void take_step(State& state, int i, Done done) const
    {
        Session& session = state.session[i];
        const Limits bounds = limits(session, i);
        const Word last{state.word[word_slot(i)]};
        const Draw draw = step(last, shape_[slot(i)], bounds, setup_.sessions[i].want);
        const Word early_limit = early_word(session, i);
        const char* broken = nullptr;
        if (!common_case_agrees(bounds, early_limit, draw, last, i)) {
            broken = "the common case does not do what the step does";
        }
        const bool taken = draw.verdict == Verdict::issue || draw.verdict == Verdict::extend;
        const uint8_t wanted =
            !taken ? uint8_t{0}
                   : small_of(wanted_stamp(stamp_of_word(i, draw.word), session.now * unit_us,
                                           setup_.max_ahead * unit_us));
        switch (draw.verdict) {
        case Verdict::issue: {
            const bool early = !is(Mutation::no_bound) && draw.word > early_limit;
            finish(session, at_swap);
            session.word = static_cast<uint8_t>(last);
            session.next = static_cast<uint8_t>(draw.word);
            session.count = static_cast<uint8_t>(draw.count);
            session.wanted = early ? wanted : uint8_t{0};
            if (word_tick(shape_[slot(i)], draw.word + draw.count - 1) >
                bounds.now + bounds.ahead) {
                broken = "an id lies more than max_ahead past the clock";
            }
            break;
        }
        case Verdict::extend:
            finish(session, at_change);
            session.wanted = wanted;
            break;
        case Verdict::wait:
        case Verdict::exhausted:
            finish(session, at_idle);
            break;
        }
        done(broken);
    }

    bool symmetric_;
};

} // namespace horizon
