// The machine under the servers: random numbers, time, processes, and the trace of what happened.
// Nothing here knows PostgreSQL or flakeid.
//
// One process runs at a time. Where it yields, another one may go on; it yields wherever it touches
// shared memory, reads a clock, takes a lock or waits (yields.hpp, postgres.cpp). What a process
// has of its own lies in two sections of the program, which are swapped with the processes: all
// data of the sources of flakeid (the Makefile renames their sections), and what is PROCESS_LOCAL
// here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

constexpr int64_t ms = 1000; // all times are in microseconds
constexpr int64_t second = 1000 * ms;
constexpr int64_t minute = 60 * second;
constexpr int64_t year = 365 * 24 * 60 * minute;
constexpr int64_t never = INT64_MAX;

// Random numbers: splitmix64.
class Random {
public:
    constexpr Random() : state_(0) {}
    explicit constexpr Random(uint64_t seed) : state_(seed) {}

    uint64_t next()
    {
        uint64_t z = (state_ += UINT64_C(0x9E3779B97F4A7C15));
        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        return z ^ z >> 31;
    }
    // From 0 to n - 1
    int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
    // From a to b, both included
    int64_t between(int64_t a, int64_t b) { return a + below(b - a + 1); }
    bool one_in(int64_t n) { return below(n) == 0; }

private:
    uint64_t state_;
};

// A stream of its own for each pair.
inline uint64_t mix(uint64_t a, uint64_t b)
{
    return Random(a * UINT64_C(0xD1342543DE82EF95) + b).next();
}

// Decides what happens in the step that runs (world.hpp). A step has a stream of its own, so that
// the others stay as they are when one is cut.
extern Random chance;

// The time that no clock of a server need show.
extern int64_t true_us;

extern uint64_t yields; // so far, of all processes; of the one that runs, until it was entered

// ---- Processes

struct Server; // server.hpp

#define PROCESS_LOCAL __attribute__((section("process_data")))

// What a process begins with: the contents of the two sections.
struct Image {
    std::vector<char> data, zeroed;
};

// The sections as they are now.
Image take_image();
extern Image pristine; // as the program began with them

struct Process {
    int number = 0;
    Server* server = nullptr;
    const char* name = "";
    bool alive = false;
    int64_t wakes_at = never;  // true time
    int64_t stopped_until = 0; // as by SIGSTOP and SIGCONT: nothing wakes it before
    Random random;             // of its own, for what it was told to do

    struct Fiber;
    Fiber* fiber = nullptr;
};

constexpr int most_processes = 64;

// The process that runs; nullptr: the world does.
extern Process* running;

// A new process on a server, which wakes then. When `body` returns, the process has ended.
Process& spawn(Server& server, const char* name, void (*body)(), const Image& image,
               int64_t wakes_at);

// Ends a process wherever it is: nothing of it runs any more.
void kill(Process& process);
void kill_all_of(const Server& server);
// All processes of a server stand still until then.
void stop_all_of(const Server& server, int64_t until);

// Another process may go on.
void yield();

// The running process goes on at that time, or when it is woken.
void sleep_until(int64_t at);
inline void sleep_us(int64_t us)
{
    sleep_until(us == never ? never : true_us + us);
}
void wake(Process& process);
void wake_number(int process);

// Lets a process that is awake go on until it yields for good. When all sleep, time passes until
// one wakes, at most until then; false when there is none.
bool run_somebody(int64_t until);

// The same for one process.
void run(Process& process);

// The variable of another process.
void* of_process(Process& process, void* variable);
template <typename T>
T& of(Process& process, T& variable)
{
    return *static_cast<T*>(of_process(process, const_cast<std::remove_volatile_t<T>*>(&variable)));
}

// Instead of chance: a process goes on until it waits, and then the next one does; at that yield
// the running one stops.
struct Plan {
    bool on = false;
    uint64_t stops_at = 0;
    int current = 0; // number of the process
};
extern Plan plan;

// Told of each write to an atomic.
extern void (*on_write)(const volatile void* address);

// How long a process goes on alone: up to so many yields, the others stand wherever they are.
extern int64_t longest_burst;

// All processes are gone, and time begins anew.
void reset_machine();

// ---- The trace

// Something happened. It counts for the hash; `format` is a literal, for at most four numbers of
// type int64_t.
void note(const char* format, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0);

// The same for one of a run of numbers, with two that tell the run from others: it takes the place
// of the event before where that is of the same run.
void note_run(const char* format, int64_t number, int64_t c, int64_t d);

// Of all that happened so far.
uint64_t trace_hash();
// Something counts for the hash that is no event.
void trace_number(uint64_t number);

// The last events, a line each.
void print_trace();

} // namespace sim
