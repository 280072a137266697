// The settled mark: two transactions that draw, write and end in any way, and a poller that asks
// with a snapshot of any age, in every order of their moves. The step and the rules of the mark are
// src/core/step.cpp and src/core/settled.cpp themselves; moves follow src/slots/pins.cpp,
// src/generator/settled.cpp and src/generator/draw.cpp.
//
//     settled_model                every run; a line each
//     settled_model NAME...        these runs, and the way to what they find
//
// No transaction whose id lies below an answer may still end in a way that the snapshot does not
// see, and no id below an answer is drawn any more.
#include "search.hpp"

#include "../../src/core/settled.hpp"

#include <algorithm>
#include <cstdlib>

namespace {

using namespace flakeid;

constexpr int transactions = 2;
constexpr int polls_at_most = 2;
constexpr uint8_t none = UINT8_MAX;

enum class Mutation {
    none,
    mark_after_swap,
    word_after_marks,   // the poller reads the word last
    released_early,     // the mark is taken back before the transaction has ended for others
    nothing_kept,       // of what has ended
    kept_too_late,      // after the mark was taken back
    ended_before_marks, // the poller reads what has ended first
    worker_alone,       // a worker's mark ends with the worker
    prepared_forgotten,
    prepared_too_late, // kept after the mark was taken back
    not_revoked,       // reserved words
    revoked_first,     // before the poller reads the word
    not_asked_again,   // whether they were revoked, after the mark
    new_node_anywhere,
    skipped_in_thought, // idle nodes count as skipped and are not
};

struct Setup {
    bool two_nodes;
    bool reserved; // the second transaction is the first one's session's, and uses a word it
                   // reserved
    bool prepared;
    Mutation mutation;
};

enum At : uint8_t {
    at_begin,
    at_mark,
    at_swap,
    at_late_mark,
    at_write,
    at_end,
    at_keep,
    at_clear,
    at_prepared_keep,
    at_prepared_clear,
    at_prepared,
    at_asked, // whether the reserved word was revoked, once
    at_marked,
    at_over
};

struct Transaction {
    uint8_t at;
    uint8_t last, next; // words
    uint8_t xid;        // 0: none
    uint8_t drawn;      // word, or none
    uint8_t mark;       // word, or none
    uint8_t prepared;   // the same, of a prepared transaction
    uint8_t kept;       // the same, of one that has ended
    uint8_t completed;  // when it was kept
    uint8_t running;    // for others
    uint8_t committed;
    uint8_t polls; // when the session reserved
};

enum PollAt : uint8_t { poll_snapshot, poll_polls, poll_read, poll_over };

struct Poller {
    uint8_t at, reads; // of `order`, done
    uint8_t next;      // of the snapshot
    uint8_t running;   // transactions of the snapshot: bits
    uint8_t lowest;    // raw id
    uint8_t asked;     // how often
    uint8_t answer;    // the highest one
};

struct State {
    uint8_t word[2], taken[2];
    uint8_t settled;
    uint8_t completed, last_xid, polls;
    uint8_t reserved; // word, or none
    Transaction transaction[transactions];
    Poller poller;
};

struct Move {
    uint8_t who; // transactions: the poller
    uint8_t now;
};

enum Read : uint8_t { read_words, read_marks, read_prepared, read_ended, reads };

class Model {
public:
    using State = ::State;
    using Move = ::Move;

    explicit Model(const Setup& setup) : setup_(setup)
    {
        constexpr char text[] = "time:3:1s node:1 sequence:1 epoch=1970-01-01";
        if (parse_layout(text, strlen(text), &layout_).status != LayoutStatus::ok) {
            exit(2);
        }
        shape_ = word_shape(layout_);
    }

    State first() const
    {
        State state;
        memset(&state, 0, sizeof state);
        state.taken[0] = 1;
        state.reserved = none;
        for (Transaction& t : state.transaction) {
            t.drawn = t.mark = t.prepared = t.kept = none;
            t.running = 1;
        }
        return state;
    }

    State canonical(const State& state) const { return state; }

    template <class Emit>
    void next(const State& state, Emit emit) const
    {
        for (uint8_t i = 0; i < transactions; i++) {
            transaction_moves(state, i, emit);
        }
        poller_moves(state, emit);
    }

    void print(const State& before, const Move& move, const State& after, FILE* out) const
    {
        if (move.who == transactions) {
            const Poller& p = before.poller;
            constexpr const char* what[] = {"the words", "the marks", "the prepared",
                                            "what has ended"};
            fprintf(out, "poller: %s%s, lowest id %d\n",
                    p.at == poll_snapshot ? "takes a snapshot"
                    : p.at == poll_polls  ? "revokes what is reserved"
                                          : "reads ",
                    p.at == poll_read ? what[order(p.reads)] : "", after.poller.lowest);
            return;
        }
        constexpr const char* what[] = {
            "reads the word",          "sets its mark", "swaps the word", "sets its mark",
            "writes, or does not",     "ends",          "keeps its mark", "takes its mark back",
            "keeps its mark prepared", "takes it back", "ends, prepared", "marks the reserved word",
            "takes the word",          "is over"};
        const Transaction& is = after.transaction[move.who];
        fprintf(out, "%c: %s; drawn %d, xid %d\n", 'A' + move.who,
                what[before.transaction[move.who].at], is.drawn, is.xid);
    }

private:
    bool is(Mutation mutation) const { return setup_.mutation == mutation; }
    int last_clock() const { return setup_.two_nodes ? 1 : 0; }
    int node(int i) const { return setup_.two_nodes ? 1 - i : 0; }

    uint8_t raw(int node, Word word) const
    {
        return static_cast<uint8_t>(raw_of_word(layout_, shape_, within_layout(shape_, word)) |
                                    place_node(layout_, static_cast<uint32_t>(node)));
    }

    template <class Emit>
    void transaction_moves(const State& state, uint8_t i, Emit emit) const
    {
        const Transaction& was = state.transaction[i];
        State after = state;
        Transaction& t = after.transaction[i];
        uint8_t& word = after.word[node(i)];
        Move move{i, 0};
        auto go = [&](uint8_t at, const char* broken = nullptr) {
            t.at = at;
            emit(after, move, broken);
        };
        switch (was.at) {
        case at_begin:
            if (setup_.reserved && i == 1) {
                if (state.transaction[0].at != at_over || state.reserved == none) {
                    return;
                }
                if (!is(Mutation::not_revoked) && state.polls != state.transaction[0].polls) {
                    return;
                }
                return go(at_asked);
            }
            if (!state.taken[node(i)]) { // add(), under the lock
                after.taken[node(i)] = 1;
                word = is(Mutation::new_node_anywhere) ? 0 : state.settled;
            }
            t.polls = state.polls;
            for (uint8_t now = 0; now <= last_clock(); now++) {
                Limits limits{};
                limits.now = Tick{now};
                limits.ahead = 4;
                limits.last = highest_word;
                const uint32_t count = setup_.reserved ? 2 : 1;
                const Draw draw = step(Word{word}, shape_, limits, {count, false});
                if (draw.verdict == Verdict::issue && draw.count == count) {
                    t.last = word;
                    t.next = static_cast<uint8_t>(draw.word);
                    move.now = now;
                    go(is(Mutation::mark_after_swap) ? at_swap : at_mark);
                }
            }
            return;
        case at_mark:
            t.mark = std::min(was.mark, was.next);
            return go(at_swap);
        case at_swap: {
            if (word != was.last) {
                return go(at_begin);
            }
            word = static_cast<uint8_t>(was.next + (setup_.reserved ? 1 : 0));
            t.drawn = was.next;
            if (setup_.reserved) {
                after.reserved = static_cast<uint8_t>(was.next + 1);
            }
            return go(is(Mutation::mark_after_swap) ? at_late_mark : at_write,
                      below(state, i, was.next));
        }
        case at_late_mark:
            t.mark = was.next;
            return go(at_write);
        case at_asked:
            t.mark = state.reserved;
            return go(at_marked);
        case at_marked:
            if (!is(Mutation::not_revoked) && !is(Mutation::not_asked_again) &&
                state.polls != state.transaction[0].polls) {
                t.mark = none;
                return go(at_over);
            }
            t.drawn = state.reserved;
            after.reserved = none;
            return go(at_write, below(state, i, state.reserved));
        case at_write:
            if (is(Mutation::worker_alone)) {
                t.mark = none;
            }
            go(is(Mutation::released_early) ? at_clear : at_end); // writes nothing
            t.xid = ++after.last_xid;
            return go(is(Mutation::released_early) ? at_clear : at_end);
        case at_end:
            if (setup_.prepared && was.xid != 0) {
                go(is(Mutation::prepared_too_late) ? at_prepared_clear : at_prepared_keep);
            }
            end(after, t);
            go(is(Mutation::kept_too_late) ? at_clear : at_keep); // ROLLBACK
            t.committed = 1;
            return go(is(Mutation::kept_too_late) ? at_clear : at_keep);
        case at_keep:
            if (was.xid != 0 && was.committed && !is(Mutation::nothing_kept) && was.drawn != none) {
                t.kept = was.drawn;
                t.completed = state.completed;
            }
            return go(is(Mutation::kept_too_late) || is(Mutation::released_early) ? at_over
                                                                                  : at_clear);
        case at_clear:
            t.mark = none;
            return go(is(Mutation::kept_too_late)    ? at_keep
                      : is(Mutation::released_early) ? at_end
                                                     : at_over);
        case at_prepared_keep:
            t.prepared = is(Mutation::prepared_forgotten) ? none : was.drawn;
            return go(is(Mutation::prepared_too_late) ? at_prepared : at_prepared_clear);
        case at_prepared_clear:
            t.mark = none;
            return go(is(Mutation::prepared_too_late) ? at_prepared_keep : at_prepared);
        case at_prepared: // its place stays as it is
            end(after, t);
            go(at_over);
            t.committed = 1;
            return go(at_over);
        default:
            return;
        }
    }

    void end(State& state, Transaction& t) const
    {
        t.running = 0;
        state.completed = std::max(state.completed, t.xid);
    }

    const char* below(const State& state, int i, uint64_t word) const
    {
        return state.poller.asked > 0 && raw(node(i), Word{word}) < state.poller.answer
                   ? "an id is drawn below the mark"
                   : nullptr;
    }

    template <class Emit>
    void poller_moves(const State& state, Emit emit) const
    {
        State after = state;
        Poller& p = after.poller;
        Move move{transactions, 0};
        switch (p.at) {
        case poll_snapshot:
            p.next = static_cast<uint8_t>(state.completed + 1);
            p.running = 0;
            for (const Transaction& t : state.transaction) {
                p.running |= static_cast<uint8_t>(t.xid != 0 && t.running ? 1u << t.xid : 0);
            }
            p.lowest = none;
            p.reads = 0;
            p.at = is(Mutation::revoked_first) ? poll_polls : poll_read;
            return emit(after, move, nullptr);
        case poll_polls:
            after.polls++;
            p.at = poll_read;
            return emit(after, move, nullptr);
        case poll_read:
            for (uint8_t now = 0; now <= last_clock(); now++) {
                State read = after;
                move.now = now;
                look(read, order(p.reads), Tick{now});
                read.poller.reads++;
                if (read.poller.reads == 1 && !is(Mutation::revoked_first)) {
                    read.poller.at = poll_polls;
                }
                const char* broken = nullptr;
                if (read.poller.reads == reads) {
                    broken = check(read);
                    read.poller.answer = std::max(read.poller.answer, read.poller.lowest);
                    read.poller.asked++;
                    read.poller.at = read.poller.asked == polls_at_most ? poll_over : poll_snapshot;
                }
                emit(read, move, broken);
            }
            return;
        default:
            return;
        }
    }

    uint8_t order(uint8_t n) const
    {
        if (is(Mutation::word_after_marks)) {
            constexpr uint8_t other[] = {read_marks, read_prepared, read_ended, read_words};
            return other[n];
        }
        if (is(Mutation::ended_before_marks)) {
            constexpr uint8_t other[] = {read_words, read_ended, read_marks, read_prepared};
            return other[n];
        }
        return n;
    }

    void look(State& state, uint8_t what, Tick now) const
    {
        Poller& p = state.poller;
        auto take = [&](int node, Word word) { p.lowest = std::min(p.lowest, raw(node, word)); };
        const uint32_t running[] = {1, 2};
        uint32_t unfinished_xids[2];
        size_t count = 0;
        for (uint32_t xid : running) {
            if ((p.running >> xid & 1) != 0) {
                unfinished_xids[count++] = xid;
            }
        }
        const SnapshotView view{count > 0 ? unfinished_xids[0] : p.next, p.next, unfinished_xids,
                                count};
        if (what == read_words) {
            const Word furthest{std::max(state.word[0], state.word[1])};
            const bool both = state.taken[0] && state.taken[1];
            const Word skipped = both ? skipped_word(shape_, furthest, now) : no_word;
            Word first = highest_word;
            for (int n = 0; n < 2; n++) {
                if (!state.taken[n]) {
                    continue;
                }
                const Word word = std::max(Word{state.word[n]}, skipped);
                if (!is(Mutation::skipped_in_thought)) {
                    state.word[n] = static_cast<uint8_t>(word);
                }
                take(n, word + 1);
                first = std::min(first, word + 1);
            }
            state.settled =
                std::max(state.settled, static_cast<uint8_t>(last_of_tick(shape_, first)));
        }
        for (int i = 0; i < transactions; i++) {
            const Transaction& t = state.transaction[i];
            if (what == read_marks && t.mark != none) {
                take(node(i), Word{t.mark});
            }
            if (what == read_prepared && t.prepared != none && unfinished(view, t.xid)) {
                take(node(i), Word{t.prepared});
            }
            if (what == read_ended && t.kept != none && !taken_after(view, t.completed) &&
                unfinished(view, t.xid)) {
                take(node(i), Word{t.kept});
            }
        }
    }

    const char* check(const State& state) const
    {
        const Poller& p = state.poller;
        for (int i = 0; i < transactions; i++) {
            const Transaction& t = state.transaction[i];
            if (t.drawn == none || raw(node(i), Word{t.drawn}) >= p.lowest) {
                continue;
            }
            if (t.running) {
                return "a transaction below the mark goes on";
            }
            const bool seen = t.xid < p.next && (p.running >> t.xid & 1) == 0;
            if (t.committed && t.xid != 0 && !seen) {
                return "the snapshot does not see a row below the mark";
            }
        }
        return nullptr;
    }

    const Setup setup_;
    Layout layout_;
    WordShape shape_;
};

std::vector<Run<Setup>> all_runs()
{
    std::vector<Run<Setup>> runs;
    auto proof = [&](const char* name, const char* what, bool nodes, bool reserved, bool prepared) {
        runs.push_back({name, Expect::proof, what, {nodes, reserved, prepared, Mutation::none}});
    };
    auto found = [&](const char* name, const char* what, Mutation mutation, bool nodes = false,
                     bool reserved = false, bool prepared = false) {
        runs.push_back({name, Expect::found, what, {nodes, reserved, prepared, mutation}});
    };
    proof("two-nodes", "two nodes, one of them new", true, false, false);
    proof("one-node", "transactions that may be prepared", false, false, true);
    proof("reserved", "a word that a session has reserved", false, true, false);

    found("mark-after-swap", "the mark is set after the swap", Mutation::mark_after_swap);
    found("word-after-marks", "the poller reads the word last", Mutation::word_after_marks);
    found("released-early", "the mark is taken back before the end", Mutation::released_early);
    found("nothing-kept", "of transactions that have ended", Mutation::nothing_kept);
    found("kept-too-late", "what has ended is kept after that", Mutation::kept_too_late);
    found("ended-before-marks", "the poller reads what has ended before the marks",
          Mutation::ended_before_marks);
    found("worker-alone", "the mark ends with the worker", Mutation::worker_alone);
    found("prepared-forgotten", "prepared transactions keep no mark", Mutation::prepared_forgotten,
          false, false, true);
    found("prepared-too-late", "they keep it after it was taken back", Mutation::prepared_too_late,
          false, false, true);
    found("not-revoked", "reserved words outlive a poll", Mutation::not_revoked, false, true);
    found("revoked-first", "words are revoked before the poller reads the last one",
          Mutation::revoked_first, false, true);
    found("not-asked-again", "they are not asked about after the mark", Mutation::not_asked_again,
          false, true);
    found("new-node-anywhere", "a new node begins at the clock", Mutation::new_node_anywhere, true);
    found("skipped-in-thought", "idle nodes are not skipped themselves",
          Mutation::skipped_in_thought, true);
    return runs;
}

} // namespace

int main(int argc, char** argv)
{
    return check_runs<Model>(all_runs(), argc, argv);
}
