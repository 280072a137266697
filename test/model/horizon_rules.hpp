// What sessions compute and what the WAL does, after src/generator/generator.cpp,
// src/generator/draw.cpp, src/durable/horizon.cpp and src/durable/durable.cpp. The arithmetic is
// src/core/stamp.cpp, except where it is done wrong on purpose.
#pragma once

#include "horizon_state.hpp"

#include <algorithm>
#include <cstring>

namespace horizon {

class Rules {
protected:
    explicit Rules(const Setup& setup) : setup_(setup)
    {
        for (int i = 0; i < max_slots; i++) {
            if (setup.layouts[i] == nullptr) {
                continue;
            }
            const LayoutError error =
                parse_layout(setup.layouts[i], strlen(setup.layouts[i]), &layout_[i]);
            if (error.status != LayoutStatus::ok) {
                fprintf(stderr, "bad layout: %s\n", setup.layouts[i]);
                exit(2);
            }
            shape_[i] = word_shape(layout_[i]);
        }
    }

    bool is(Mutation mutation) const { return setup_.is(mutation); }

    int slot(int i) const { return setup_.sessions[i].layout; }

    int database(int i) const { return setup_.sessions[i].database; }

    Program program(int i) const { return setup_.sessions[i].program; }

    // The place of the session's word: its slot, unless each session has its own by mistake.
    int word_slot(int i) const { return is(Mutation::two_words) ? i : slot(i); }

    HorizonKind kind(int i) const
    {
        return shape_[slot(i)].has_back ? back_horizon : plain_horizon;
    }

    // ---- A draw.

    // The last word of the tick that holds a moment.
    Word last_word(int i, Stamp stamp, int64_t us) const
    {
        const int64_t tick = std::max<int64_t>(tick_of_us(layout_[slot(i)], us), 0);
        return last_of_tick(shape_[slot(i)], stamp_back(stamp), static_cast<Tick>(tick));
    }

    // generator.cpp, set_limits() and set_clock().
    Limits limits(const Session& session, int i) const
    {
        const Stamp floor = published(session.floor);
        const Stamp bound = published(session.bound);
        Limits limits{};
        limits.now = static_cast<Tick>(tick_of_us(layout_[slot(i)], session.now * unit_us));
        limits.ahead = static_cast<uint64_t>(setup_.max_ahead * unit_us / layout_[slot(i)].tick_us);
        limits.first = last_word(i, floor, stamp_us(floor)) + 1;
        if (is(Mutation::first_tick_not_rounded_up)) {
            limits.first = limits.first - (max_sequence(shape_[slot(i)]) + 1);
        }
        limits.last = is(Mutation::no_bound) ? highest_word : last_word(i, bound, stamp_us(bound));
        return limits;
    }

    // Past this word, the horizon is to be extended early.
    Word early_word(const Session& session, int i) const
    {
        const Stamp bound = published(session.bound);
        return last_word(i, bound, stamp_us(bound) - early_extension_us);
    }

    // The common case of a draw must do what the step does.
    bool common_case_agrees(Limits limits, Word early, const Draw& draw, Word last, int i) const
    {
        limits.last = std::min(limits.last, early);
        const bool common = setup_.sessions[i].want.count == 1 &&
                            in_stretch(stretch_of(shape_[slot(i)], limits), last);
        return !common || (draw.verdict == Verdict::issue && draw.word == last + 1);
    }

    Stamp stamp_of_word(int i, Word word) const
    {
        const WordShape& shape = shape_[slot(i)];
        int64_t us = 0;
        tick_start_us(layout_[slot(i)], word_tick(shape, word), &us);
        return stamp_of(word_back(shape, word), us);
    }

    // ---- A start.

    // horizon.cpp, load(). As in Entry.
    uint8_t loaded_floor(const State& state, const Page& page, int kind) const
    {
        const Origin wrote{page.timeline, page.place};
        const Origin here{state.timeline, is(Mutation::copy_unseen) ? page.place : state.place};
        const Stamp kept = real(page.stamp[kind]);
        const int64_t now_us = clock_of(state) * unit_us;
        const int64_t reach_us = setup_.max_ahead * unit_us;
        const bool moved = !same_origin(wrote, here);
        auto floor = [&](int64_t past_stamp_us, int64_t at_least_us) {
            return std::max(kept, stamp_of(stamp_back(kept),
                                           std::max(stamp_us(kept) + past_stamp_us, at_least_us)));
        };
        if (moved && is(Mutation::no_margin)) {
            return to_publish(floor(0, now_us + reach_us));
        }
        if (moved && is(Mutation::margin_without_tick)) {
            return to_publish(floor(extension_us, now_us + reach_us));
        }
        if (moved && is(Mutation::no_margin_at_first) && kept == no_stamp) {
            return to_publish(least_stamp);
        }
        if (is(Mutation::no_clock_margin)) {
            return to_publish(begins(kept, kind, moved ? 1 : 0));
        }
        return to_publish(begins(kept, kind, moved ? now_us + reach_us : 0));
    }

    static Stamp begins(Stamp kept, int kind, int64_t apart_us)
    {
        Stamped stamped{};
        take_stamp(&stamped, kind, kept);
        return floors_at_start(stamped, apart_us).stamp[kind];
    }

    int clock_of(const State& state) const
    {
        return state.promotions > 0 ? std::max(state.clock - setup_.skew, 0) : state.clock;
    }

    // ---- The page.

    // True when the session has the relation of the state locked from an earlier move on.
    bool holds_relation(const Session& session) const
    {
        return session.at == at_load_flush || session.at == at_load_floor ||
               session.at == at_load_bound || session.at == at_write ||
               (session.at >= at_flush && session.at <= at_publish &&
                !is(Mutation::relation_released_early));
    }

    bool replaces(const State& state, int i) const { return state.replacer == i + 1; }

    // Another session's transaction has the relation for itself.
    bool shut_out(const State& state, int i) const
    {
        return state.replacer != 0 && !replaces(state, i) &&
               database(state.replacer - 1) == database(i);
    }

    bool raises(int i) const
    {
        return program(i) == Program::raises || program(i) == Program::restores ||
               program(i) == Program::replaces_and_raises;
    }

    // What a session raises the horizon to.
    Stamp raised_floor(const Session& session, int i, int kind, Stamp latest) const
    {
        if (program(i) != Program::restores) {
            return stamp_of(stamp_back(latest), setup_.raise * unit_us);
        }
        return session.row == kind ? real(setup_.restored[kind]) : no_stamp;
    }

    // horizon.cpp, change() up to the unlocking of the page.
    void change(State& state, int i) const
    {
        Session& session = state.session[i];
        Entry& entry = state.entry[database(i)];
        const bool in_fresh = replaces(state, i);
        const Page before = in_fresh ? state.fresh : state.page[database(i)];
        const bool other_file = entry.file != before.file;
        Page page = before;
        for (int k = 0; k < horizon_kinds; k++) {
            const Stamp bound = published(entry.bound[k]);
            const Stamp known = std::max(bound, published(entry.floor[k]));
            const Stamp kept = real(before.stamp[k]);
            Stamp floor = other_file && kept > known ? kept : no_stamp;
            Stamp stamp = kept;
            if (raises(i)) {
                floor = std::max(floor, raised_floor(session, i, k, std::max(kept, bound)));
            } else if (k == kind(i)) {
                const bool lately = entry.extended[k] != 0 && !is(Mutation::no_limit);
                const Stamp wanted = real(session.wanted);
                stamp = extension(kept, bound, wanted, wanted, lately ? 0 : -1).stamp;
                if (stamp > kept && is(Mutation::limit_from_write)) {
                    entry.extended[k] = 1;
                }
            }
            stamp = std::max(stamp, known);
            session.new_floor[k] = 0;
            if (is(Mutation::known_floor) ? floor > published(entry.floor[k]) : floor != no_stamp) {
                stamp = is(Mutation::floor_unseen) ? std::max(stamp, floor)
                                                   : raised_stamp(stamp, known, floor);
                uint8_t& to = is(Mutation::floor_last) ? session.new_floor[k] : entry.floor[k];
                to = std::max(to, to_publish(floor));
            }
            page.stamp[k] = small_of(stamp);
            session.new_bound[k] = to_publish(stamp);
        }
        page.timeline = state.timeline;
        page.place = state.place;
        session.refused =
            in_fresh && entry.file != before.file && !is(Mutation::publish_while_replacing);
        session.lsn = in_fresh ? 0 : state.page_lsn[database(i)];
        const bool changed = memcmp(&page, &before, sizeof page) != 0;
        if (changed && in_fresh) {
            state.fresh = page;
        } else if (changed) {
            write(state, database(i), page);
            session.lsn = state.page_lsn[database(i)];
        }
        if (is(Mutation::no_flush) || (is(Mutation::trust_unflushed_page) && !changed)) {
            session.lsn = 0;
        }
        if (session.refused) {
            memset(session.new_bound, 0, sizeof session.new_bound);
        }
        if (session.refused && raises(i) && !is(Mutation::bounds_stay)) {
            withdraw_bounds(entry);
        }
    }

    // Until that transaction ends nobody draws, and then everybody looks at the floor.
    static void withdraw_bounds(Entry& entry)
    {
        for (int k = 0; k < horizon_kinds; k++) {
            entry.floor[k] = std::max(entry.floor[k], entry.bound[k]);
            entry.bound[k] = to_publish(least_stamp);
        }
    }

    // ---- WAL.

    static void write(State& state, int database, const Page& page)
    {
        if (state.record_count == max_records) {
            flush(state, 1); // as the WAL writer does now and then
        }
        state.page[database] = page;
        state.record[state.record_count].database = static_cast<uint8_t>(database);
        state.record[state.record_count].page = page;
        state.record_count++;
        state.page_lsn[database] = state.record_count;
    }

    static void flush(State& state, int lsn)
    {
        auto shift = [&](uint8_t& at) { at = static_cast<uint8_t>(std::max(at - lsn, 0)); };
        for (int i = 0; i < lsn; i++) {
            state.flushed[state.record[i].database] = state.record[i].page;
        }
        for (int i = 0; i < max_records; i++) {
            if (i + lsn < state.record_count) {
                state.record[i] = state.record[i + lsn];
            } else {
                memset(&state.record[i], 0, sizeof state.record[i]);
            }
        }
        shift(state.record_count);
        for (uint8_t& at : state.page_lsn) {
            shift(at);
        }
        for (Session& session : state.session) {
            shift(session.lsn);
        }
    }

    // What a start finds: the flushed pages and nothing in memory.
    static void forget(State& state)
    {
        memset(state.word, 0, sizeof state.word);
        memset(state.entry, 0, sizeof state.entry);
        memset(state.session, 0, sizeof state.session);
        memset(state.record, 0, sizeof state.record);
        memset(state.page_lsn, 0, sizeof state.page_lsn);
        memset(&state.fresh, 0, sizeof state.fresh);
        state.record_count = state.replacer = 0;
        memcpy(state.page, state.flushed, sizeof state.page);
    }

    // ---- What was issued.

    // Sessions of one database that draw the same ids share what is noted.
    int noted(int i) const
    {
        return i > 0 && database(i) == database(0) && slot(i) == slot(0) ? 0 : i;
    }

    // Notes the ids [word, word + count); returns the rule that they break.
    const char* note(State& state, int i, int word, int count) const
    {
        uint8_t* issued = state.issued[noted(i)];
        if (!setup_.exact) {
            const bool higher = word > issued[0];
            issued[0] = static_cast<uint8_t>(word + count - 1);
            return higher ? nullptr : "an id does not lie above all earlier ones of its database";
        }
        for (int id = word; id < word + count; id++) {
            uint8_t& byte = issued[id / 8];
            const auto bit = static_cast<uint8_t>(1 << id % 8);
            if (byte & bit) {
                return "an id is returned twice";
            }
            byte |= bit;
        }
        return nullptr;
    }

    // What a draw that began after a raise lies past.
    Stamp raised_to(int i, Stamp stamp) const
    {
        return program(max_sessions - 1) == Program::restores
                   ? real(setup_.restored[kind(i)])
                   : stamp_of(stamp_back(stamp), setup_.raise * unit_us);
    }

    const char* check_swap(const State& before, const State& after, int i) const
    {
        const Session& session = before.session[i];
        const Stamp first = stamp_of_word(i, Word{session.next});
        const Stamp last = stamp_of_word(i, Word{session.next} + session.count - 1);
        if (after.word[slot(i)] <= before.word[slot(i)] && !setup_.exact) {
            return "ids of the server do not increase";
        }
        if (!setup_.exact && last > real(after.flushed[database(i)].stamp[kind(i)])) {
            return "an id lies past the durable horizon";
        }
        if (session.after_raise && first <= raised_to(i, first)) {
            return "an id lies below the moment that the horizon was raised to";
        }
        return nullptr;
    }

    const Setup setup_;
    Layout layout_[max_slots];
    WordShape shape_[max_slots];
};

} // namespace horizon
