// sim [OPTION...] SEED STEPS      one seed; STEPS: how many, or which, as in 1-5,8
// sim [OPTION...] --seeds=N STEPS many seeds
//   --features=LETTERS  instead of those that the seed chooses
//   --known=FILE        the rules that are known to break, a line each
//   --all               goes on after any broken rule, and counts them
//   --every=N           every order of what the seed chooses, with so many events (every.hpp)
//   --order=EVENTS      one of them
//   --first=N, --jobs=N of many seeds
//   --reached           prints how often what was reached
// The exit status is 0 when all is well, 1 when a rule was broken, 3 when the seed did not reach
// what it chose, and 2 when the arguments are wrong. The last line begins with "ok" or "broken".
#include "checkers.hpp"
#include "every.hpp"
#include "run.hpp"
#include "world.hpp"

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sim {

Options options;
std::vector<Known> known_faults;
std::map<std::string, Seen> known_seen;
uint64_t orders;
int report_to = -1;

namespace {

std::string told;
uint64_t step_now;

// What a run came to.
struct Result {
    bool broken = false;
    std::string rule;
    uint64_t step = 0; // where it broke
};

// A seed that did not reach what it chose goes on for some time.
constexpr size_t further = 20;

} // namespace

void run_world(uint64_t seed, const Steps& steps)
{
    if (options.every > 0 && options.order.empty()) {
        orders += every_order(seed, options.features, options.every, options.order);
    }
    if (!options.order.empty()) {
        one_order(seed, options.features, options.order);
        if (options.every > 0) {
            broken("the order %s does not break the rule again", options.order.c_str());
        }
    }
    if (options.every > 0 || !options.order.empty()) {
        return;
    }
    make_world(seed, options.features);
    for (uint64_t step : steps) {
        step_now = step;
        run_step(step);
    }
    for (size_t i = steps.size();
         !is_list(options.steps) && i < further * steps.size() && not_reached() != nullptr; i++) {
        step_now = i;
        run_step(i);
    }
    end_world();
}

namespace {

// Runs the steps in a process of its own and says how they ended.
Result try_steps(uint64_t seed, const Steps& steps)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(2);
    }
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        report_to = ends[1];
        run_world(seed, steps);
        _exit(0);
    }
    close(ends[1]);
    char text[600];
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) {
        length += static_cast<size_t>(got);
    }
    text[length] = '\0';
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    Result result;
    if (length > 0) {
        char* rule;
        result.broken = true;
        result.step = strtoull(text, &rule, 10);
        result.rule = rule + 1;
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        result = {true, "the program crashed", steps.empty() ? 0 : steps.back()};
    }
    return result;
}

// The fewest steps found that break the same rule.
Steps shrink(uint64_t seed, Steps steps, const Result& result)
{
    while (steps.empty() || steps.back() < result.step) {
        steps.push_back(steps.empty() ? 0 : steps.back() + 1);
    }
    while (steps.back() > result.step) {
        steps.pop_back();
    }
    options.steps = write_steps(steps);
    int tries = 1500;
    for (size_t cut = std::max<size_t>(steps.size() / 2, 1);; cut = std::max<size_t>(cut / 2, 1)) {
        bool shorter = false;
        for (size_t from = 0; from < steps.size() && tries > 0;) {
            Steps rest(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(from));
            const size_t to = std::min(from + cut, steps.size());
            rest.insert(rest.end(), steps.begin() + static_cast<ptrdiff_t>(to), steps.end());
            tries--;
            const Result again = try_steps(seed, rest);
            if (again.broken && again.rule == result.rule) {
                steps = rest;
                shorter = true;
            } else {
                from = to;
            }
        }
        if (tries == 0 || (cut == 1 && !shorter)) {
            return steps;
        }
    }
}

} // namespace

double cpu_seconds()
{
    rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(own.ru_utime) + seconds(own.ru_stime) + seconds(children.ru_utime) +
           seconds(children.ru_stime);
}

namespace {

std::string again_with(uint64_t seed, const std::string& steps)
{
    return "make sim SEED=" + std::to_string(seed) + world_option +
           (!options.order.empty() ? " ORDER=" + options.order
            : options.every > 0    ? " EVERY=" + std::to_string(options.every)
                                   : " STEPS=" + steps) +
           (options.features != nullptr ? std::string(" FEATURES=") + options.features : "");
}

} // namespace

int run_one()
{
    const Steps all = read_steps(options.steps);
    Steps steps = all;
    if (options.shrink && options.every == 0 && options.order.empty()) {
        const Result result = try_steps(options.seed, steps);
        if (result.broken) {
            printf("broken at step %llu after %.1f CPU s; cutting steps\n",
                   static_cast<unsigned long long>(result.step), cpu_seconds());
            steps = shrink(options.seed, steps, result);
            options.steps = write_steps(steps);
        }
    }
    run_world(options.seed, steps);
    for (const auto& [rule, seen] : known_seen) {
        printf("known, %llu times, first at step %llu: %s\n",
               static_cast<unsigned long long>(seen.count),
               static_cast<unsigned long long>(seen.step), rule.c_str());
    }
    if (options.reached) {
        for (const Reached* reached : all_reached()) {
            printf("%8llu %c %s\n", static_cast<unsigned long long>(reached->count),
                   reached->feature == 0 ? ' ' : reached->feature, reached->what);
        }
    }
    const Reached* missing = is_list(options.steps) || options.every > 0 || !options.order.empty()
                                 ? nullptr
                                 : not_reached();
    if (missing != nullptr) {
        printf("not reached by seed %llu: %s\n", static_cast<unsigned long long>(options.seed),
               missing->what);
    }
    printf("ok seed %llu: %zu steps, features %s, %llu yields, %llu ids, %llu marks, %zu starts, "
           "%.1f virtual s, %.1f CPU s, hash %016llx\n",
           static_cast<unsigned long long>(options.seed), all.size(),
           world.chosen.empty() ? "-" : world.chosen.c_str(),
           static_cast<unsigned long long>(yields),
           static_cast<unsigned long long>(ids_handed_out()),
           static_cast<unsigned long long>(polls), lives.size(), static_cast<double>(true_us) / 1e6,
           cpu_seconds(), static_cast<unsigned long long>(trace_hash()));
    return missing != nullptr ? 3 : 0;
}

void tell(const char* format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    told += text;
}

void forget_told()
{
    told.clear();
}

void break_quietly()
{
    report_to = open("/dev/null", O_WRONLY);
}

namespace {

[[noreturn]] void stop(const std::string& rule)
{
    if (report_to >= 0) {
        dprintf(report_to, "%llu %s", static_cast<unsigned long long>(step_now), rule.c_str());
        _exit(1);
    }
    print_trace();
    printf("%s\nat yield %llu, %.6f virtual s, features %s\nagain with: %s\nbroken: %s\n",
           told.c_str(), static_cast<unsigned long long>(yields),
           static_cast<double>(true_us) / 1e6, world.chosen.c_str(),
           again_with(options.seed, options.steps).c_str(), rule.c_str());
    fflush(stdout);
    _exit(1);
}

} // namespace

void broken(const char* format, ...)
{
    char rule[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rule, sizeof rule, format, arguments);
    va_end(arguments);
    const bool known = std::any_of(known_faults.begin(), known_faults.end(),
                                   [&](const Known& fault) { return fault.rule == rule; });
    if (options.all || known) {
        Seen& seen = known_seen[rule];
        seen.step = seen.count++ == 0 ? step_now : seen.step;
        told.clear();
        return;
    }
    stop(rule);
}

void broken_for_good(const char* format, ...)
{
    char rule[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rule, sizeof rule, format, arguments);
    va_end(arguments);
    stop(rule);
}

} // namespace sim

using namespace sim;

int main(int argc, char** argv)
{
    int plain = 0;
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        const std::string value = argument.substr(argument.find('=') + 1);
        if (argument.rfind("--features=", 0) == 0) {
            options.features = argv[i] + strlen("--features=");
        } else if (argument.rfind("--known=", 0) == 0) {
            std::ifstream file(value);
            for (std::string line; std::getline(file, line);) {
                const size_t space = line.find(' ');
                if (!line.empty() && line[0] != '#' && space != std::string::npos) {
                    known_faults.push_back({line.substr(0, space), line.substr(space + 1)});
                }
            }
        } else if (argument.rfind("--seeds=", 0) == 0) {
            options.seeds = atoll(value.c_str());
            plain = 1;
        } else if (argument.rfind("--first=", 0) == 0) {
            options.first = strtoull(value.c_str(), nullptr, 10);
        } else if (argument.rfind("--jobs=", 0) == 0) {
            options.jobs = atoll(value.c_str());
        } else if (argument.rfind("--every=", 0) == 0) {
            options.every = atoi(value.c_str());
        } else if (argument.rfind("--order=", 0) == 0) {
            options.order = value;
        } else if (argument == "--reached") {
            options.reached = true;
        } else if (argument == "--part") {
            options.part = true;
        } else if (argument == "--all") {
            options.all = true;
        } else if (argument == "--no-shrink") {
            options.shrink = false;
        } else if (argument[0] != '-' && plain == 0) {
            options.seed = strtoull(argv[i], nullptr, 10);
            plain = 1;
        } else if (argument[0] != '-' && plain == 1) {
            options.steps = argument;
            plain = 2;
        } else {
            fprintf(stderr, "sim: what is \"%s\"?\n", argv[i]);
            return 2;
        }
    }
    pristine = take_image();
    return options.seeds > 0 ? run_many() : run_one();
}
