// An exhaustive search of a model's states, breadth first, so that a counterexample is a shortest
// one. Whole states are stored and compared: nothing is lost to a hash collision.
//
// A Model has: State, plain data without padding; Move, plain data that says how one state follows
// another; first(), the state to begin with; next(state, emit), which calls
// emit(following, move, broken) for everything that can happen, where `broken` is nullptr or names
// the rule that this move breaks; canonical(state), the one that is kept of all states that behave
// alike; and print(state, move, following, out).
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

template <class Model>
class Search {
public:
    using State = typename Model::State;
    using Move = typename Model::Move;
    static_assert(std::has_unique_object_representations_v<State>, "states are compared as bytes");

    struct Result {
        size_t states = 0;
        size_t moves = 0;
        size_t depth = 0;
        double seconds = 0;
        const char* broken = nullptr; // the rule that was broken; nullptr: none
        bool complete = true;         // false: `most_states` was reached
    };

    Search(const Model& model, size_t most_states) : model_(model), most_states_(most_states) {}

    Result run()
    {
        const auto begun = std::chrono::steady_clock::now();
        table_.assign(1 << 16, none);
        add(model_.first(), none);
        size_t level_end = 1;
        for (size_t at = 0; at < states_.size() && result_.broken == nullptr; at++) {
            if (at == level_end) {
                result_.depth++;
                level_end = states_.size();
            }
            if (states_.size() > most_states_) {
                result_.complete = false;
                break;
            }
            const State state = states_[at];
            model_.next(state, [&](const State& following, const Move& move, const char* broken) {
                result_.moves++;
                if (result_.broken != nullptr) {
                    return;
                }
                if (broken != nullptr) {
                    result_.broken = broken;
                    last_state_ = static_cast<uint32_t>(at);
                    last_move_ = move;
                    last_following_ = following;
                    return;
                }
                add(model_.canonical(following), static_cast<uint32_t>(at));
            });
        }
        result_.states = states_.size();
        result_.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        return result_;
    }

    // The shortest way to the broken rule, one move a line.
    void print_trace(FILE* out) const
    {
        std::vector<uint32_t> path;
        for (uint32_t at = last_state_; at != none; at = parents_[at]) {
            path.push_back(at);
        }
        int line = 0;
        for (size_t i = path.size(); i-- > 1;) {
            const State& state = states_[path[i]];
            const State& wanted = states_[path[i - 1]];
            bool printed = false;
            model_.next(state, [&](const State& following, const Move& move, const char*) {
                const State same = model_.canonical(following);
                if (!printed && memcmp(&same, &wanted, sizeof(State)) == 0) {
                    printed = true;
                    fprintf(out, "  %3d  ", ++line);
                    model_.print(state, move, following, out);
                }
            });
        }
        fprintf(out, "  %3d  ", ++line);
        model_.print(states_[last_state_], last_move_, last_following_, out);
        fprintf(out, "       => %s\n", result_.broken);
    }

private:
    static constexpr uint32_t none = UINT32_MAX;

    static uint64_t hash(const State& state)
    {
        unsigned char bytes[(sizeof(State) + 7) / 8 * 8] = {};
        memcpy(bytes, &state, sizeof state);
        uint64_t sum = 0;
        for (size_t i = 0; i < sizeof bytes; i += 8) {
            uint64_t part;
            memcpy(&part, bytes + i, sizeof part);
            sum = (sum ^ part) * UINT64_C(0x9E3779B97F4A7C15);
            sum ^= sum >> 29;
        }
        return sum * UINT64_C(0xBF58476D1CE4E5B9) >> 16;
    }

    void add(const State& state, uint32_t parent)
    {
        if ((states_.size() + 1) * 2 > table_.size()) {
            grow();
        }
        size_t place = hash(state) & (table_.size() - 1);
        while (table_[place] != none) {
            if (memcmp(&states_[table_[place]], &state, sizeof state) == 0) {
                return;
            }
            place = (place + 1) & (table_.size() - 1);
        }
        table_[place] = static_cast<uint32_t>(states_.size());
        states_.push_back(state);
        parents_.push_back(parent);
    }

    void grow()
    {
        table_.assign(table_.size() * 2, none);
        for (size_t i = 0; i < states_.size(); i++) {
            size_t place = hash(states_[i]) & (table_.size() - 1);
            while (table_[place] != none) {
                place = (place + 1) & (table_.size() - 1);
            }
            table_[place] = static_cast<uint32_t>(i);
        }
    }

    const Model& model_;
    size_t most_states_;
    std::vector<State> states_;
    std::vector<uint32_t> parents_;
    std::vector<uint32_t> table_;
    Result result_;
    uint32_t last_state_ = none;
    Move last_move_{};
    State last_following_{};
};

enum class Expect {
    proof, // nothing is broken, in any state
    found, // a rule is broken: the run fails when it is not
};

template <class Setup>
struct Run {
    const char* name;
    Expect expect;
    const char* what;
    Setup setup;
};

// Every run, or those named; returns the exit status. A run that is named, and one that fails,
// shows the way to what it found.
template <class Model, class Setup>
int check_runs(const std::vector<Run<Setup>>& runs, int argc, char** argv)
{
    constexpr size_t most_states = 60 * 1000 * 1000;
    bool failed = false;
    for (const Run<Setup>& run : runs) {
        bool chosen = argc == 1;
        for (int i = 1; i < argc; i++) {
            chosen = chosen || strcmp(argv[i], run.name) == 0;
        }
        if (!chosen) {
            continue;
        }
        const Model model(run.setup);
        Search<Model> search(model, most_states);
        const auto result = search.run();
        const bool found = result.broken != nullptr;
        const bool good = result.complete && found == (run.expect == Expect::found);
        printf("%-4s %-22s %8zu states %5.1f s  %s: %s\n", good ? "ok" : "FAIL", run.name,
               result.states, result.seconds, run.what,
               found             ? result.broken
               : result.complete ? "nothing broken"
                                 : "not finished");
        if (found && (argc > 1 || !good)) {
            search.print_trace(stdout);
        }
        fflush(stdout);
        failed = failed || !good;
    }
    return failed ? 1 : 0;
}
