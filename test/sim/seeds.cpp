// Many seeds, a process each.
#include "run.hpp"

#include "checkers.hpp"
#include "world.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace sim {

namespace {

// What a child says of its seed, and what became of all.
struct Sum {
    uint64_t orders = 0, yields = 0, ids = 0, marks = 0, starts = 0;
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

// Writes what hear() reads.
[[noreturn]] void be_child(uint64_t seed, int to)
{
    report_to = to;
    const Steps steps = read_steps(options.steps);
    run_world(seed, steps);
    const Reached* missing = options.every > 0 ? nullptr : not_reached();
    if (missing != nullptr) {
        dprintf(to, "0 not reached: %s\n", missing->what);
        _exit(3);
    }
    for (const auto& [rule, seen] : known_seen) {
        dprintf(to, "known %llu %s\n", static_cast<unsigned long long>(seen.step), rule.c_str());
    }
    dprintf(to, "sum %llu %llu %llu %llu %zu %lld\n", static_cast<unsigned long long>(orders),
            static_cast<unsigned long long>(yields),
            static_cast<unsigned long long>(ids_handed_out()),
            static_cast<unsigned long long>(polls), lives.size(), static_cast<long long>(true_us));
    _exit(0);
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
            many.sum.orders += strtoull(line + 4, &rest, 10);
            many.sum.yields += strtoull(rest, &rest, 10);
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
    const size_t most_bad = options.part ? 1 : 5;
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

} // namespace

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
    if (options.every > 0) {
        printf("%llu orders, %.1f CPU s\n", static_cast<unsigned long long>(sum.orders), cpu);
    } else {
        printf("%llu seeds, %.1f million yields (%.1f a CPU second), %llu ids, %llu marks, %llu "
               "starts, %.1f virtual hours, %.1f CPU s\n",
               static_cast<unsigned long long>(many.done), static_cast<double>(sum.yields) / 1e6,
               static_cast<double>(sum.yields) / 1e6 / cpu,
               static_cast<unsigned long long>(sum.ids), static_cast<unsigned long long>(sum.marks),
               static_cast<unsigned long long>(sum.starts),
               static_cast<double>(sum.virtual_us) / 3600e6, cpu);
    }
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

} // namespace sim
