// The moves of the horizon's model in words.
#pragma once

#include "horizon_moves.hpp"

#include <string>

namespace horizon {

class Model : public Moves {
public:
    using Moves::Moves;

    void print(const State& before, const Move& move, const State& after, FILE* out) const
    {
        switch (move.event) {
        case ev_session:
            print_session(before, move, after, out);
            return;
        case ev_crash:
            fprintf(out, "crash: shared memory is lost, %d of %d unflushed records survive; ",
                    move.value, before.record_count);
            print_pages(after, out);
            return;
        case ev_promote:
            fprintf(out, "the server dies, and a %s that %s %s; ",
                    setup_.copy ? "copy of its files" : "standby",
                    !move.extra   ? "has everything"
                    : setup_.copy ? "was taken earlier"
                                  : "lags by less than a second",
                    setup_.copy ? "is started" : "is promoted");
            print_pages(after, out);
            return;
        case ev_copy:
            fprintf(out, "the files are copied\n");
            return;
        case ev_half_second:
        case ev_second:
            fprintf(out, "%s",
                    move.event == ev_second ? "a second passes" : "half a second passes");
            if (setup_.promotions > 0) {
                fprintf(out, ": the clock says %s", time_text(clock_of(after)).c_str());
            }
            fprintf(out, "\n");
            return;
        case ev_recovery_load:
            fprintf(out,
                    "the server dies, and a standby that has everything is promoted; a session had "
                    "cached an earlier bound during recovery\n");
            return;
        case ev_replace:
            print_name(move.session, out);
            fprintf(out, "drops and creates the extension in a transaction: bound %s\n",
                    stamp_text(after.fresh.stamp[kind(move.session)]).c_str());
            return;
        case ev_commit:
            print_name(move.session, out);
            fprintf(out, "commits%s\n", move.extra ? "" : ", not flushed yet");
            return;
        case ev_roll_back:
            print_name(move.session, out);
            fprintf(out, "rolls back\n");
            return;
        }
    }

private:
    void print_name(int i, FILE* out) const
    {
        fprintf(out, "%c%s: ", 'A' + i,
                database(0) == database(1) ? ""
                : database(i) == 0         ? " in database 1"
                                           : " in database 2");
    }

    void print_session(const State& before, const Move& move, const State& after, FILE* out) const
    {
        const int i = move.session;
        const Session& was = before.session[i];
        const Session& is = after.session[i];
        print_name(i, out);
        switch (was.at) {
        case at_idle:
            if (is.at == at_load) {
                fprintf(out, "finds the horizon not loaded\n");
            } else if (is.at == at_floor || is.at == at_word) {
                fprintf(out, "begins, and reads the bound: %s\n", entry_text(is.bound).c_str());
            } else {
                fprintf(out, "begins\n");
            }
            break;
        case at_load:
            fprintf(out, "reads the page: bound %s%s\n",
                    stamp_text(before.page[database(i)].stamp[kind(i)]).c_str(),
                    is.at == at_load_flush ? ", not flushed yet" : "");
            break;
        case at_load_flush:
            fprintf(out, "flushes it\n");
            break;
        case at_load_floor:
        case at_load_bound:
            fprintf(out, "publishes the %s%s: %s\n",
                    (was.at == at_load_floor) == (setup_.mutation != Mutation::bound_before_floor)
                        ? "floor"
                        : "bound",
                    was.step == kind(i) ? "" : " of the other kind of layouts",
                    entry_text(was.new_floor[was.step]).c_str());
            break;
        case at_clock:
            fprintf(out, "reads the clock: %s\n", time_text(is.now).c_str());
            break;
        case at_bound:
            fprintf(out, "reads the bound: %s\n", entry_text(is.bound).c_str());
            break;
        case at_floor:
            fprintf(out, "reads the floor: %s\n", entry_text(is.floor).c_str());
            break;
        case at_word:
            fprintf(out, "reads the word: %s", word_text(i, before.word[word_slot(i)]).c_str());
            if (setup_.promotions == 0) {
                fprintf(out, ", the clock says %s", time_text(move.value).c_str());
            }
            fprintf(out, "; ");
            if (is.at == at_swap) {
                fprintf(out, "may issue %s\n", word_text(i, is.next).c_str());
            } else if (is.at == at_change) {
                fprintf(out, "must extend the horizon to %s\n", stamp_text(is.wanted).c_str());
            } else {
                fprintf(out, "has to wait\n");
            }
            break;
        case at_swap:
            if (before.word[word_slot(i)] != was.word) {
                fprintf(out, "fails to swap the word in: it has changed\n");
            } else {
                fprintf(out, "swaps it in: %s%s\n", word_text(i, was.next).c_str(),
                        is.at == at_change ? ", and extends the horizon early" : "");
            }
            break;
        case at_change:
        case at_write:
            print_change(before, i, after, out);
            break;
        case at_flush:
            fprintf(out, "flushes the WAL\n");
            break;
        case at_publish:
            fprintf(out, "publishes the %s%s %s\n", was.step % 2 == 0 ? "floor" : "bound",
                    was.step / 2 == kind(i) ? "" : " of the other kind of layouts",
                    entry_text(was.step % 2 == 0 ? was.new_floor[was.step / 2]
                                                 : was.new_bound[was.step / 2])
                        .c_str());
            break;
        case at_return:
            fprintf(out, "returns %s to its client\n", word_text(i, was.next).c_str());
            break;
        default:
            fprintf(out, "?\n");
        }
    }

    void print_change(const State& before, int i, const State& after, FILE* out) const
    {
        const Page& was = replaces(before, i) ? before.fresh : before.page[database(i)];
        const Page& is = replaces(after, i) ? after.fresh : after.page[database(i)];
        if (after.session[i].at == at_write) {
            fprintf(out, "reads the page\n");
        } else if (replaces(before, i) && !replaces(after, i)) {
            fprintf(out, "is refused in the transaction that replaces the state: rolled back\n");
        } else if (memcmp(&was, &is, sizeof is) == 0) {
            fprintf(out, "leaves the page as it is: %s\n", stamp_text(is.stamp[kind(i)]).c_str());
        } else {
            fprintf(out, "writes the page%s and a WAL record: %s, timeline %d\n",
                    replaces(after, i) ? " of its new file" : "",
                    stamp_text(is.stamp[kind(i)]).c_str(), is.timeline);
        }
    }

    static std::string time_text(int units)
    {
        char text[16];
        snprintf(text, sizeof text, "%.1fs", static_cast<double>(units) / units_per_s);
        return text;
    }

    static std::string stamp_text(int stamp)
    {
        std::string text = time_text(units_of(stamp));
        if (back_of(stamp) > 0) {
            text += " back " + std::to_string(back_of(stamp));
        }
        return text;
    }

    static std::string entry_text(int value) { return value == 0 ? "none" : stamp_text(value - 1); }

    std::string word_text(int i, uint64_t number) const
    {
        const Word word{number};
        const std::string text = "id " + stamp_text(small_of(stamp_of_word(i, word))) + "/" +
                                 std::to_string(word_sequence(shape_[slot(i)], word));
        return word == no_word ? "none" : text;
    }

    void print_pages(const State& state, FILE* out) const
    {
        fprintf(out, "durable bound");
        for (int i = 0; i < setup_.session_count; i++) {
            if (i > 0 && database(i) == database(0) && kind(i) == kind(0)) {
                break;
            }
            fprintf(out, " %s", stamp_text(state.flushed[database(i)].stamp[kind(i)]).c_str());
            if (database(0) != database(1)) {
                fprintf(out, " (database %d)", database(i) + 1);
            }
        }
        fprintf(out, "\n");
    }
};

} // namespace horizon
