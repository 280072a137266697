// Two layouts that can make the same id, on one server: every interleaving of a session of each,
// with a clock that says anything at any reading. The step and the comparison of layouts are
// src/core/step.cpp and src/core/overlap.cpp themselves; slots follow src/slots/slots.cpp.
//
//     overlap_model                every run; a line each
//     overlap_model NAME...        these runs, and the way to what they find
//
// One raw id is watched, every one in turn: it must not be issued twice.
#include "search.hpp"

#include "../../src/core/overlap.hpp"
#include "../../src/core/step.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

using namespace flakeid;

constexpr int sessions = 2;
constexpr int last_clock = 3;
constexpr int max_ahead = 1;

enum class Mutation {
    none,
    not_asked,      // whether the two can meet
    not_closed,     // the slot that gives way goes on
    begins_anew,    // after another one was closed, words begin at the clock
    begins_in_tick, // and in the tick that the closed one issued last
    taken_again,    // a slot that gave way is opened again
};

struct SessionSetup {
    const char* layout;
    uint32_t node;
    bool configured; // by flakeid.layout, rather than named in a call
};

struct Setup {
    SessionSetup sessions[::sessions];
    Mutation mutation;
};

struct Slot {
    uint8_t taken;
    uint8_t closed; // for ever: it gave way
    uint8_t word;   // issued last
};

enum At : uint8_t { at_slot, at_word, at_swap, at_end };

struct Session {
    uint8_t at;
    uint8_t word, next;
};

struct State {
    uint8_t watching, watched;
    uint8_t issued;
    Slot slot[sessions];
    Session session[sessions];
};

struct Move {
    uint8_t session;
    uint8_t now;
};

class Model {
public:
    using State = ::State;
    using Move = ::Move;

    explicit Model(const Setup& setup) : setup_(setup)
    {
        for (int i = 0; i < sessions; i++) {
            const char* text = setup.sessions[i].layout;
            if (parse_layout(text, strlen(text), &layout_[i]).status != LayoutStatus::ok) {
                fprintf(stderr, "bad layout: %s\n", text);
                exit(2);
            }
            shape_[i] = word_shape(layout_[i]);
        }
        meet_ = can_overlap(id_bits(layout_[0], setup.sessions[0].node),
                            id_bits(layout_[1], setup.sessions[1].node));
    }

    State first() const
    {
        State state;
        memset(&state, 0, sizeof state);
        return state;
    }

    State canonical(const State& state) const { return state; }

    template <class Emit>
    void next(const State& state, Emit emit) const
    {
        if (!state.watching) {
            for (unsigned id = 0; id < 1u << layout_[0].bits; id++) {
                State after = state;
                after.watching = 1;
                after.watched = static_cast<uint8_t>(id);
                emit(after, Move{sessions, 0}, nullptr);
            }
            return;
        }
        for (int i = 0; i < sessions; i++) {
            session_moves(state, i, emit);
        }
    }

    void print(const State& before, const Move& move, const State& after, FILE* out) const
    {
        if (move.session == sessions) {
            fprintf(out, "watch id %d\n", after.watched);
            return;
        }
        const Session& was = before.session[move.session];
        const Session& is = after.session[move.session];
        fprintf(out, "%c: ", 'A' + move.session);
        if (was.at == at_slot) {
            fprintf(out, is.at == at_end ? "is refused\n" : "takes its slot%s\n",
                    after.slot[1 - move.session].closed != before.slot[1 - move.session].closed
                        ? ", and closes the other"
                        : "");
        } else if (was.at == at_word) {
            fprintf(out,
                    is.at == at_slot ? "finds its slot closed\n"
                                     : "reads the clock: %d; may issue id %d\n",
                    move.now, static_cast<int>(raw(move.session, is.next)));
        } else {
            fprintf(out,
                    after.slot[move.session].word == was.next ? "issues id %d\n"
                                                              : "fails to issue id %d\n",
                    static_cast<int>(raw(move.session, was.next)));
        }
    }

private:
    bool is(Mutation mutation) const { return setup_.mutation == mutation; }

    uint64_t raw(int i, uint64_t word) const
    {
        return raw_of_word(layout_[i], shape_[i], Word{word}) |
               place_node(layout_[i], setup_.sessions[i].node);
    }

    // slots.cpp, take_slot(): one move, under its lock.
    void take(State& state, int i) const
    {
        Slot& slot = state.slot[i];
        Slot& other = state.slot[1 - i];
        Session& session = state.session[i];
        session.at = at_word;
        if (slot.taken && (!slot.closed || is(Mutation::taken_again))) {
            slot.closed = 0;
            return;
        }
        if (other.taken && !other.closed && meet_ && !is(Mutation::not_asked)) {
            if (!setup_.sessions[i].configured || setup_.sessions[1 - i].configured) {
                session.at = at_end;
                return;
            }
            other.closed = !is(Mutation::not_closed);
            if (other.word != 0 && !is(Mutation::begins_anew)) {
                const Tick tick = word_tick(shape_[1 - i], Word{other.word});
                slot.word = static_cast<uint8_t>(
                    word_of(shape_[i], 0, tick,
                            is(Mutation::begins_in_tick) ? 0 : max_sequence(shape_[i])));
            }
        } else if (slot.closed) {
            session.at = at_end;
            return;
        }
        slot.taken = 1;
    }

    template <class Emit>
    void session_moves(const State& state, int i, Emit emit) const
    {
        const Session& was = state.session[i];
        State after = state;
        Session& session = after.session[i];
        Slot& slot = after.slot[i];
        Move move{static_cast<uint8_t>(i), 0};
        const char* broken = nullptr;
        switch (was.at) {
        case at_slot:
            take(after, i);
            return emit(after, move, broken);
        case at_word:
            if (slot.closed) {
                session.at = at_slot;
                return emit(after, move, broken);
            }
            for (int now = 0; now <= last_clock; now++) {
                Limits limits{};
                limits.now = static_cast<Tick>(now);
                limits.ahead = max_ahead;
                limits.last = highest_word;
                const Draw draw = step(Word{slot.word}, shape_[i], limits, {1, false});
                if (draw.verdict == Verdict::issue) {
                    session = {at_swap, slot.word, static_cast<uint8_t>(draw.word)};
                    move.now = static_cast<uint8_t>(now);
                    emit(after, move, broken);
                }
            }
            return;
        case at_swap:
            session = {at_word, 0, 0};
            if (!slot.closed && slot.word == was.word) {
                slot.word = was.next;
                if (raw(i, was.next) == state.watched) {
                    broken = state.issued ? "an id is issued twice" : nullptr;
                    after.issued = 1;
                }
            }
            return emit(after, move, broken);
        default:
            return;
        }
    }

    const Setup setup_;
    Layout layout_[sessions];
    WordShape shape_[sessions];
    bool meet_;
};

// ---- The runs.

constexpr char wide[] = "time:3:1s sequence:2 epoch=1970-01-01";
constexpr char with_node[] = "time:3:1s node:1 sequence:1 epoch=1970-01-01";
constexpr char node_last[] = "time:3:1s sequence:1 node:1 epoch=1970-01-01";

Setup pair(const SessionSetup& a, const SessionSetup& b, Mutation mutation = Mutation::none)
{
    return {{a, b}, mutation};
}

// The second one is flakeid.layout, and its ids are among those of the first.
Setup closing(Mutation mutation = Mutation::none)
{
    return pair({wide, 0, false}, {with_node, 1, true}, mutation);
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
    proof("configured-over-named", "flakeid.layout closes a layout that was named", closing());
    proof("wide-over-named", "the same the other way round",
          pair({with_node, 1, false}, {wide, 0, true}));
    proof("order-of-fields", "the same fields in another order",
          pair({with_node, 1, false}, {node_last, 0, true}));
    proof("both-configured", "two databases with such layouts: the first one counts",
          pair({wide, 0, true}, {with_node, 1, true}));
    proof("both-named", "two layouts that were named: the first one counts",
          pair({wide, 0, false}, {with_node, 1, false}));
    proof("cannot-meet", "two nodes of one layout, both go on",
          pair({with_node, 0, true}, {with_node, 1, true}));

    found("not-asked", "layouts that can meet side by side", closing(Mutation::not_asked));
    found("not-closed", "the slot that gives way goes on", closing(Mutation::not_closed));
    found("begins-anew", "its last tick does not count", closing(Mutation::begins_anew));
    found("begins-in-tick", "its last tick counts but is used again",
          closing(Mutation::begins_in_tick));
    found("taken-again", "a slot that gave way is opened again", closing(Mutation::taken_again));
    return runs;
}

} // namespace

int main(int argc, char** argv)
{
    return check_runs<Model>(all_runs(), argc, argv);
}
