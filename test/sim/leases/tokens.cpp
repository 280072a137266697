#include "leases/tokens.hpp"

#include "checker.hpp"
#include "leases/faults.hpp"
#include "leases/members.hpp"

namespace sim {

namespace {

struct Asked {
    int server;
    int directory;     // of the server
    int64_t booted_us; // its machine: what was asked with before is lost
    bool given_back;   // the server says so
};
std::map<Token, Asked> asked;

// Nothing happens that loses tokens, or that has a server take its lease for one that has ended, or
// was given back.
bool tokens_are_kept(const Member& member)
{
    return !member.torn && !faults.nonsense &&
           world.chosen.find_first_of("KdEOYBMQRA") == std::string::npos;
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
    asked[token] = {here().number, members[here().number].directory, here().booted_us, false};
}

void token_is_given_back(const Token& token)
{
    asked[token].given_back = true;
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
        if (question.wish.has_max_node && before.given_back) {
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
