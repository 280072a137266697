// sim [OPTION...] SEED STEPS      one seed; STEPS: how many, or which, as in 1-5,8
// sim [OPTION...] --seeds=N STEPS many seeds
//   --features=LETTERS  instead of those that the seed chooses
//   --known=FILE        the rules that are known to break, a line each
//   --all               goes on after any broken rule, and counts them
//   --first=N, --jobs=N of many seeds
//   --reached           prints how often what was reached
// The exit status is 0 when all is well, 1 when a rule was broken, 3 when the seed did not reach
// what it chose, and 2 when the arguments are wrong. The last line begins with "ok" or "broken".
#include "checkers.hpp"
#include "world.hpp"

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" int __llvm_profile_write_file(void) __attribute__((weak));

namespace sim {

namespace {

// A rule that is known to break, and features with which it does so soon.
struct Known {
    std::string features, rule;
};
std::vector<Known> known_faults;
struct Seen {
    uint64_t count = 0;
    uint64_t step = 0; // the first
};
std::map<std::string, Seen> known_seen;
std::string told;
int report_to = -1; // a child says there which rule broke
uint64_t step_now;

struct Options {
    const char* features = nullptr;
    uint64_t seed = 1;
    std::string steps = "3000";
    int64_t seeds = 0;
    uint64_t first = 1;
    int64_t jobs = 1;
    bool reached = false;
    bool shrink = true;
    bool all = false;
    bool part = false; // of the seeds: a known fault that none of these shows is not missed
} options;

using Steps = std::vector<uint64_t>;

// What a run came to.
struct Result {
    bool broken = false;
    std::string rule;
    uint64_t step = 0; // where it broke
};

bool is_list(const std::string& steps)
{
    return steps.find_first_of(",-") != std::string::npos;
}

Steps read_steps(const std::string& text)
{
    Steps steps;
    if (!is_list(text)) {
        for (uint64_t i = 0; i < strtoull(text.c_str(), nullptr, 10); i++) {
            steps.push_back(i);
        }
        return steps;
    }
    const char* at = text.c_str();
    while (*at != '\0') {
        char* end;
        const uint64_t first = strtoull(at, &end, 10);
        const uint64_t last = *end == '-' ? strtoull(end + 1, &end, 10) : first;
        for (uint64_t i = first; i <= last; i++) {
            steps.push_back(i);
        }
        at = *end == ',' ? end + 1 : end;
        if (*at != '\0' && end == at) {
            exit(2);
        }
    }
    return steps;
}

std::string write_steps(const Steps& steps)
{
    std::string text;
    for (size_t i = 0; i < steps.size();) {
        size_t last = i;
        while (last + 1 < steps.size() && steps[last + 1] == steps[last] + 1) {
            last++;
        }
        text += (text.empty() ? "" : ",") + std::to_string(steps[i]) +
                (last > i ? "-" + std::to_string(steps[last]) : "");
        i = last + 1;
    }
    return is_list(text) ? text : text + ",";
}

// A seed that did not reach what it chose goes on for some time.
constexpr size_t further = 5;

void run_world(uint64_t seed, const Steps& steps)
{
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

std::string again_with(uint64_t seed, const std::string& steps)
{
    return "make sim SEED=" + std::to_string(seed) + world_option + " STEPS=" + steps +
           (options.features != nullptr ? std::string(" FEATURES=") + options.features : "");
}

int run_one()
{
    const Steps all = read_steps(options.steps);
    Steps steps = all;
    if (options.shrink) {
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
    const Reached* missing = is_list(options.steps) ? nullptr : not_reached();
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

// ---- Many seeds

// What a child says of its seed, and what became of all.
struct Sum {
    uint64_t yields = 0, ids = 0, marks = 0, starts = 0;
    int64_t virtual_us = 0;
};

struct Fault {
    uint64_t seeds = 0, first_seed = 0, first_step = 0;
    double cpu = 0; // of all seeds up to the first one
};

struct Child {
    pid_t pid;
    uint64_t seed;
    FILE* says;
};

// Ends a child that did its work; what a build for coverage counted is kept.
[[noreturn]] void leave_child()
{
    if (__llvm_profile_write_file != nullptr) {
        (void)__llvm_profile_write_file();
    }
    _exit(0);
}

// Writes what hear() reads.
[[noreturn]] void be_child(uint64_t seed, int to)
{
    report_to = to;
    const Steps steps = read_steps(options.steps);
    run_world(seed, steps);
    const Reached* missing = not_reached();
    if (missing != nullptr) {
        dprintf(to, "0 not reached: %s\n", missing->what);
        _exit(3);
    }
    for (const auto& [rule, seen] : known_seen) {
        dprintf(to, "known %llu %s\n", static_cast<unsigned long long>(seen.step), rule.c_str());
    }
    dprintf(to, "sum %llu %llu %llu %zu %lld\n", static_cast<unsigned long long>(yields),
            static_cast<unsigned long long>(ids_handed_out()),
            static_cast<unsigned long long>(polls), lives.size(), static_cast<long long>(true_us));
    leave_child();
}

Child start_child(uint64_t seed)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(2);
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_child(seed, ends[1]);
    }
    close(ends[1]);
    return {pid, seed, fdopen(ends[0], "r")};
}

// What came of many seeds.
struct Many {
    Sum sum;
    std::map<std::string, Fault> faults;
    std::map<uint64_t, std::string> bad; // seed, why
    uint64_t done = 0;
};

// Reads what a child says, and waits for its end.
void hear(const Child& child, Many& many)
{
    char line[700];
    bool whole = false;
    std::string why;
    while (fgets(line, sizeof line, child.says) != nullptr) {
        line[strcspn(line, "\n")] = '\0';
        char* rest = nullptr;
        if (strncmp(line, "known ", 6) == 0) {
            const uint64_t step = strtoull(line + 6, &rest, 10);
            Fault& fault = many.faults[rest + 1];
            if (fault.seeds++ == 0) {
                fault.first_seed = child.seed;
                fault.first_step = step;
                fault.cpu = cpu_seconds();
            }
        } else if (strncmp(line, "sum ", 4) == 0) {
            whole = true;
            many.sum.yields += strtoull(line + 4, &rest, 10);
            many.sum.ids += strtoull(rest, &rest, 10);
            many.sum.marks += strtoull(rest, &rest, 10);
            many.sum.starts += strtoull(rest, &rest, 10);
            many.sum.virtual_us += strtoll(rest, &rest, 10);
        } else {
            why = strchr(line, ' ') + 1;
        }
    }
    fclose(child.says);
    int status;
    waitpid(child.pid, &status, 0);
    many.done++;
    if (!whole) {
        many.bad[child.seed] = why.empty() ? "the program crashed" : why;
    }
}

// Runs seeds, a child each, until so many have ended, some are bad, or `enough` says so.
template <typename Enough>
void run_seeds(Many& many, uint64_t first, int64_t seeds, Enough enough)
{
    constexpr size_t most_bad = 5;
    std::vector<Child> children;
    const uint64_t end = first + static_cast<uint64_t>(seeds);
    const bool terminal = isatty(2) != 0;
    for (uint64_t next = first; next < end || !children.empty();) {
        while (next < end && children.size() < static_cast<size_t>(options.jobs)) {
            children.push_back(start_child(next++));
        }
        // The first of them, so that all is told in the order of the seeds.
        hear(children.front(), many);
        children.erase(children.begin());
        if (terminal) {
            fprintf(stderr, "\r%llu seeds of %lld, %llu ids, %zu bad ",
                    static_cast<unsigned long long>(many.done),
                    static_cast<long long>(options.seeds),
                    static_cast<unsigned long long>(many.sum.ids), many.bad.size());
        }
        if (many.bad.size() >= most_bad || enough()) {
            break;
        }
    }
    if (terminal) {
        fprintf(stderr, "\n");
    }
    for (const Child& child : children) {
        ::kill(child.pid, SIGKILL);
        waitpid(child.pid, nullptr, 0);
        fclose(child.says);
    }
}

void print_faults(const Many& many)
{
    for (const auto& [rule, fault] : many.faults) {
        printf("known, in %llu seeds, first in seed %llu at step %llu after %.1f CPU s: %s\n",
               static_cast<unsigned long long>(fault.seeds),
               static_cast<unsigned long long>(fault.first_seed),
               static_cast<unsigned long long>(fault.first_step), fault.cpu, rule.c_str());
    }
}

// Looks for a fault that is known, in worlds where it shows soon.
bool still_breaks(const Known& fault)
{
    constexpr int64_t most_seeds = 300;
    const char* features = options.features;
    options.features = fault.features.c_str();
    Many many;
    run_seeds(many, options.first, most_seeds,
              [&] { return many.faults.count(fault.rule) > 0 || !many.bad.empty(); });
    options.features = features;
    const auto at = many.faults.find(fault.rule);
    if (at != many.faults.end()) {
        printf("known, in seed %llu of features %s: %s\n",
               static_cast<unsigned long long>(at->second.first_seed), fault.features.c_str(),
               fault.rule.c_str());
    }
    return at != many.faults.end();
}

int run_many()
{
    Many many;
    run_seeds(many, options.first, options.seeds, [] { return false; });
    print_faults(many);
    for (const auto& [seed, why] : many.bad) {
        printf("bad seed %llu: %s\n", static_cast<unsigned long long>(seed), why.c_str());
    }
    const Sum& sum = many.sum;
    const double cpu = cpu_seconds();
    printf("%llu seeds, %.1f million yields (%.1f a CPU second), %llu ids, %llu marks, %llu "
           "starts, %.1f virtual hours, %.1f CPU s\n",
           static_cast<unsigned long long>(many.done), static_cast<double>(sum.yields) / 1e6,
           static_cast<double>(sum.yields) / 1e6 / cpu, static_cast<unsigned long long>(sum.ids),
           static_cast<unsigned long long>(sum.marks), static_cast<unsigned long long>(sum.starts),
           static_cast<double>(sum.virtual_us) / 3600e6, cpu);
    if (!many.bad.empty()) {
        fflush(stdout);
        options.seed = many.bad.begin()->first;
        const int status = run_one();
        printf("broken: seed %llu\n", static_cast<unsigned long long>(options.seed));
        return status;
    }
    for (const Known& fault : known_faults) {
        if (!options.part && many.faults.count(fault.rule) == 0 && !still_breaks(fault)) {
            printf("broken: nothing breaks this any more, take its line off the list of known "
                   "faults: %s\n",
                   fault.rule.c_str());
            return 1;
        }
    }
    printf("ok: %lld seeds\n", static_cast<long long>(options.seeds));
    return 0;
}

} // namespace

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
