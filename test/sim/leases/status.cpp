#include "leases/status.hpp"

#include "checker.hpp"
#include "generator/leased.hpp"
#include "leases/holder/report.hpp"
#include "leases/holder/worker.hpp"
#include "leases/manners.hpp"
#include "leases/members.hpp"
#include "leases/wire.hpp"
#include "leases/worker_process.hpp"
#include "server/clock.hpp"
#include "settings/lease_settings.hpp"
#include "settings/node.hpp"
#include "settings/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sim {

namespace {

// Refusals of a node in a row, of a server's life.
struct Refused {
    uint64_t life = 0;
    int64_t first_us = 0, last_us = 0; // true time
};
std::map<std::pair<int, uint32_t>, Refused> refusals;

// When a server was last given what it asked for.
struct Answered {
    uint64_t life = 0;
    int64_t wall_us = 0, at_us = 0; // at_us: true time
} answered[most_servers];

// Since when the status says that there is no answer yet, and the lease worker had none, by server
// and node.
std::map<std::pair<int, uint32_t>, int64_t> silent_since;

// The same while another lease was given back, as none for the server's clock.
std::map<std::pair<int, uint32_t>, int64_t> untold_since;

std::vector<flakeid::LeaseReport> list_leases()
{
    std::vector<flakeid::LeaseReport> list;
    for (int i = 0; i < flakeid::max_leases; i++) {
        flakeid::LeaseReport report{};
        if (flakeid::report_lease(i, &report)) {
            list.push_back(report);
        }
    }
    return list;
}

bool is_of_another(const flakeid::LeaseReport& report)
{
    return strstr(report.reasons, "the node is not free") != nullptr ||
           strstr(report.reasons, "Another holder") != nullptr;
}

bool same(const std::vector<flakeid::LeaseReport>& a, const std::vector<flakeid::LeaseReport>& b)
{
    bool equal = a.size() == b.size();
    for (size_t i = 0; equal && i < a.size(); i++) {
        equal = a[i].wanted == b[i].wanted && strcmp(a[i].reasons, b[i].reasons) == 0;
    }
    return equal;
}

// Of flakeid.nodes() and the status.
void nodes_are_leased()
{
    const flakeid::Layout& layout = flakeid::settings.layout;
    flakeid::NodeSpan span = configured_span(layout);
    if (span.problem == nullptr && nodes_in_use(layout, &span) &&
        !was_leased(span.first, span.last)) {
        tell("nodes %u to %u", span.first, span.last);
        broken("the status tells of nodes that were never leased");
    }
}

} // namespace

void status_begins()
{
    refusals.clear();
    silent_since.clear();
    untold_since.clear();
    std::fill(std::begin(answered), std::end(answered), Answered{});
}

void status_is_answered()
{
    silent_since.erase(silent_since.lower_bound({here().number, 0}),
                       silent_since.lower_bound({here().number + 1, 0}));
}

void status_is_given()
{
    answered[here().number] = {here().life, wall_clock(here()), true_us};
}

void status_is_granted(uint32_t node)
{
    refusals.erase({here().number, node});
}

void status_reads_settings()
{
    status_is_answered();
    for (auto& [key, row] : refusals) {
        row.first_us = key.first == here().number ? true_us : row.first_us;
    }
}

void is_refused(const std::string& sql, const std::vector<Value>& values, const std::string& state)
{
    status_is_answered();
    if (state == lease_sqlstate(LeaseRefusal::rests) && !says(sql, "lease_release(")) {
        lease_is_answered();
    }
    if (says(sql, "lease_acquire(") && !values[7].null) {
        const auto node = static_cast<uint32_t>(atoi(values[7].text.c_str()));
        Refused& row = refusals[{here().number, node}];
        if (row.life != here().life || true_us - row.last_us > 10 * second) {
            row = {here().life, true_us, true_us};
        }
        row.last_us = true_us;
    }
}

void look_at_status()
{
    const int number = here().number;
    const Member& member = members[number];
    const int64_t looked_us = std::max({worker_began(here()), member.still_until, member.left_us});
    for (flakeid::Lease& lease : flakeid::shared_leases()->leases) {
        const auto used_at = static_cast<flakeid::Steady>(pg_atomic_read_u64(&lease.used_at));
        if (lease.in_use && pg_atomic_read_u64(&lease.end_us) == 0 &&
            flakeid::steady_now() - used_at > unused_us + 3 * minute &&
            true_us - looked_us > 3 * minute && !world.has('E') &&
            flakeid::lease_settings.coordinator[0] != '\0') {
            tell("node %u", lease.wanted);
            broken("a lease that nobody wants has its entry");
        }
    }
    if (flakeid::lease_settings.coordinator[0] == '\0') {
        return;
    }
    if (member.any) {
        nodes_are_leased();
        return;
    }
    const auto first = static_cast<uint32_t>(member.node);
    const uint32_t last = first + static_cast<uint32_t>(member.further);
    const std::vector<flakeid::LeaseReport> list = list_leases();
    const uint32_t usable = flakeid::tenure_nodes(first, last);
    if (same(list, list_leases())) {
        uint32_t others = 0;
        for (const flakeid::LeaseReport& report : list) {
            const bool ours = report.wanted >= first && report.wanted <= last;
            others += ours && is_of_another(report) ? 1 : 0;
        }
        if (usable != last - first + 1 - others) {
            tell("%u of nodes %u to %u; others have %u", usable, first, last, others);
            broken("the status counts the usable nodes wrong");
        }
    }
    const Answered told = answered[number]; // as it was before the status is read
    const bool settled = told.life == here().life && !world.has('K') && !world.has('E') &&
                         std::max(told.at_us, member.still_until) < true_us - 20 * second;
    if (settled && flakeid::report_coordinator().answered_us < told.wall_us - second) {
        broken("the status does not say when the coordinator answered");
    }
    const bool of_clock =
        std::any_of(list.begin(), list.end(), [](const flakeid::LeaseReport& report) {
            return report.end_us == 0 && strstr(report.reasons, "this server's clock") != nullptr;
        });
    for (const flakeid::LeaseReport& report : list) {
        const bool silent =
            report.end_us == 0 && strstr(report.reasons, "no answer yet") != nullptr;
        if (!silent || !of_clock) {
            untold_since.erase({number, report.wanted});
        }
        if (!silent) {
            silent_since.erase({number, report.wanted});
            continue;
        }
        const std::pair key{number, report.wanted};
        const int64_t since_us = silent_since.emplace(key, true_us).first->second;
        const int64_t untold_us =
            of_clock ? untold_since.emplace(key, true_us).first->second : true_us;
        if (true_us - std::max(untold_us, looked_us) > 2 * longest_answer_us) {
            tell("node %u", report.wanted);
            broken("the status does not say that no lease fits the clock");
        }
        if (true_us - std::max({since_us, looked_us, member.started_us}) >
            2 * longest_answer_us) {
            tell("node %u, for %.1f s", report.wanted,
                 static_cast<double>(true_us - since_us) / 1e6);
            broken("the status does not say what goes wrong");
        }
        const auto at = refusals.find({number, report.wanted});
        const bool for_long = at != refusals.end() && at->second.life == here().life &&
                              at->second.last_us - at->second.first_us > longest_answer_us &&
                              true_us - at->second.last_us < 10 * second &&
                              member.still_until < at->second.first_us;
        if (for_long && !world.has('E')) {
            tell("node %u", report.wanted);
            broken("the status does not say why a lease is missing");
        }
    }
}

} // namespace sim
