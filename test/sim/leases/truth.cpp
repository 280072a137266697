#include "leases/truth.hpp"

#include "checker.hpp"
#include "checkers.hpp"
#include "leases/holder/worker.hpp"
#include "leases/believed.hpp"
#include "leases/faults.hpp"
#include "leases/life.hpp"
#include "leases/manners.hpp"
#include "leases/members.hpp"
#include "leases/status.hpp"
#include "leases/tokens.hpp"
#include "leases/wire.hpp"
#include "leases/worker_process.hpp"
#include "map.hpp"
#include "settings/lease_settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sim {

uint64_t renewals_told;

namespace {

struct Told {
    std::string realm;
    uint32_t node, nodes; // a range, by its first node
    int server;
    uint64_t life; // of the server
    int64_t start_us;
    // Nobody else gets the node before the end that the coordinator told. The server believes no
    // later one than its own clock and the length that it asked for allow.
    int64_t end_us, told_end_us;
    bool given_back;
    int64_t issued_us;                // of the last id
    int64_t told_us = 0, used_us = 0; // true time; used_us: when the last id was drawn, 0: none was
    bool left = false;                // the settings name no coordinator any more
    int64_t length_us = 0;            // as the last question asked
    int64_t answered_us = 0;          // true time
    bool short_of = false;       // the answer gave less than was asked for, by the server's clock
    bool too_late = false;       // it began so late by the server's clock that it is put aside
    int directory = 0;           // of the server
    int64_t given_back_us = 0;   // true time
    int64_t lasted_until_us = 0; // its end before
    int64_t earlier_end_us = 0;  // as the server knew it before the last answer; 0: it did not
    int64_t kept_end_us = 0;     // as it knows it after a crash
    int64_t origin = 0;          // of the coordinator that answered last
    std::string realm_id;        // as it said
};
std::map<std::string, Told> leases;             // by token, and a number where that was used again
std::map<uint32_t, std::vector<Told*>> of_node; // the latest is the last
std::map<uint32_t, bool> overlapped;            // two leases of a node did
struct Owner {
    int server;
    uint32_t node;
    bool leased;
};
IdMap<Owner> owners;
PROCESS_LOCAL int64_t asked_wall_us = 0; // by the server's clock
uint64_t handed_out;
int64_t left_us[most_servers];    // true time at which servers left a node for another one
int64_t made_until[most_servers]; // the latest moment of the ids that servers made; 0: none

// When a server went on in its lease of a node after its start.
std::map<std::pair<int, uint32_t>, int64_t> went_on_us;

// When a node was given back since nobody used it, by server and node.
std::map<std::pair<int, uint32_t>, int64_t> unwanted_since;

double seconds_of(int64_t us)
{
    return static_cast<double>(us - true_epoch_us) / 1e6;
}

// A renewal is planned with each answer; a lease worker that begins renews at once.
void check_renewal(const Told& lease, int64_t length_us)
{
    const bool early = true_us - lease.answered_us < length_us / 13;
    if (early && lease.answered_us > worker_began(here()) && length_us == lease.length_us &&
        !lease.short_of && !world.has('E') && !world.has('d')) {
        tell("node %u, %.3f s after the last answer", lease.node,
             static_cast<double>(true_us - lease.answered_us) / 1e6);
        broken("a lease is renewed that was just given or renewed");
    }
}

// Notes the end that the coordinator told, and returns true where the lease lasts longer for it.
bool note_answer(Told& lease, int64_t length_us, int64_t told_us)
{
    const int64_t own_us = (asked_wall_us / second + 1) * second + length_us;
    const int64_t end_us = std::max(lease.start_us + second, std::min(told_us, own_us));
    lease.length_us = length_us;
    lease.earlier_end_us = lease.life == here().life ? lease.end_us : lease.kept_end_us;
    lease.answered_us = true_us;
    lease.life = here().life;
    lease.short_of = end_us - wall_clock(here()) < length_us * 9 / 10;
    lease.too_late =
        lease.start_us - wall_clock(here()) > flakeid::settings.max_ahead_us + 20 * second;
    if (lease.given_back) {
        return false;
    }
    const bool longer = told_us > lease.told_end_us || end_us > lease.end_us;
    lease.end_us = std::max(lease.end_us, end_us);
    lease.told_end_us = std::max(lease.told_end_us, told_us);
    return longer;
}

// Outside a stop and new settings, what is in use and lasts for more than a second is kept. A lease
// worker may tell what the one before it gave back.
void check_release(const Told& lease)
{
    const bool ahead = lease.start_us > wall_clock(here()) + 5 * second;
    const bool kept = went_on_us[{here().number, lease.node}] > worker_began(here()) &&
                      of_node[lease.node].back() == &lease;
    const bool answered = lease.answered_us > worker_began(here());
    const int64_t end_us = answered ? lease.end_us : lease.kept_end_us;
    // It may have ended by the clock as it was.
    const bool set = world.has('K') || members[here().number].clock_set_us > true_us - second;
    if ((kept || answered) && !flakeid::worker_stopping && !lease.given_back && !set && !ahead &&
        end_us > wall_clock(here()) + second && true_us - lease.used_us < unused_us - minute) {
        tell("node %u, until %.3f", lease.node, seconds_of(lease.end_us));
        broken("a lease is given back that is in use");
    }
}

// A layout that is named in a call is served with what is there.
void check_max_node(const std::string& max_node)
{
    if (atoi(max_node.c_str()) != last_fixed) {
        tell("a node up to %s", max_node.c_str());
        broken("naming a layout takes a lease of its own");
    }
}

// For a clock that was set, a node is left once.
void check_left(const Told& lease)
{
    const Member& member = members[lease.server];
    const int64_t now_us = wall_clock(here());
    const bool alone =
        world.has('K') && world.chosen.find_first_not_of("KuWIL") == std::string::npos;
    const bool in_use = true_us - std::max(lease.used_us, lease.told_us) < minute;
    if (!alone || flakeid::worker_stopping || lease.given_back || !in_use ||
        lease.end_us <= now_us + second || lease.start_us > now_us + 20 * second) {
        return;
    }
    if (left_us[lease.server] > std::max(member.clock_set_us, member.started_us)) {
        tell("server %d, node %u", lease.server, lease.node);
        broken("a node is left for another again, and no clock was set");
    }
    left_us[lease.server] = true_us;
}

void check_wanted(uint32_t node)
{
    const auto at = unwanted_since.find({here().number, node});
    // Who tried before may still wait.
    if (at != unwanted_since.end() && members[here().number].tried_us < at->second - minute) {
        tell("node %u, given back %.3f s ago", node,
             static_cast<double>(true_us - at->second) / 1e6);
        broken("a lease is asked for that nobody wants");
    }
}

// What a failover may have lost: a node that was given to somebody else.
struct GivenAway {
    bool known;
    uint32_t node;
    int64_t start_us;
};
GivenAway given_away;

void check_given_away(const Told& lease)
{
    const bool promised = !faults.split && !faults.forgotten && !faults.ran_ahead;
    if (promised && given_away.known && given_away.node == lease.node &&
        lease.start_us < given_away.start_us && lease.told_end_us > given_away.start_us) {
        tell("node %u, from %.3f until %.3f; somebody has it from %.3f on", lease.node,
             seconds_of(lease.start_us), seconds_of(lease.told_end_us),
             seconds_of(given_away.start_us));
        broken("a lease is renewed whose node was given away");
    }
}

// Two leases of a node share no moment, whatever their realm is called: the servers are one fleet.
// What a coordinator told lasts until the end that it told, unless its clock ran ahead: then for no
// longer than the server believes, and not at all where that puts it aside, since what takes the
// coordinator's place knows no better.
// Whoever never heard of the coordinator that replaced another may get a node of that by chance;
// and so may a server that never had a lease, in a realm that is another one, but not another
// region's.
void check_overlap(const Told& a)
{
    const auto end_of = [](const Told& lease) {
        return !faults.ran_ahead ? lease.told_end_us
               : lease.too_late  ? lease.start_us
                                 : lease.end_us;
    };
    for (uint32_t node = a.node; node < a.node + a.nodes; node++) {
        for (const Told* other : of_node[node]) {
            const Told& b = *other;
            const bool moved = a.server == b.server && a.realm != b.realm; // it left the other
            const bool aside = a.server == b.server && (a.too_late || b.too_late);
            const bool share = other != &a && !moved && !aside &&          // not so of empty ones
                               std::max(a.start_us, b.start_us) < std::min(end_of(a), end_of(b));
            const bool beside = (faults.split || faults.forgotten) && a.origin != b.origin;
            const bool by_chance = beside || (!world.has('g') && a.realm_id != b.realm_id);
            overlapped[node] = overlapped[node] || share;
            if (share && !by_chance) {
                tell("node %u: server %d has it [%.3f, %.3f), server %d [%.3f, %.3f)", node,
                     a.server, seconds_of(a.start_us), seconds_of(end_of(a)), b.server,
                     seconds_of(b.start_us), seconds_of(end_of(b)));
                broken("two leases of a node overlap");
            }
        }
    }
}

} // namespace

void truth_begins()
{
    leases.clear();
    of_node.clear();
    overlapped.clear();
    unwanted_since.clear();
    went_on_us.clear();
    status_begins();
    believed_begins();
    tokens_begin();
    owners.clear();
    marks_begin();
    spans_begin();
    handed_out = renewals_told = 0;
    given_away = {};
    std::fill(std::begin(made_until), std::end(made_until), 0);
    std::fill(std::begin(left_us), std::end(left_us), 0);
}

void is_logged(const Server& server, const char* message)
{
    uint32_t node;
    if (sscanf(message, "this server goes on in its lease of node%*[s ]%u", &node) == 1) {
        went_on_us[{server.number, node}] = true_us;
    }
}

void is_asked(const std::string& sql, const std::vector<Value>& values)
{
    asked_wall_us = wall_clock(here());
    if (says(sql, "lease_acquire(") && !values[7].null) {
        check_wanted(static_cast<uint32_t>(atoi(values[7].text.c_str())));
    }
    if (says(sql, "lease_acquire(") && !values[8].null) {
        check_max_node(values[8].text);
    }
    if (says(sql, "lease_acquire(")) {
        token_is_asked(question_of(sql, values).token);
        crash_now_and_then(here().number, 30, 5 * ms);
    }
    if (says(sql, "lease_renew(")) {
        const auto renewed = leases.find(values[5].text);
        if (renewed != leases.end()) {
            check_renewal(renewed->second, us_of(values[6].text));
        }
    }
    if (!says(sql, "lease_release(")) {
        return;
    }
    const auto found = leases.find(values[5].text);
    if (found == leases.end()) {
        tell("server %d, token %s", here().number, values[5].text.c_str());
        broken_for_good("a lease is given back that nobody had");
    }
    Told& lease = found->second;
    const int64_t last_us = us_of(values[6].text);
    if (lease.issued_us > last_us) {
        tell("last stamp %.6f, and an id at %.6f", seconds_of(last_us),
             seconds_of(lease.issued_us));
        broken("a lease is given back with a last stamp before its last id");
    }
    check_release(lease);
    check_left(lease);
    token_is_given_back(question_of(sql, values).token);
    const int64_t last_use_us = std::max(lease.used_us, lease.told_us);
    if (!flakeid::worker_stopping && lease.end_us > wall_clock(here()) &&
        last_use_us < true_us - unused_us + minute) {
        unwanted_since[{lease.server, lease.node}] = true_us;
    }
    const int64_t end_us = (last_us / second + 1) * second;
    lease.given_back = true;
    lease.given_back_us = true_us;
    lease.lasted_until_us = lease.end_us;
    lease.end_us = std::min(lease.end_us, std::max(lease.start_us, end_us));
    lease.told_end_us = lease.end_us;
    note("gives node %lld back at %lld", lease.node, last_us - true_epoch_us);
    crash_now_and_then(lease.server, 8, 20 * ms);
}

void is_answered(const std::string& sql, const std::vector<Value>& values, const Answer& answer)
{
    const std::vector<std::string>& fields = answer.fields;
    status_is_answered();
    if (says(sql, "lease_acquire(") || says(sql, "lease_renew(")) {
        crash_now_and_then(here().number, 60, 5 * ms);
        status_is_given();
        lease_is_answered();
    }
    if (says(sql, "lease_acquire(")) {
        const std::string& token = fields[1];
        const auto node = static_cast<uint32_t>(atoi(fields[0].c_str()));
        const auto known = leases.find(token);
        if (known != leases.end() && known->second.given_back) {
            broken("a lease is asked for again that was given back");
        }
        const auto nodes = static_cast<uint32_t>(atoi(fields[4].c_str()));
        const bool is_new = known == leases.end() || known->second.node != node ||
                            known->second.nodes != nodes ||
                            known->second.start_us != us_of(fields[2]);
        if (known != leases.end() && is_new) {
            // The coordinator has lost the first lease.
            auto first = leases.extract(known);
            first.key() += "#" + std::to_string(leases.size());
            leases.insert(std::move(first));
        }
        Told& lease = leases[token];
        const int64_t end_us = us_of(fields[3]);
        if (is_new) {
            lease = {values[1].text, node,  nodes, here().number, here().life, us_of(fields[2]),
                     0,              0,     false, 0};
            lease.told_us = true_us;
            lease.directory = members[here().number].directory;
            for (uint32_t i = 0; i < nodes; i++) {
                of_node[node + i].push_back(&lease);
            }
        } else if (end_us < lease.told_end_us) {
            broken("a lease that was asked for again ends earlier");
        }
        (void)note_answer(lease, us_of(values[6].text), end_us);
        lease.origin = answer.origin;
        lease.realm_id = fields[5];
        check_believed(lease.origin, lease.realm_id);
        status_is_granted(node);
        note("has node %lld from %lld to %lld", node, us_of(fields[2]) - true_epoch_us,
             us_of(fields[3]) - true_epoch_us);
        check_overlap(lease);
    } else if (says(sql, "lease_renew(")) {
        renewals_told++;
        const auto found = leases.find(values[5].text);
        if (found == leases.end()) {
            broken_for_good("a lease is renewed that nobody had");
        }
        Told& lease = found->second;
        const int64_t end_us = us_of(fields[0]);
        note("has node %lld until %lld", lease.node, end_us - true_epoch_us);
        const bool longer = note_answer(lease, us_of(values[6].text), end_us);
        lease.origin = answer.origin;
        lease.realm_id = fields[1];
        check_believed(lease.origin, lease.realm_id);
        if (longer) {
            check_overlap(lease);
            check_given_away(lease);
        }
    }
}

void node_is_given_away(uint32_t node, int64_t start_us)
{
    given_away = {true, node, start_us};
}

void settings_are_read()
{
    status_reads_settings();
    for (auto& [token, lease] : leases) {
        lease.left = lease.left || (lease.server == here().number &&
                                    flakeid::lease_settings.coordinator[0] == '\0');
    }
}

void lease_id_is_handed_out(const flakeid::Generator& g, flakeid::Word word, int64_t began_us)
{
    handed_out++;
    const uint64_t raw = raw_id(g, word);
    const int64_t from_us = word_start_us(g, word);
    made_until[here().number] = std::max(made_until[here().number], from_us);
    note_run("ids %llx to %llx of node %lld", static_cast<int64_t>(raw), g.node, 0);
    const bool leased = g.tenure.entry != nullptr;
    Owner* before = owners.add(raw, {here().number, g.node, leased});
    // Of two servers whose leases overlap that is known, and told already.
    const bool promised = before != nullptr && before->leased && leased && !overlapped[g.node];
    if (before != nullptr && (before->server == here().number || promised)) {
        tell("id %llx of node %u: by server %d, then by server %d",
             static_cast<unsigned long long>(raw), g.node, before->server, here().number);
        broken("an id twice");
    }
    mark_sees_id(g, raw, from_us);
    remembered(g);
    bool inside = false;
    const std::vector<Told*>& told = of_node[g.node];
    for (auto at = told.rbegin(); at != told.rend() && !inside; ++at) {
        Told& lease = **at;
        const bool mine =
            lease.server == here().number && lease.directory == members[here().number].directory;
        if (mine && lease.given_back && began_us > lease.given_back_us) {
            // Whoever tells it again tells of what was made without a lease meanwhile.
            if (!leased && from_us < lease.lasted_until_us) {
                lease.issued_us = std::max(lease.issued_us, from_us);
            }
            continue;
        }
        if (mine && lease.start_us <= from_us && from_us + g.layout.tick_us <= lease.end_us) {
            inside = true;
            lease.issued_us = std::max(lease.issued_us, from_us);
            lease.used_us = true_us;
        }
    }
    for (const Told* lease : told) {
        const bool held = lease->server == here().number && lease->life == here().life &&
                          !lease->given_back && !lease->left && lease->told_us < began_us;
        if (!leased && held && lease->end_us > wall_clock(here())) {
            broken("an id without a lease after leases began");
        }
    }
    if (leased && !inside) {
        tell("node %u at %.6f, server %d", g.node, seconds_of(from_us), here().number);
        broken("an id outside its lease");
    }
    const flakeid::Durable durable = durable_of(here().flushed_rows[0]);
    if (stamp_number(stamp_of_word(g, word)) > durable.stamped.stamp[g.kind]) {
        broken("an id past the flushed horizon");
    }
}

bool holds_unused(int server, int64_t since_us)
{
    return std::any_of(leases.begin(), leases.end(), [&](const auto& one) {
        const Told& lease = one.second;
        const bool unused = lease.server == server && lease.life == servers[server].life &&
                            !lease.given_back && !lease.left &&
                            lease.end_us > wall_clock(servers[server]) &&
                            std::max(lease.told_us, lease.used_us) < since_us;
        if (unused) {
            tell("server %d, node %u until %.3f", server, lease.node, seconds_of(lease.end_us));
        }
        return unused;
    });
}

int64_t leased_from(uint32_t node, int64_t until_us, int64_t ago_us)
{
    const Told* lease = of_node[node].empty() ? nullptr : of_node[node].back();
    const bool held = lease != nullptr && lease->server == here().number &&
                      lease->life == here().life &&
                      lease->directory == members[here().number].directory && !lease->given_back &&
                      !lease->left && lease->answered_us < true_us - ago_us &&
                      lease->end_us >= until_us;
    return held ? lease->start_us : never;
}

bool renews_late(int server)
{
    return std::any_of(leases.begin(), leases.end(), [&](const auto& one) {
        const Told& lease = one.second;
        const int64_t since_us = std::max(lease.answered_us, worker_began(servers[server]));
        return lease.server == server && lease.life == servers[server].life &&
               !lease.given_back && !lease.left &&
               lease.end_us > wall_clock(servers[server]) &&
               true_us - since_us > lease.length_us / 2 + longest_answer_us;
    });
}

bool keeps_used(int server)
{
    return std::any_of(leases.begin(), leases.end(), [&](const auto& one) {
        const Told& lease = one.second;
        return lease.server == server && lease.directory == members[server].directory &&
               lease.used_us > members[server].started_us && !lease.given_back && !lease.left &&
               lease.end_us > wall_clock(servers[server]) + second;
    });
}

void leases_crash(int server)
{
    // What was answered just before may be lost.
    const bool at_once = world.chosen.find_first_of("PEd") == std::string::npos;
    const int64_t lost_since = true_us - (at_once ? 50 * ms : second / 2);
    for (auto& [token, lease] : leases) {
        if (lease.server == server && members[server].torn) {
            lease.kept_end_us = 0;
        } else if (lease.server == server && lease.life == servers[server].life) {
            const bool kept = lease.answered_us < lost_since;
            lease.kept_end_us = kept ? lease.end_us : lease.earlier_end_us;
        }
    }
}

bool goes_on_in_lease(int server)
{
    const Member& member = members[server];
    const int64_t now_us = wall_clock(servers[server]);
    return std::any_of(leases.begin(), leases.end(), [&](const auto& one) {
        const Told& lease = one.second;
        return lease.server == server && lease.directory == member.directory && !lease.given_back &&
               (member.any || lease.node == static_cast<uint32_t>(member.node)) &&
               lease.start_us < now_us && lease.kept_end_us > now_us + second;
    });
}

bool was_leased(uint32_t first, uint32_t last)
{
    return std::any_of(leases.begin(), leases.end(), [&](const auto& one) {
        const Told& lease = one.second;
        return lease.server == here().number && lease.node <= first &&
               last < lease.node + lease.nodes;
    });
}

bool gave_back(int server, uint32_t first, uint32_t last)
{
    return std::any_of(leases.begin(), leases.end(), [&](const auto& one) {
        const Told& lease = one.second;
        return lease.server == server && lease.given_back && lease.node <= last &&
               lease.node + lease.nodes > first &&
               lease.lasted_until_us > host_wall_us(host()) - calm_bound_us;
    });
}

bool made_ids(const Server& server)
{
    return made_until[server.number] != 0;
}

int64_t last_made_us(int server)
{
    return made_until[server];
}

uint64_t ids_handed_out()
{
    return handed_out;
}

} // namespace sim
