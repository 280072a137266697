#include "leases/tokens.hpp"

#include "checker.hpp"
#include "leases/faults.hpp"
#include "leases/members.hpp"
#include "leases/worker_process.hpp"

#include <algorithm>

namespace sim {

namespace {

struct Asked {
    int server;
    int directory;     // of the server
    int64_t booted_us; // its machine: what was asked with before is lost
    int64_t told_us;   // when the server first said that it gives the lease back; 0: it did not
};
std::map<Token, Asked> asked;

// Nothing happens that loses tokens, or that has a server take its lease for one that has ended, or
// was given back.
bool tokens_are_kept(const Member& member)
{
    return !member.torn && !faults.nonsense &&
           world.chosen.find_first_of("KdEOYBMQRA") == std::string::npos;
}

constexpr int64_t longest_untold_us = 15 * second; // the last wait, and what the way there takes

// Nothing but a lost answer keeps the coordinator from hearing what was given back, and whoever
// gave it back knows that he did.
bool hears_all()
{
    return faults.calm && world.chosen.find_first_of("KdEOYBMQRTSVvrgwHhc") == std::string::npos;
}

bool is_of(const NodeKey& range, const NodeRow& row, const Question& question)
{
    return range.first == question.realm && row.leased &&
           has_node(range.second, row.nodes, question.wish.node);
}

} // namespace

void tokens_begin()
{
    asked.clear();
}

void token_is_asked(const Token& token)
{
    asked[token] = {here().number, members[here().number].directory, here().booted_us, 0};
}

void token_is_given_back(const Token& token)
{
    Asked& lease = asked[token];
    lease.told_us = lease.told_us != 0 ? lease.told_us : true_us;
}

void look_at_given_back()
{
    const LeaseTables& tables = host().database.tables;
    for (const auto& [token, one] : asked) {
        const auto lease = tables.history.find(token);
        if (!hears_all() || one.told_us == 0 || lease == tables.history.end() ||
            lease->second.released || lease->second.end_us <= host_wall_us(host())) {
            continue;
        }
        const Member& member = members[one.server];
        Server& s = servers[one.server];
        const int64_t since = std::max({one.told_us, faults.calm_since, faults.rested_us,
                                        worker_began(s), member.started_us, member.still_until});
        if (s.up && !member.stopping && !member.moved && !member.torn &&
            one.directory == member.directory && one.booted_us == s.booted_us &&
            lease_worker(s) != nullptr && true_us - since > longest_untold_us) {
            tell("server %d, node %d", one.server, lease->second.node);
            broken("a coordinator is not told what was given back");
        }
    }
}

void node_is_refused(const Host& host, int server, const Question& question)
{
    const auto question_of = asked.find(question.token);
    if (question.wish.any || question_of == asked.end() || !tokens_are_kept(members[server])) {
        return;
    }
    const LeaseTables& tables = host.database.tables;
    for (const auto& [range, row] : tables.nodes) {
        const auto holder = is_of(range, row, question) ? asked.find(row.token) : asked.end();
        const auto lease = tables.history.find(row.token);
        if (holder == asked.end() || lease == tables.history.end() || lease->second.released ||
            lease->second.end_us <= host_wall_us(host)) {
            continue;
        }
        const Asked& before = holder->second;
        const Asked& now = question_of->second;
        if (question.wish.has_max_node && before.told_us != 0) {
            continue; // whoever takes any asks first for the node that he had, and takes another
        }
        if (holder != question_of && before.server == now.server &&
            before.directory == now.directory && before.booted_us == now.booted_us &&
            now.directory == members[server].directory) {
            tell("server %d, node %d", server, question.wish.node);
            broken("a server is refused its node because of a lease of its own");
        }
    }
}

} // namespace sim
