#include "machine.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>

// A process that is killed leaves what it had.
extern "C" const char* __asan_default_options()
{
    return "detect_leaks=0:detect_stack_use_after_return=0";
}
#endif

extern char __start_process_data[], __stop_process_data[];
extern char __start_process_bss[], __stop_process_bss[];

// Yields left until the running process yields for good; yields.hpp counts it down.
extern "C" long sim_yields_left;
long sim_yields_left = LONG_MAX;

namespace sim {

Random chance;
int64_t true_us;
uint64_t yields;
Image pristine;
Process* running;
int64_t longest_burst = 150;
Plan plan;
void (*on_write)(const volatile void* address);

struct Process::Fiber {
    ucontext_t context{};
    char* stack = nullptr;
    void (*body)() = nullptr;
    Image image; // while another process is loaded
    void* fake_stack = nullptr;
};

namespace {

constexpr size_t stack_size = 256 * 1024;

Process processes[most_processes];
Process::Fiber fibers[most_processes];
int process_count; // places that were ever used
Process* loaded;   // whose image stands in the sections
ucontext_t world;
#ifdef WITH_ASAN
void* world_fake_stack;
const void* world_stack;
size_t world_stack_size;
#endif
long burst;

// Neither the sanitizer's nor anybody else's memcpy: the sections hold its red zones too.
#ifdef WITH_ASAN
__attribute__((no_sanitize("address", "undefined"))) void copy(char* to, const char* from,
                                                               size_t size)
{
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        *reinterpret_cast<volatile uint64_t*>(to + i) =
            *reinterpret_cast<const volatile uint64_t*>(from + i);
    }
    for (; i < size; i++) {
        static_cast<volatile char*>(to)[i] = from[i];
    }
}
#else
void copy(char* to, const char* from, size_t size)
{
    memcpy(to, from, size);
}
#endif

size_t data_size()
{
    return static_cast<size_t>(__stop_process_data - __start_process_data);
}

size_t bss_size()
{
    return static_cast<size_t>(__stop_process_bss - __start_process_bss);
}

void save(Image& image)
{
    image.data.resize(data_size());
    image.zeroed.resize(bss_size());
    copy(image.data.data(), __start_process_data, data_size());
    copy(image.zeroed.data(), __start_process_bss, bss_size());
}

void load(const Image& image)
{
    copy(__start_process_data, image.data.data(), data_size());
    copy(__start_process_bss, image.zeroed.data(), bss_size());
}

void count_yields()
{
    yields += static_cast<uint64_t>(burst - sim_yields_left);
    burst = sim_yields_left;
}

// The running process goes on when the world enters it again.
void to_world([[maybe_unused]] bool for_ever = false)
{
    Process& process = *running;
    count_yields();
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(for_ever ? nullptr : &process.fiber->fake_stack, world_stack,
                                   world_stack_size);
#endif
    swapcontext(&process.fiber->context, &world);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(process.fiber->fake_stack, &world_stack, &world_stack_size);
#endif
}

void body_of_process()
{
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &world_stack, &world_stack_size);
#endif
    running->fiber->body();
    running->alive = false;
    to_world(true);
    abort();
}

} // namespace

Image take_image()
{
    Image image;
    save(image);
    return image;
}

Process& spawn(Server& server, const char* name, void (*body)(), const Image& image,
               int64_t wakes_at)
{
    int i = 0;
    while (i < process_count && processes[i].alive) {
        i++;
    }
    if (i == most_processes) {
        fprintf(stderr, "too many processes\n");
        abort();
    }
    process_count = std::max(process_count, i + 1);
    Process& process = processes[i];
    Process::Fiber& fiber = fibers[i];
    if (loaded == &process) {
        loaded = nullptr;
    }
    process = Process{};
    process.number = i;
    process.server = &server;
    process.name = name;
    process.alive = true;
    process.wakes_at = wakes_at;
    process.fiber = &fiber;
    if (fiber.stack == nullptr) {
        fiber.stack = static_cast<char*>(malloc(stack_size));
    }
    fiber.body = body;
    fiber.image = image;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = stack_size;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, body_of_process, 0);
    return process;
}

void kill(Process& process)
{
    process.alive = false;
    if (running == &process) {
        to_world(true);
    }
}

void kill_all_of(const Server& server)
{
    for (int i = 0; i < process_count; i++) {
        if (processes[i].server == &server) {
            processes[i].alive = false;
        }
    }
}

void stop_all_of(const Server& server, int64_t until)
{
    for (int i = 0; i < process_count; i++) {
        if (processes[i].server == &server) {
            processes[i].stopped_until = until;
        }
    }
}

void run(Process& process)
{
    if (loaded != &process) {
        if (loaded != nullptr) {
            save(loaded->fiber->image);
        }
        load(process.fiber->image);
        loaded = &process;
    }
    running = &process;
    // Short ones, and long ones that let a process finish what it is at.
    burst = plan.on ? static_cast<long>(plan.stops_at - yields)
                    : static_cast<long>(chance.one_in(2) ? chance.below(4)
                                                         : chance.below(longest_burst));
    sim_yields_left = burst;
    trace_number(static_cast<uint64_t>(true_us) * most_processes +
                 static_cast<uint64_t>(process.number));
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&world_fake_stack, process.fiber->stack, stack_size);
#endif
    swapcontext(&world, &process.fiber->context);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(world_fake_stack, nullptr, nullptr);
#endif
    running = nullptr;
    sim_yields_left = burst = LONG_MAX;
    trace_number(yields);
}

void yield()
{
    if (--sim_yields_left >= 0 || running == nullptr) {
        return;
    }
    true_us += chance.below(chance.one_in(50) ? 3 * ms : 30);
    running->wakes_at = true_us;
    to_world();
}

extern "C" void sim_yield(void)
{
    yield();
}

extern "C" void sim_written(const volatile void* address)
{
    if (on_write != nullptr) {
        on_write(address);
    }
}

void sleep_until(int64_t at)
{
    running->wakes_at = at;
    to_world();
}

void wake(Process& process)
{
    process.wakes_at = std::min(process.wakes_at, true_us);
}

void wake_number(int process)
{
    wake(processes[process]);
}

bool run_somebody(int64_t until)
{
    Process* ready[most_processes];
    int count = 0;
    int64_t next = never;
    for (int i = 0; i < process_count; i++) {
        Process& process = processes[i];
        const int64_t wakes_at = std::max(process.wakes_at, process.stopped_until);
        if (process.alive && wakes_at <= true_us) {
            ready[count++] = &process;
        } else if (process.alive) {
            next = std::min(next, wakes_at);
        }
    }
    if (count > 0 && plan.on) {
        Process** next_one = std::find_if(ready, ready + count - 1, [](const Process* process) {
            return process->number >= plan.current;
        });
        Process& chosen = (*next_one)->number >= plan.current ? **next_one : *ready[0];
        plan.current = chosen.number;
        run(chosen);
        return true;
    }
    if (count > 0) {
        run(*ready[chance.below(count)]);
        return true;
    }
    if (next <= until && next != never) {
        true_us = next;
        return true;
    }
    true_us = until == never ? true_us : std::max(true_us, until);
    return false;
}

void* of_process(Process& process, void* variable)
{
    auto* at = static_cast<char*>(variable);
    if (loaded == &process) {
        return variable;
    }
    Image& image = process.fiber->image;
    if (at >= __start_process_data && at < __stop_process_data) {
        return image.data.data() + (at - __start_process_data);
    }
    if (at >= __start_process_bss && at < __stop_process_bss) {
        return image.zeroed.data() + (at - __start_process_bss);
    }
    fprintf(stderr, "this variable is not a process's own\n");
    abort();
}

// ---- The trace

namespace {

struct Event {
    uint64_t step;
    int64_t at;
    const char* process;
    int number;
    const char* format;
    int64_t a, b, c, d;
};
constexpr uint64_t events_kept = 40;
Event events[events_kept];
uint64_t event_count;
uint64_t hash;

Event& event(uint64_t number)
{
    return events[number % events_kept];
}

uint64_t text_number(const char* text)
{
    uint64_t number = 14695981039346656037u;
    for (const char* c = text; *c != 0; c++) {
        number = (number ^ static_cast<unsigned char>(*c)) * 1099511628211u;
    }
    return number;
}

} // namespace

void trace_number(uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 29;
}

uint64_t trace_hash()
{
    return hash;
}

void note(const char* format, int64_t a, int64_t b, int64_t c, int64_t d)
{
    if (running != nullptr) {
        count_yields();
    }
    event(event_count++) = {yields,
                            true_us,
                            running == nullptr ? "world" : running->name,
                            running == nullptr ? -1 : running->number,
                            format,
                            a,
                            b,
                            c,
                            d};
    trace_number(text_number(format));
    for (int64_t number : {true_us, a, b, c, d}) {
        trace_number(static_cast<uint64_t>(number));
    }
}

void note_run(const char* format, int64_t number, int64_t c, int64_t d)
{
    const int who = running == nullptr ? -1 : running->number;
    Event& last = event(event_count + events_kept - 1);
    if (event_count > 0 && last.format == format && last.number == who && last.c == c &&
        last.d == d && last.b < number) {
        last.b = number;
        last.at = true_us;
        trace_number(static_cast<uint64_t>(number));
        return;
    }
    note(format, number, number, c, d);
}

void print_trace()
{
    const uint64_t first = event_count < events_kept ? 0 : event_count - events_kept;
    for (uint64_t i = first; i < event_count; i++) {
        const Event& e = event(i);
        char who[40];
        snprintf(who, sizeof who, e.number < 0 ? "%s" : "%s %d", e.process, e.number);
        printf("  %9llu %14.6f  %-12s ", static_cast<unsigned long long>(e.step),
               static_cast<double>(e.at) / 1e6, who);
        printf(e.format, static_cast<long long>(e.a), static_cast<long long>(e.b),
               static_cast<long long>(e.c), static_cast<long long>(e.d));
        putchar('\n');
    }
}

void reset_machine()
{
    for (int i = 0; i < process_count; i++) {
        processes[i].alive = false;
    }
    process_count = 0;
    loaded = nullptr;
    running = nullptr;
    true_us = second;
    yields = 0;
    event_count = 0;
    hash = 0;
    sim_yields_left = burst = LONG_MAX;
}

} // namespace sim
