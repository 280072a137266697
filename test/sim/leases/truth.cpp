#include "leases/truth.hpp"

#include "checker.hpp"
#include "checkers.hpp"
#include "map.hpp"

#include <algorithm>
#include <cstdlib>

namespace sim {

uint64_t renewals_told;

namespace {

struct Told {
    std::string realm;
    uint32_t node;
    int server;
    uint64_t life; // of the server
    int64_t start_us, end_us;
    bool given_back;
    int64_t issued_us; // of the last id
};
std::map<std::string, Told> leases;             // by token
std::map<uint32_t, std::vector<Told*>> of_node; // the latest is the last
std::map<uint32_t, bool> overlapped;            // two leases of a node did

struct Owner {
    int server;
    uint32_t node;
};
IdMap<Owner> owners;
uint64_t handed_out;

// Of each server: the highest mark, and the highest id with its moment, of this life.
struct Settled {
    uint64_t life, mark, id;
    int64_t us;
};
Settled settled[most_servers];

Settled& settled_here()
{
    Settled& of = settled[here().number];
    if (of.life != here().life) {
        of = {here().life, of.mark, 0, 0};
    }
    return of;
}

bool says(const std::string& sql, const char* word)
{
    return sql.find(word) != std::string::npos;
}

int64_t us_of(const std::string& seconds)
{
    const size_t point = seconds.find('.');
    const int64_t whole = strtoll(seconds.c_str(), nullptr, 10) * second;
    return point == std::string::npos ? whole
                                      : whole + strtoll(seconds.c_str() + point + 1, nullptr, 10);
}

double seconds_of(int64_t us)
{
    return static_cast<double>(us - true_epoch_us) / 1e6;
}

// Two leases of a node share no moment, whatever their realm is called: the servers are one fleet.
void check_overlap(const Told& a)
{
    for (const Told* other : of_node[a.node]) {
        const Told& b = *other;
        const bool moved = a.server == b.server && a.realm != b.realm; // it stopped using the other
        if (other != &a && !moved && a.start_us < b.end_us && b.start_us < a.end_us) {
            tell("node %u: server %d has it [%.3f, %.3f), server %d [%.3f, %.3f)", a.node, a.server,
                 seconds_of(a.start_us), seconds_of(a.end_us), b.server, seconds_of(b.start_us),
                 seconds_of(b.end_us));
            broken("two leases of a node overlap%s", circumstance());
            overlapped[a.node] = true;
        }
    }
}

} // namespace

void truth_begins()
{
    leases.clear();
    of_node.clear();
    overlapped.clear();
    owners.clear();
    std::fill(settled, settled + most_servers, Settled{});
    handed_out = renewals_told = 0;
}

void is_asked(const std::string& sql, const std::vector<Value>& values)
{
    if (!says(sql, "lease_release(")) {
        return;
    }
    const auto found = leases.find(values[0].text);
    if (found == leases.end()) {
        broken_for_good("a lease is given back that nobody had");
    }
    Told& lease = found->second;
    const int64_t last_us = us_of(values[1].text);
    if (lease.issued_us > last_us) {
        tell("last stamp %.6f, and an id at %.6f", seconds_of(last_us),
             seconds_of(lease.issued_us));
        broken("a lease is given back with a last stamp before its last id");
    }
    const int64_t end_us = (last_us / second + 1) * second;
    lease.given_back = true;
    lease.end_us = std::min(lease.end_us, std::max(lease.start_us, end_us));
    note("gives node %lld back at %lld", lease.node, last_us - true_epoch_us);
}

void is_answered(const std::string& sql, const std::vector<Value>& values,
                 const std::vector<std::string>& fields)
{
    if (says(sql, "lease_acquire(")) {
        const std::string& token = fields[1];
        const auto node = static_cast<uint32_t>(atoi(fields[0].c_str()));
        const bool is_new = leases.count(token) == 0;
        Told& lease = leases[token];
        lease = {
            values[0].text, node, here().number, here().life, us_of(fields[2]), us_of(fields[3]),
            false,          0};
        if (is_new) {
            of_node[node].push_back(&lease);
        }
        note("has node %lld from %lld to %lld", node, us_of(fields[2]) - true_epoch_us,
             us_of(fields[3]) - true_epoch_us);
        check_overlap(lease);
    } else if (says(sql, "lease_renew(")) {
        renewals_told++;
        const auto found = leases.find(values[0].text);
        if (found == leases.end()) {
            broken_for_good("a lease is renewed that nobody had");
        }
        Told& lease = found->second;
        const int64_t end_us = us_of(fields[0]);
        note("has node %lld until %lld", lease.node, end_us - true_epoch_us);
        if (!lease.given_back && end_us > lease.end_us) {
            lease.end_us = end_us;
            check_overlap(lease);
        }
    }
}

void lease_id_is_handed_out(const flakeid::Generator& g, flakeid::Word word)
{
    handed_out++;
    const uint64_t raw = raw_id(g, word);
    const int64_t from_us = word_start_us(g, word);
    note_run("ids %llx to %llx of node %lld", static_cast<int64_t>(raw), g.node, 0);
    Owner* before = owners.add(raw, {here().number, g.node});
    // Of two servers whose leases overlap that is known, and told already.
    if (before != nullptr && (before->server == here().number || !overlapped[g.node])) {
        tell("id %llx of node %u: by server %d, then by server %d",
             static_cast<unsigned long long>(raw), g.node, before->server, here().number);
        broken("an id twice");
    }
    Settled& marks = settled_here();
    if (raw < marks.mark) {
        tell("id %llx, mark %llx", static_cast<unsigned long long>(raw),
             static_cast<unsigned long long>(marks.mark));
        broken("an id below a settled mark");
    }
    if (raw > marks.id) {
        marks.id = raw;
        marks.us = from_us;
    }
    bool inside = false;
    const std::vector<Told*>& told = of_node[g.node];
    for (auto at = told.rbegin(); at != told.rend() && !inside; ++at) {
        Told& lease = **at;
        if (lease.server == here().number && lease.start_us <= from_us &&
            from_us + g.layout.tick_us <= lease.end_us) {
            inside = true;
            lease.issued_us = std::max(lease.issued_us, from_us);
        }
    }
    if (!inside) {
        tell("node %u at %.6f, server %d", g.node, seconds_of(from_us), here().number);
        broken("an id outside its lease");
    }
    const flakeid::Durable durable = durable_of(here().flushed_rows[0]);
    if (stamp_number(stamp_of_word(g, word)) > durable.stamped.stamp[g.kind]) {
        broken("an id past the flushed horizon");
    }
}

void mark_is_answered(int64_t mark, bool all_ended)
{
    Settled& marks = settled_here();
    note("mark %llx", mark);
    // By then the clock has passed all nodes.
    const bool rests = all_ended && marks.id > 0 && marks.us < wall_clock(here()) - 10 * second;
    if (rests && static_cast<uint64_t>(mark) <= marks.id) {
        tell("id %llx, mark %llx", static_cast<unsigned long long>(marks.id),
             static_cast<unsigned long long>(mark));
        broken("life: a settled mark does not pass an id");
    }
    marks.mark = std::max(marks.mark, static_cast<uint64_t>(mark));
}

uint64_t ids_handed_out()
{
    return handed_out;
}

} // namespace sim
