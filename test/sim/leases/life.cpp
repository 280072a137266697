#include "leases/life.hpp"

#include "checker.hpp"
#include "leases/faults.hpp"
#include "leases/manners.hpp"
#include "leases/members.hpp"
#include "leases/tokens.hpp"
#include "leases/truth.hpp"
#include "leases/worker_process.hpp"

#include <algorithm>

namespace sim {

int64_t next_look;

namespace {

constexpr int64_t harmless_bound_us = 10 * second;  // after a start, when nothing else is wrong
constexpr int64_t slow_bound_us = 40 * second;      // with up to 1.6 s for each answer
constexpr int64_t alone_bound_us = 15 * second;     // where settings name no coordinator any more
constexpr int64_t own_lease_bound_us = 3 * second;  // sessions try again once in a second
constexpr int64_t span_bound_us = 4 * second;       // one of the span may be awaited for 3 s before
constexpr int64_t put_right_bound_us = 10 * second; // after a clock was put right
constexpr int64_t look_every_us = 500 * ms;
constexpr int64_t unused_bound_us = 3600 * second + 3 * minute; // a lease that nobody uses

Reached lease_renewed(0, "a renewal");
Reached lost_happened('U', "an answer was lost");
Reached twice_happened('2', "a question was asked twice");

// Nothing is ever in the way to the coordinator. Elsewhere what was not given back at once runs
// out.
bool reachable()
{
    return world.chosen.find_first_not_of("XFKWIGRQwJlLug") == std::string::npos;
}

// Nothing happens but what a lease that is kept outlives, whatever becomes of the coordinator.
bool keeps_leases()
{
    return world.chosen.find_first_of("KPEQMlRwd") == std::string::npos;
}

// Answers are lost, but a server that was stopped tells again what it gave back.
bool tells_again(const Member& member)
{
    return !member.crashed && world.chosen.find_first_not_of("FUDWIGLu2") == std::string::npos;
}

// Nothing happens but that clocks are set, and nobody was promised anything.
bool clocks_alone()
{
    return world.has('K') && world.has('u') &&
           world.chosen.find_first_not_of("KuWILR") == std::string::npos;
}

// A right clock serves at once those who take any node, whatever it was before. But a start leads
// past the ids from before, whatever the node.
void serve_after_clock(int number, const DrawingSession& one)
{
    const Member& member = members[number];
    Server& s = servers[number];
    const int64_t now_us = wall_clock(s);
    const int64_t offset_us = now_us - true_epoch_us - true_us;
    const int64_t began = std::max({one.wants_since, member.clock_set_us, member.started_us,
                                    worker_began(s), faults.rested_us, member.still_until});
    if (clocks_alone() && member.any && one.wants_since != 0 && offset_us < second &&
        offset_us > -second && member.made_until_us + put_right_bound_us < now_us &&
        true_us - began > put_right_bound_us) {
        sim::tell("server %d, for %.1f s; it made ids up to %.3f", number,
                  static_cast<double>(true_us - began) / 1e6,
                  static_cast<double>(last_made_us(number) - true_epoch_us) / 1e6);
        broken("life: a clock that was put right holds up ids of any node");
    }
}

// The lease that ends last of those that have a node of this one's range; nullptr: there was none.
const HistoryRow* last_lease_of(int32_t node)
{
    const LeaseTables& tables = host().database.tables;
    int32_t first = node, nodes = 1;
    for (const auto& [key, row] : tables.nodes) {
        if (key.first == default_realm && has_node(key.second, row.nodes, node)) {
            first = key.second;
            nodes = row.nodes;
        }
    }
    const HistoryRow* last = nullptr;
    for (const auto& [token, row] : tables.history) {
        const bool has = row.realm == default_realm && first < row.node + row.nodes &&
                         row.node < first + nodes;
        last = has && (last == nullptr || row.end_us > last->end_us) ? &row : last;
    }
    return last;
}

// Its range is no more: what is given back of it counts until its end.
bool is_of_old_range(const HistoryRow& lease)
{
    const LeaseTables& tables = host().database.tables;
    const auto row = tables.nodes.find({default_realm, lease.node});
    const auto last = row == tables.nodes.end() || !row->second.leased
                          ? tables.history.end()
                          : tables.history.find(row->second.token);
    return last == tables.history.end() || &last->second != &lease;
}

// A transaction that somebody leaves open has the node.
bool is_held_open(const Host& at, const NodeKey& key)
{
    return std::any_of(at.backends.begin(), at.backends.end(), [&](const auto& one) {
        return one.second.holds_us > 0 && one.second.transaction != 0 &&
               at.database.changes(one.second.transaction).nodes.count(key) != 0;
    });
}

// Leases that were lost while the coordinator's clock was ahead last until then, and have all of
// its nodes that are given to those who take any: that is not the first range. So have those that
// servers could not write down, where disks fail and a realm has few ranges.
bool all_are_lost(int number)
{
    const Host& at = world.has('g') ? hosts[region_of(number)] : host();
    const auto& nodes = at.database.tables.nodes;
    const bool lost = faults.ran_ahead || (world.has('d') && world.has('r'));
    return lost && std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
               return node.first.first != default_realm || node.first.second == 0 ||
                      node.second.free_from_us > host_wall_us(at) || is_held_open(at, node.first);
           });
}

// For a while, the coordinator may not give that node to this server, which asks for it by number.
bool may_be_denied(int number, int32_t node)
{
    const Member& member = members[number];
    const HistoryRow* lease = last_lease_of(node);
    const bool held = lease != nullptr && lease->end_us > host_wall_us(host()) - calm_bound_us;
    // Coordinators that lose commits and servers that leave them forget what was given back.
    const bool forgetful = world.chosen.find_first_of("BOYQM") != std::string::npos;
    // A stop gives the node back; where the layout has a back field, from the end of the lease on.
    // Whose machine was switched off, or whose disk failed, has lost the lease. Where a clock was
    // ahead, what is given back stays taken until then.
    const bool its_own =
        held && lease->holder.find("db-" + std::to_string(number)) != std::string::npos &&
        (member.torn || member.moved || world.has('l') || world.has('d') || faults.nonsense ||
         is_of_old_range(*lease) ||
         (lease->released && world.chosen.find_first_of("AK") != std::string::npos) ||
         (forgetful && gave_back(number, static_cast<uint32_t>(member.node),
                                 static_cast<uint32_t>(member.node + member.further))));
    // A realm was divided anew, and another part of what is one range now has a lease.
    bool taken = held && !has_node(lease->node, lease->nodes, node);
    for (int i = 0; i < member_count && held; i++) {
        taken = taken || (members[i].any &&
                          lease->holder.find("db-" + std::to_string(i)) != std::string::npos);
    }
    taken = taken || is_held_open(host(), {default_realm, node});
    return its_own || taken || (member.further > 0 && held && lease->holder == "somebody");
}

void serve_until_now(int number, const DrawingSession& one)
{
    Member& member = members[number];
    const int64_t well_since = std::max({faults.calm_since, member.started_us, faults.rested_us,
                                         host().free_since, member.taken_us, member.begins_us});
    const bool alone = member.harmless && true_us - faults.calm_since > 2 * calm_bound_us;
    const int64_t began = std::max({one.wants_since, worker_began(servers[number]),
                                    member.started_us, member.still_until, member.taken_us});
    if (one.wants_since != 0 && member.crashed && !member.torn && keeps_leases() &&
        lease_worker(servers[number]) != nullptr &&
        true_us - began > (world.has('G') ? span_bound_us : own_lease_bound_us) &&
        goes_on_in_lease(number)) {
        sim::tell("server %d, for %.1f s", number, static_cast<double>(true_us - began) / 1e6);
        broken("life: a server does not go on in its own lease");
    }
    if (wall_clock(servers[number]) < member.clock_was_us) {
        member.behind_us = true_us;
    }
    const int64_t alone_since = std::max({one.wants_since, member.started_us, member.still_until,
                                          member.left_us, member.begins_us, member.behind_us});
    if (one.wants_since != 0 && member.left_us != 0 && !member.any && !world.has('d') &&
        true_us - alone_since > alone_bound_us) {
        sim::tell("server %d, for %.1f s", number,
                  static_cast<double>(true_us - alone_since) / 1e6);
        broken("life: no id without a coordinator");
    }
    if (!faults.calm) {
        return;
    }
    const int64_t bound = world.has('V')                 ? slow_bound_us
                          : alone || tells_again(member) ? harmless_bound_us
                                                         : calm_bound_us;
    const int64_t waits = true_us - std::max(one.wants_since, well_since);
    if (one.wants_since == 0 || waits <= bound / 2) {
        return;
    }
    bool denied = true; // each node that would do
    for (int32_t node = member.node; node <= member.node + member.further; node++) {
        denied = denied && (member.any ? all_are_lost(number) : may_be_denied(number, node));
    }
    if (denied) {
        member.taken_us = true_us;
        return; // a node is free while its server is away
    }
    if (waits <= bound) {
        return;
    }
    sim::tell("server %d, %s, has no id for %.1f s", number,
              member.any ? "any node" : ("node " + std::to_string(member.node)).c_str(),
              static_cast<double>(waits) / 1e6);
    if (const HistoryRow* lease = last_lease_of(member.node)) {
        sim::tell("; \"%s\" has the node until %.3f, it is now %.3f", lease->holder.c_str(),
                  static_cast<double>(lease->end_us - true_epoch_us) / 1e6,
                  static_cast<double>(true_us) / 1e6);
    }
    for (const auto& [id, backend] : host().backends) {
        if (backend.transaction != 0 && host().database.blocked(backend.transaction)) {
            sim::tell("; a backend of server %d waits for %s", backend.server,
                      host().database.obstacle(backend.transaction).c_str());
        }
    }
    if (lease_worker(servers[number]) == nullptr) {
        sim::tell("; it has no lease worker");
    }
    broken("life: no id though all is well");
}

// Where servers know a later coordinator that this one has not heard of, somebody does once what
// their error says, as soon as that is of use.
void superuser_reads_log()
{
    Host& at = host();
    if (!faults.calm || !faults.unheard || !at.up || at.later_known_us <= at.told_of_us ||
        at.later_known_us < at.database.clock.term) {
        return;
    }
    faults.rested_us = true_us;
    if (host_wall_us(at) > at.later_known_us) {
        at.told_of_us = at.later_known_us;
        tell_host(at, Question::begin_rest);
        note("flakeid.lease_begin_rest()");
    }
}

} // namespace

void expect_no_renewals()
{
    lease_renewed();
}

void look()
{
    next_look = true_us + look_every_us;
    if (rests_until(host()) != 0 || !host().up) {
        faults.rested_us = true_us;
    }
    superuser_reads_log();
    for (int i = 0; i < member_count; i++) {
        Server& s = servers[i];
        Member& member = members[i];
        if (s.up && member.stopping) {
            attend_stop(i);
            if (!member.stopping && reachable() && keeps_used(i)) {
                broken("a server that was stopped did not give its lease back");
            }
            continue;
        }
        if (!s.up) {
            continue;
        }
        if (worker_is_registered(s) && lease_worker(s) == nullptr) {
            start_worker(s, true_us + second);
            lease_worker(s)->random = Random(mix(world.seed, static_cast<uint64_t>(true_us)));
        }
        for (const Host& at : hosts) {
            if (leaves_several(at, i)) {
                sim::tell("server %d", i);
                broken("a server leaves several backends at the coordinator");
            }
        }
        const int64_t free_since =
            std::max({faults.calm_since, faults.rested_us, member.started_us});
        const int64_t long_ago = true_us - unused_bound_us;
        if (reachable() && faults.calm && free_since < true_us - 3 * minute &&
            member.tried_us < long_ago && holds_unused(i, long_ago)) {
            broken("a lease that nobody uses is not given back");
        }
        if (reachable() && world.chosen.find_first_of("KPRQw") == std::string::npos &&
            renews_late(i)) {
            sim::tell("server %d", i);
            broken("a lease is not renewed in time");
        }
        for (int k = 0; k < world.session_count; k++) {
            serve_until_now(i, member.sessions[k]);
            serve_after_clock(i, member.sessions[k]);
        }
    }
    look_at_connections();
    look_at_given_back();
    if (renewals_told > 0) {
        lease_renewed();
    }
    if (host_counts.lost_answers > 0) {
        lost_happened();
    }
    if (host_counts.doubled > 0) {
        twice_happened();
    }
}

} // namespace sim
