#include "leases/manners.hpp"

#include "backend.hpp"
#include "checker.hpp"
#include "leases/holder/worker.hpp"
#include "leases/faults.hpp"
#include "leases/members.hpp"
#include "leases/network.hpp"
#include "leases/worker_process.hpp"
#include "settings/lease_settings.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

namespace sim {

namespace {

constexpr int64_t longest_unused_us = 15 * second; // a question may wait for 10 s
constexpr int64_t window_us = 10 * second;
constexpr size_t most_questions = 1000; // in that time
constexpr size_t most_releases = 40;
constexpr size_t most_errors = 400;
// Attempts to connect after others that came to nothing: each begins 2.5 s after the one before. A
// server that stands still may make the first of them late.
constexpr size_t attempts_looked_at = 12;
constexpr int64_t least_wait_us = 2 * second;
constexpr int64_t longest_first_wait_us = second / 2; // 0.1 s, and what the way there takes

struct Manners {
    std::deque<int64_t> questions, releases, attempts, errors; // when
    size_t attempts_in_vain = 0;
    bool answered = false;   // since an attempt came to nothing
    int64_t failed_us = 0;   // when the first one did after an answer, and none came since; 0: none
    int64_t fails_until = 0; // whatever needs memory or waits does
};
Manners of_server[most_servers];

Manners& mine()
{
    return of_server[here().number];
}

void add(std::deque<int64_t>& times)
{
    times.push_back(true_us);
    while (times.front() < true_us - window_us) {
        times.pop_front();
    }
}

bool is_worker()
{
    return running != nullptr && lease_worker(here()) == running;
}

// Errors come alone, or for a while.
bool fails_now()
{
    if (!world.has('E') || !is_worker() || faults.calm) {
        return false;
    }
    if (running->random.one_in(2000)) {
        const int64_t longest = running->random.one_in(4) ? 2 * minute : 10 * second;
        mine().fails_until = true_us + running->random.below(longest);
    }
    return true_us < mine().fails_until || running->random.one_in(100);
}

// What fails is asked for again, and nothing but that.
bool looks_at_first_waits()
{
    return world.chosen.find_first_not_of("NCADXFWIKkua2") == std::string::npos;
}

bool memory_is_short()
{
    return PG_exception_stack != nullptr && CritSectionCount == 0 &&
           !LWLockHeldByMe(AddinShmemInitLock) && fails_now();
}

} // namespace

void manners_begin()
{
    for (Manners& one : of_server) {
        one = Manners{};
    }
    out_of_memory = memory_is_short;
    on_error_report = error_is_logged;
}

void begins_to_connect()
{
    std::deque<int64_t>& attempts = mine().attempts;
    if (flakeid::worker_stopping || world.has('E')) {
        may_connect();
    }
    attempts.push_back(true_us);
    if (attempts.size() > attempts_looked_at) {
        attempts.pop_front();
    }
    if (mine().failed_us > worker_began(here()) && looks_at_first_waits() &&
        true_us - std::max(mine().failed_us, members[here().number].still_until) >
            longest_first_wait_us) {
        tell("%.3f s", static_cast<double>(true_us - mine().failed_us) / 1e6);
        broken("a server waits for long before it asks again a coordinator that answered");
    }
    mine().failed_us = 0;
    // One attempt may be of several addresses.
    const size_t addresses = world.chosen.find_first_of("HOY") == std::string::npos ? 1 : 3;
    const auto rounds = static_cast<int64_t>(attempts_looked_at / addresses);
    if (++mine().attempts_in_vain > attempts_looked_at + 8 * addresses &&
        attempts.back() - attempts.front() < (rounds - 1) * least_wait_us) {
        tell("%zu in %.1f s", attempts_looked_at,
             static_cast<double>(attempts.back() - attempts.front()) / 1e6);
        broken("a server does not leave a coordinator alone that cannot be reached");
    }
}

void may_connect()
{
    mine().attempts.clear();
    mine().attempts_in_vain = 0;
}

void connection_ends(bool in_vain)
{
    if (in_vain && mine().answered) {
        mine().failed_us = true_us;
        mine().answered = false;
    }
}

void lease_is_answered()
{
    mine().answered = true;
}

void asks(const std::string& sql, const std::string& conninfo)
{
    add(mine().questions);
    if (mine().questions.size() > most_questions) {
        broken("a server overwhelms its coordinator with questions");
    }
    // What is held is given back by the old settings.
    const bool release = sql.find("lease_release(") != std::string::npos;
    if (release) {
        add(mine().releases);
    }
    if (mine().releases.size() > most_releases) {
        broken("a server overwhelms its coordinator with what it gives back");
    }
    if (!release && !flakeid::worker_stopping && !world.has('E') &&
        conninfo != flakeid::lease_settings.coordinator) {
        broken("a coordinator is asked that the settings do not name any more");
    }
}

void turn_ends()
{
    const Held& held = held_of_libpq();
    if (!world.has('E') && (held.connections > 1 || held.results > 0 || held.lists > 0)) {
        tell("%d connections, %d results, %d lists", held.connections, held.results, held.lists);
        broken("the lease worker keeps what it does not need");
    }
}

void worker_ends()
{
    if (!world.has('E') && held_of_libpq().connections > 0) {
        broken("the lease worker ends without taking leave");
    }
}

void error_is_logged()
{
    add(mine().errors);
    if (mine().errors.size() > most_errors) {
        broken("the lease worker fills the log with errors");
    }
}

void wait_may_fail()
{
    if (fails_now()) {
        ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("a wait failed"));
    }
}

void look_at_connections()
{
    for (const auto& [id, connection] : connections) {
        const Member& member = members[connection.server];
        const int64_t since = std::max(connection.used_us, member.still_until);
        if (connection.open_here && true_us - since > longest_unused_us) {
            tell("server %d, not used for %.1f s", connection.server,
                 static_cast<double>(true_us - since) / 1e6);
            broken("a server keeps a connection that it does not use");
            return;
        }
    }
}

} // namespace sim
