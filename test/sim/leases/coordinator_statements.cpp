// The statements of a coordinator, one step after the other: each ends where another transaction
// may be in the way.
#include "leases/coordinator.hpp"

#include <algorithm>
#include <cassert>

namespace sim {

using namespace flakeid;

namespace {

constexpr size_t history_length = 32; // leases of a node that are remembered

LeaseRefusal check_names(const Wanted& wish)
{
    return !wish.named                              ? LeaseRefusal::no_holder
           : wish.bad_name                          ? LeaseRefusal::bad_holder
           : wish.has_max_node && wish.max_node < 0 ? LeaseRefusal::bad_max_node
                                                    : LeaseRefusal::none;
}

} // namespace

void LeaseDatabase::refuse(Transaction& t, LeaseRefusal refusal)
{
    t.reply.refusal = refusal;
    t.step = Step::done;
}

// What a server's questions begin with.
LeaseRefusal LeaseDatabase::meet(Transaction& t)
{
    const Question& q = t.question;
    if (q.version == 0) {
        return LeaseRefusal::none;
    }
    if (!begin_leases(t, q.realm)) {
        return LeaseRefusal::no_realm;
    }
    if (q.version < oldest_version || q.version > latest_version) {
        return LeaseRefusal::bad_version;
    }
    Term& here = t.reply.here;
    std::copy(std::begin(t.realm.id), std::end(t.realm.id), here.realm);
    here.number = clock.term;
    here.place = this->here;
    return stands(q.known, here) == Standing::believed ? LeaseRefusal::none
                                                       : LeaseRefusal::not_believed;
}

// All that comes before the first lock.
void LeaseDatabase::begin_statement(Transaction& t)
{
    const Question& q = t.question;
    t.step = Step::done;
    const LeaseRefusal met = meet(t);
    if (met != LeaseRefusal::none) {
        return refuse(t, met);
    }
    switch (q.kind) {
    case Question::functions:
        return;
    case Question::acquire: {
        const LeaseRefusal refusal = check_names(q.wish);
        if (refusal != LeaseRefusal::none) {
            return refuse(t, refusal);
        }
        if (!begin_leases(t, q.realm)) {
            return refuse(t, LeaseRefusal::no_realm);
        }
        if (!has_length(t)) {
            return refuse(t, LeaseRefusal::bad_length);
        }
        if (const HistoryRow* lease = q.chosen ? find_lease(t, q.token) : nullptr) {
            t.node = lease->node;
            t.step = Step::lock_again;
            return;
        }
        t.range = decide_range(t.realm.settings, t.moment,
                               {q.wish.any, q.wish.node, q.wish.has_max_node, q.wish.max_node,
                                static_cast<double>(random.below(INT32_MAX)) / INT32_MAX});
        if (t.range.refusal != LeaseRefusal::none) {
            return refuse(t, t.range.refusal);
        }
        t.node = q.wish.node;
        t.range.first = q.chosen_node >= 0 ? q.chosen_node : t.range.first;
        t.step = q.wish.any ? Step::search : Step::lock_node;
        return;
    }
    case Question::renew:
    case Question::release: {
        const HistoryRow* lease = find_lease(t, q.token);
        if (lease == nullptr) {
            return refuse(t, LeaseRefusal::unknown);
        }
        t.node = lease->node;
        if (!begin_leases(t, lease->realm)) {
            return refuse(t, LeaseRefusal::no_realm);
        }
        if (q.kind == Question::renew && !has_length(t)) {
            return refuse(t, LeaseRefusal::bad_length);
        }
        t.question.realm = lease->realm;
        t.step = Step::lock_lease;
        return;
    }
    case Question::set_realm:
        t.step = Step::lock_settings;
        return;
    case Question::add_name:
        t.changes.names[q.holder] = q.realm;
        return;
    case Question::revoke:
        if (!begin_leases(t, q.realm)) {
            return refuse(t, LeaseRefusal::no_realm);
        }
        t.node = q.wish.node;
        t.step = Step::lock_revoked;
        return;
    case Question::begin_rest: {
        std::vector<std::string> names;
        for (const auto& [name, realm] : tables.realms) {
            names.push_back(name);
        }
        for (const std::string& name : names) {
            (void)begin_leases(t, name);
        }
        clock = begin_lease_rest(clock, wall_us);
        return;
    }
    case Question::end_rest:
        (void)read_clock(0);
        clock = end_lease_rest(clock);
        return;
    case Question::repair_clock:
        clock = repair_lease_clock(clock, wall_us);
        return;
    case Question::restored:
        clock = restored_lease_clock(clock, wall_us, q.moment_us);
        return;
    }
}

// One step of a statement; false when it has to wait.
bool LeaseDatabase::advance(int id, Transaction& t)
{
    const std::string& realm = t.question.realm;
    switch (t.step) {
    case Step::begin:
        begin_statement(t);
        return true;
    case Step::lock_node: {
        const NodeRow* row = find_node(t, {realm, t.node});
        assert(row != nullptr);
        if (row->free_from_us > t.moment.now_us || lock_node(id, t)) {
            grant(t);
        }
        return true;
    }
    case Step::search: {
        int64_t earliest_us;
        const std::vector<int32_t> free = free_nodes(t, &earliest_us);
        for (int32_t node : free) {
            if (try_lock(id, {'n', realm, node})) {
                t.node = node;
                grant(t);
                return true;
            }
        }
        refuse(t, free.empty() ? decide_grant(t.moment, true, earliest_us, t.length_s).refusal
                               : LeaseRefusal::last_busy);
        return true;
    }
    case Step::make_lease: {
        const bool exists = find_lease(t, t.question.token) != nullptr;
        const Token& token = t.question.token;
        if (!make(id, {'t', std::string(token.begin(), token.end()), 0}, exists)) {
            return false;
        }
        if (exists) {
            refuse(t, LeaseRefusal::same_time);
        } else {
            keep_lease(t);
        }
        return true;
    }
    case Step::lock_again:
        if (!is_same_question(t) || !is_its_own(t)) {
            refuse(t, LeaseRefusal::used_token);
        } else if (lock_node(id, t)) {
            grant_again(t);
        }
        return true;
    case Step::lock_lease:
        if (is_its_own(t)) {
            if (lock_node(id, t)) {
                t.question.kind == Question::renew ? renew(t) : release(t);
            }
        } else if (t.question.kind == Question::renew) {
            refuse(t, LeaseRefusal::other_lease);
        } else {
            t.reply.end_us = find_lease(t, t.question.token)->end_us;
            t.step = Step::done;
        }
        return true;
    case Step::lock_revoked: {
        const NodeRow* row = nullptr;
        for (const NodeKey& key : ranges_of(t, realm)) {
            const NodeRow* range = find_node(t, key);
            if (t.question.wish.node >= key.second &&
                t.question.wish.node - key.second < range->nodes) {
                t.node = key.second;
                row = range;
            }
        }
        int64_t free_us;
        if (row == nullptr || !decide_revoke(t.moment, row->free_from_us, &free_us)) {
            t.step = Step::done;
        } else if (lock_node(id, t)) {
            revoke(t);
        }
        return true;
    }
    case Step::lock_settings:
        if (!lock(id, {'r', realm, 0})) {
            return false;
        }
        t.changes.realms[realm] = t.question.settings;
        if (divide(id, t)) {
            t.step = Step::done;
        } else {
            refuse(t, LeaseRefusal::busy);
        }
        return true;
    case Step::done:
        break;
    }
    return true;
}

// The node's last lease is that of the question.
bool LeaseDatabase::is_its_own(const Transaction& t) const
{
    const NodeRow* row = find_node(t, {t.question.realm, t.node});
    return row != nullptr && row->leased && row->token == t.question.token;
}

// Locks the node's row, or refuses the question.
bool LeaseDatabase::lock_node(int id, Transaction& t)
{
    const bool locked = try_lock(id, {'n', t.question.realm, t.node});
    if (!locked) {
        refuse(t, LeaseRefusal::busy);
    }
    return locked;
}

// The node's row is locked.
void LeaseDatabase::grant(Transaction& t)
{
    const Question& q = t.question;
    const NodeRow range = *find_node(t, {q.realm, t.node});
    t.earlier_us = range.free_from_us;
    t.granted = decide_grant(t.moment, false, t.earlier_us, t.length_s);
    if (t.granted.refusal != LeaseRefusal::none) {
        return refuse(t, t.granted.refusal);
    }
    t.changes.nodes[{q.realm, t.node}] = {t.granted.end_us, true, q.token, range.nodes};
    t.step = Step::make_lease;
}

void LeaseDatabase::keep_lease(Transaction& t)
{
    const Question& q = t.question;
    const GrantDecision& decision = t.granted;
    const int32_t nodes = find_node(t, {q.realm, t.node})->nodes;
    t.changes.history[q.token] = {
        q.realm, t.node,       q.holder, decision.start_us, decision.end_us, t.moment.now_us,
        false,   t.earlier_us, nodes};
    using Row = std::tuple<int64_t, int64_t, Token>;
    std::vector<Row> of_node;
    auto see = [&](const Token& token, const HistoryRow& row) {
        if (row.realm == q.realm && row.node == t.node && token != q.token) {
            of_node.emplace_back(row.start_us, row.acquired_us, token);
        }
    };
    for (const auto& [token, row] : tables.history) {
        if (t.changes.history.count(token) == 0) {
            see(token, row);
        }
    }
    for (const auto& [token, row] : t.changes.history) {
        see(token, row);
    }
    std::sort(of_node.begin(), of_node.end(), std::greater<Row>());
    for (size_t i = history_length - 1; i < of_node.size(); i++) {
        t.changes.history[std::get<2>(of_node[i])] = HistoryRow{};
    }
    t.reply = {LeaseRefusal::none, t.node, q.token,      decision.start_us,
               decision.end_us,    true,   t.reply.here, nodes};
    t.step = Step::done;
}

bool LeaseDatabase::is_same_question(const Transaction& t) const
{
    const Question& q = t.question;
    const HistoryRow& lease = *find_lease(t, q.token);
    return lease.realm == q.realm && lease.holder == q.holder &&
           (q.wish.any || q.wish.node == lease.node) &&
           (!q.wish.has_max_node || q.wish.max_node >= lease.node + (lease.nodes - 1));
}

// The node's row is locked.
void LeaseDatabase::grant_again(Transaction& t)
{
    const Question& q = t.question;
    NodeRow node = *find_node(t, {q.realm, t.node});
    const HistoryRow* found = find_lease(t, q.token);
    const bool current =
        found != nullptr && !found->released && node.leased && node.token == q.token;
    const RenewDecision decision = decide_again(t.realm.settings, t.moment, is_same_question(t),
                                                {t.length_s, false, 0, current, node.free_from_us});
    if (decision.refusal != LeaseRefusal::none) {
        return refuse(t, decision.refusal);
    }
    HistoryRow lease = *found;
    node.free_from_us = lease.end_us = decision.end_us;
    t.changes.nodes[{q.realm, t.node}] = node;
    t.changes.history[q.token] = lease;
    t.reply = {LeaseRefusal::none, t.node, q.token,      lease.start_us,
               decision.end_us,    true,   t.reply.here, lease.nodes};
    t.step = Step::done;
}

void LeaseDatabase::renew(Transaction& t)
{
    const Question& q = t.question;
    NodeRow node = *find_node(t, {q.realm, t.node});
    const HistoryRow* found = find_lease(t, q.token);
    RenewQuestion question{};
    question.length_s = t.length_s;
    question.has_known_end = q.has_moment;
    question.known_end_us = q.moment_us;
    question.current =
        node.leased && node.token == q.token && !(found != nullptr && found->released);
    question.free_from_us = node.free_from_us;
    const RenewDecision decision = decide_renew(t.realm.settings, t.moment, question);
    if (decision.refusal != LeaseRefusal::none) {
        return refuse(t, decision.refusal);
    }
    node.free_from_us = decision.end_us;
    t.changes.nodes[{q.realm, t.node}] = node;
    if (found != nullptr) {
        HistoryRow lease = *found;
        lease.end_us = decision.end_us;
        t.changes.history[q.token] = lease;
    }
    t.reply.end_us = decision.end_us;
    t.step = Step::done;
}

void LeaseDatabase::release(Transaction& t)
{
    const Question& q = t.question;
    HistoryRow lease = *find_lease(t, q.token);
    const ReleaseDecision decision = decide_release(t.realm.settings, t.moment,
                                                    {lease.start_us, lease.end_us, lease.released,
                                                     q.has_moment, q.moment_us, lease.earlier_us});
    if (decision.refusal != LeaseRefusal::none) {
        return refuse(t, decision.refusal);
    }
    if (decision.changes) {
        NodeRow node = *find_node(t, {q.realm, t.node});
        node.free_from_us = decision.free_us;
        t.changes.nodes[{q.realm, t.node}] = node;
        lease.end_us = decision.end_us;
        lease.released = true;
        t.changes.history[q.token] = lease;
    }
    t.reply.end_us = decision.end_us;
    t.step = Step::done;
}

void LeaseDatabase::revoke(Transaction& t)
{
    const Question& q = t.question;
    NodeRow node = *find_node(t, {q.realm, t.node});
    int64_t free_us;
    t.step = Step::done;
    if (!decide_revoke(t.moment, node.free_from_us, &free_us)) {
        return;
    }
    node.free_from_us = free_us;
    t.changes.nodes[{q.realm, t.node}] = node;
    const HistoryRow* found = node.leased ? find_lease(t, node.token) : nullptr;
    if (found != nullptr && found->end_us > t.moment.now_us) {
        HistoryRow lease = *found;
        lease.released = true;
        lease.end_us = std::max(lease.start_us, free_us);
        t.changes.history[node.token] = lease;
    }
    t.reply.yes = true;
}

} // namespace sim
