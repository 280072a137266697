// Every order of small pieces of work: each session is told one, and goes on until it waits, but
// for a few places, anywhere, where another one goes on or something happens to the server.
#include "every.hpp"

#include "checker.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace sim {

namespace {

constexpr char other_goes_on = 's';
constexpr uint64_t no_stop = INT64_MAX;

// At a yield of the work, counted from its begin: another session goes on, or what a feature's
// letter stands for happens.
struct Event {
    int64_t at;
    char what;
};
using Events = std::vector<Event>;

std::string write_events(const Events& events)
{
    std::string text = "-"; // nothing happens
    for (const Event& event : events) {
        text += std::to_string(event.at) + event.what;
    }
    return text;
}

Events read_events(const std::string& text)
{
    Events events;
    for (const char* at = text.c_str() + 1; *at != '\0'; at++) {
        char* end;
        const int64_t yield = strtoll(at, &end, 10);
        events.push_back({yield, *end});
        at = end;
    }
    return events;
}

// All sessions have connected, and stand before their work.
void prepare(uint64_t seed, const char* letters)
{
    make_world(seed, letters, 2);
    chance = Random(mix(seed, 3));
    run_turns(1000, true_us + second);
    if (world.has('C') || world.has('M')) {
        take_copy();
    }
    if (chance.one_in(2)) {
        everyone_draws(server(), second, Fails::may);
    }
    tell_everyone(server());
}

// Does the work; returns after how many yields it was done.
int64_t work_with(const Events& events)
{
    const uint64_t begin = yields;
    const int64_t until = true_us + 10 * second;
    plan = {true, no_stop, 0};
    for (const Event& event : events) {
        plan.stops_at = begin + static_cast<uint64_t>(event.at);
        while (yields < plan.stops_at && run_somebody(until)) {
        }
        plan.current++;
        if (event.what != other_goes_on) {
            plan.on = false;
            happen(event.what);
            plan.on = true;
        }
    }
    plan.stops_at = no_stop;
    while (run_somebody(until)) {
    }
    plan.on = false;
    return static_cast<int64_t>(yields - begin);
}

// The same in a process of its own; -1: a rule was broken.
int64_t try_events(const Events& events)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(2);
    }
    const pid_t child = fork();
    if (child == 0) {
        break_quietly();
        const int64_t done = work_with(events);
        end_world();
        _exit(write(ends[1], &done, sizeof done) == sizeof done ? 0 : 2);
    }
    close(ends[1]);
    int64_t done;
    if (read(ends[0], &done, sizeof done) != sizeof done) {
        done = -1;
    }
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? done : -1;
}

// Tries these events and all with up to so many more after them; true when all keep the rules,
// otherwise `events` are those that break one.
bool explore(Events& events, int further, const std::string& kinds, uint64_t& orders)
{
    const int64_t done = try_events(events);
    orders++;
    if (done < 0) {
        return false;
    }
    if (further == 0) {
        return true;
    }
    std::string rest = kinds;
    for (const Event& event : events) {
        if (event.what != other_goes_on) {
            rest = other_goes_on; // one of them is enough
        }
    }
    for (int64_t at = events.empty() ? 0 : events.back().at + 1; at < done; at++) {
        for (const char what : rest) {
            events.push_back({at, what});
            if (!explore(events, further - 1, kinds, orders)) {
                return false;
            }
            events.pop_back();
        }
    }
    return true;
}

} // namespace

uint64_t every_order(uint64_t seed, const char* letters, int events, std::string& bad)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(2);
    }
    const pid_t child = fork();
    if (child == 0) {
        break_quietly();
        prepare(seed, letters);
        std::string kinds(1, other_goes_on);
        for (const char letter : world.chosen) {
            if (may_happen(letter)) {
                kinds += letter;
            }
        }
        Events tried;
        uint64_t orders = 0;
        const bool good = explore(tried, events, kinds, orders);
        const std::string said = std::to_string(orders) + (good ? "" : write_events(tried));
        _exit(write(ends[1], said.data(), said.size()) > 0 ? 0 : 2);
    }
    close(ends[1]);
    char said[200];
    const ssize_t length = read(ends[0], said, sizeof said - 1);
    said[std::max<ssize_t>(length, 0)] = '\0';
    close(ends[0]);
    waitpid(child, nullptr, 0);
    const char* at = strchr(said, '-');
    bad = at != nullptr ? at : length > 0 ? "" : "-"; // the last: before any work
    return strtoull(said, nullptr, 10);
}

void one_order(uint64_t seed, const char* letters, const std::string& events)
{
    prepare(seed, letters);
    (void)work_with(read_events(events));
    end_world();
}

} // namespace sim
