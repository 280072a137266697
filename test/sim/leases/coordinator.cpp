#include "leases/coordinator.hpp"

#include <algorithm>
#include <cassert>

namespace sim {

using namespace flakeid;

namespace {

// The last version of a row that a transaction sees: its own change, or what is committed.
template <typename Rows, typename Key>
const typename Rows::mapped_type* find_row(const Rows& changed, const Rows& committed,
                                           const Key& key)
{
    auto at = changed.find(key);
    if (at != changed.end()) {
        return &at->second;
    }
    at = committed.find(key);
    return at != committed.end() ? &at->second : nullptr;
}

Token token_of_key(const std::string& name)
{
    Token token{};
    std::copy(name.begin(), name.end(), token.begin());
    return token;
}

} // namespace

void LeaseTables::apply(const LeaseTables& changes)
{
    for (const auto& [key, row] : changes.realms) {
        realms[key] = row;
    }
    for (const auto& [name, realm] : changes.names) {
        names[name] = realm;
    }
    for (const auto& [key, row] : changes.nodes) {
        if (row.nodes == 0) {
            nodes.erase(key);
        } else {
            nodes[key] = row;
        }
    }
    for (const auto& [key, row] : changes.history) {
        if (row.realm.empty()) {
            history.erase(key);
        } else {
            history[key] = row;
        }
    }
}

void LeaseTables::make_nodes(const std::string& realm, const LeaseRealm& settings)
{
    for (auto at = nodes.lower_bound({realm, INT32_MIN});
         at != nodes.end() && at->first.first == realm;) {
        at = nodes.erase(at); // of another division
    }
    for (int32_t n = 0; n < settings.nodes; n += settings.lease_nodes) {
        nodes[{realm, settings.first_node + n}].nodes = settings.lease_nodes;
    }
}

const char* lease_sqlstate(LeaseRefusal refusal)
{
    switch (refusal) {
    case LeaseRefusal::none:
        return "00000";
    case LeaseRefusal::no_holder:
    case LeaseRefusal::bad_holder:
    case LeaseRefusal::no_realm:
    case LeaseRefusal::bad_length:
    case LeaseRefusal::inside:
        return "22023";
    case LeaseRefusal::bad_max_node:
    case LeaseRefusal::out_of_range:
        return "22003";
    case LeaseRefusal::in_use:
        return "55006";
    case LeaseRefusal::all_leased:
        return "53400";
    case LeaseRefusal::busy:
    case LeaseRefusal::last_busy:
        return "55P03";
    case LeaseRefusal::outside:
        return "22008";
    case LeaseRefusal::used_token:
        return "42710";
    case LeaseRefusal::not_believed:
        return "08004";
    case LeaseRefusal::bad_version:
        return "08P01";
    case LeaseRefusal::rests:
    case LeaseRefusal::unknown:
    case LeaseRefusal::other_lease:
    case LeaseRefusal::ended:
    case LeaseRefusal::too_soon:
    case LeaseRefusal::same_time:
        break;
    }
    return "55000";
}

LeaseDatabase::LeaseDatabase()
{
    tables.realms[default_realm] = default_lease_realm;
    tables.make_nodes(default_realm, default_lease_realm.settings);
}

const NodeRow* LeaseDatabase::find_node(const Transaction& t, const NodeKey& key) const
{
    const NodeRow* row = find_row(t.changes.nodes, tables.nodes, key);
    return row == nullptr || row->nodes == 0 ? nullptr : row;
}

const HistoryRow* LeaseDatabase::find_lease(const Transaction& t, const Token& token) const
{
    const HistoryRow* row = find_row(t.changes.history, tables.history, token);
    return row == nullptr || row->realm.empty() ? nullptr : row;
}

const Realm* LeaseDatabase::find_realm(const Transaction& t, const std::string& name) const
{
    return find_row(t.changes.realms, tables.realms, name);
}

std::vector<NodeKey> LeaseDatabase::ranges_of(const Transaction& t, const std::string& realm) const
{
    std::vector<NodeKey> keys;
    auto see = [&](const auto& rows) {
        for (auto at = rows.lower_bound({realm, INT32_MIN});
             at != rows.end() && at->first.first == realm; ++at) {
            if (find_node(t, at->first) != nullptr) {
                keys.push_back(at->first);
            }
        }
    };
    see(tables.nodes);
    see(t.changes.nodes);
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
}

// The last end of the leases that have a node in common with a range.
int64_t LeaseDatabase::leased_until(const Transaction& t, const NodeKey& key, int32_t nodes) const
{
    int64_t until_us = never_leased_us;
    auto see = [&](const Token& token) {
        const HistoryRow* lease = find_lease(t, token);
        if (lease != nullptr && lease->realm == key.first && lease->node < key.second + nodes &&
            key.second < lease->node + lease->nodes) {
            until_us = std::max(until_us, lease->end_us);
        }
    };
    for (const auto& [token, row] : tables.history) {
        see(token);
    }
    for (const auto& [token, row] : t.changes.history) {
        see(token);
    }
    return until_us;
}

// Makes the ranges of the realm that the question sets, and no others. False when somebody is
// changing one that is to go.
bool LeaseDatabase::divide(int id, Transaction& t)
{
    const std::string& realm = t.question.realm;
    const LeaseRealm& to = t.question.settings.settings;
    for (const NodeKey& key : ranges_of(t, realm)) {
        const int32_t at = key.second - to.first_node;
        if (at < 0 || at >= to.nodes || at % to.lease_nodes != 0 ||
            find_node(t, key)->nodes != to.lease_nodes) {
            if (!try_lock(id, {'n', realm, key.second})) {
                return false;
            }
            t.changes.nodes[key].nodes = 0;
        }
    }
    for (int32_t n = 0; n < to.nodes; n += to.lease_nodes) {
        const NodeKey key{realm, to.first_node + n};
        if (find_node(t, key) == nullptr) {
            t.changes.nodes[key] = {
                leased_until(t, key, to.lease_nodes), false, {}, to.lease_nodes};
        }
    }
    return true;
}

// In the order in which they are given; from when the earliest of all is free.
std::vector<int32_t> LeaseDatabase::free_nodes(const Transaction& t, int64_t* earliest_us) const
{
    *earliest_us = INT64_MAX;
    std::vector<int32_t> nodes;
    auto see = [&](int32_t node, const NodeRow& row) {
        if (node >= t.range.low && node <= t.range.top) {
            *earliest_us = std::min(*earliest_us, row.free_from_us);
            if (row.free_from_us <= t.moment.now_us) {
                nodes.push_back(node);
            }
        }
    };
    for (const NodeKey& key : ranges_of(t, t.question.realm)) {
        see(key.second, *find_node(t, key));
    }
    std::sort(nodes.begin(), nodes.end(), [&](int32_t a, int32_t b) {
        const bool late = a < t.range.first;
        const bool other_late = b < t.range.first;
        return late != other_late ? other_late : a < b;
    });
    return nodes;
}

// What it writes stays, whatever becomes of the transaction.
LeaseMoment LeaseDatabase::read_clock(int64_t hold_s)
{
    const LeaseClockRead read = read_lease_clock(clock, wall_us, here, hold_s);
    clock = read.clock;
    return read.moment;
}

bool LeaseDatabase::begin_leases(Transaction& t, const std::string& name)
{
    const std::string* realm = find_row(t.changes.names, tables.names, name);
    t.question.realm = realm != nullptr ? *realm : name;
    const Realm* row = find_realm(t, t.question.realm);
    if (row == nullptr) {
        return false;
    }
    t.realm = *row;
    const LeaseRealm& settings = t.realm.settings;
    t.moment = read_clock(static_cast<int64_t>(settings.max_ttl_s) + settings.max_skew_s);
    return true;
}

bool LeaseDatabase::has_length(Transaction& t)
{
    t.length_s = lease_length_s(t.realm.settings.max_ttl_s, t.question.wish.ttl_us);
    return t.length_s != 0;
}

// True with the lock.
bool LeaseDatabase::try_lock(int id, const RowKey& key)
{
    Lock& lock = locks_[key];
    if (lock.holder == id) {
        return true;
    }
    const bool first = lock.waiting.empty() || lock.waiting.front() == id;
    if (lock.holder == 0 && first) {
        if (!lock.waiting.empty()) {
            lock.waiting.pop_front();
        }
        lock.holder = id;
        transactions_.at(id).locks.push_back(key);
        return true;
    }
    return false;
}

// True with the lock. False when another has it: then it waits in a row.
bool LeaseDatabase::lock(int id, const RowKey& key)
{
    if (try_lock(id, key)) {
        return true;
    }
    Lock& lock = locks_[key];
    if (std::find(lock.waiting.begin(), lock.waiting.end(), id) == lock.waiting.end()) {
        lock.waiting.push_back(id);
        transactions_.at(id).waits_for = key;
    }
    return false;
}

bool LeaseDatabase::is_changed(int transaction, const RowKey& key) const
{
    const auto& [table, name, node] = key;
    const auto found = transactions_.find(transaction);
    if (found == transactions_.end()) {
        return false;
    }
    const LeaseTables& changes = found->second.changes;
    return (table == 'n'   ? changes.nodes.count({name, node})
            : table == 't' ? changes.history.count(token_of_key(name))
                           : changes.realms.count(name)) != 0;
}

// A row that is inserted unless it is there. Waits for whoever inserts or changes it at the same
// time, as the row may be gone again by a rollback; not for one that only locks it. True when that
// is over; the lock is taken when the row is still missing.
bool LeaseDatabase::make(int id, const RowKey& key, bool exists)
{
    if (!exists) {
        return lock(id, key);
    }
    Lock& lock = locks_[key];
    lock.waiting.erase(std::remove(lock.waiting.begin(), lock.waiting.end(), id),
                       lock.waiting.end());
    if (lock.holder == 0 || lock.holder == id || !is_changed(lock.holder, key)) {
        return true;
    }
    lock.waiting.push_back(id);
    transactions_.at(id).waits_for = key;
    return false;
}

int LeaseDatabase::begin()
{
    last_++;
    transactions_[last_];
    return last_;
}

bool LeaseDatabase::ask(int transaction, const Question& question)
{
    Transaction& t = transactions_.at(transaction);
    assert(t.step == Step::done);
    t.question = question;
    t.reply = Reply{};
    t.step = Step::begin;
    return run(transaction);
}

bool LeaseDatabase::run(int id)
{
    Transaction& t = transactions_.at(id);
    t.blocked = false;
    while (t.step != Step::done) {
        if (!advance(id, t)) {
            t.blocked = true;
            return false;
        }
    }
    return true;
}

std::vector<int> LeaseDatabase::end(int transaction, bool commit)
{
    Transaction ended = std::move(transactions_.at(transaction));
    transactions_.erase(transaction);
    if (commit) {
        tables.apply(ended.changes);
    }
    if (ended.blocked) {
        std::deque<int>& waiting = locks_[ended.waits_for].waiting;
        waiting.erase(std::remove(waiting.begin(), waiting.end(), transaction), waiting.end());
        ended.locks.push_back(ended.waits_for); // those behind it may go on
    }
    for (const RowKey& key : ended.locks) {
        if (locks_[key].holder == transaction) {
            locks_[key].holder = 0;
        }
    }
    std::vector<int> done;
    for (const RowKey& key : ended.locks) {
        const std::deque<int> waiting = locks_[key].waiting;
        for (int id : waiting) {
            if (run(id)) {
                done.push_back(id);
            }
        }
        Lock& lock = locks_[key];
        // Those that waited until the row was made or not wait for its lock now.
        for (int id = 0; lock.holder == 0 && !lock.waiting.empty() && lock.waiting.front() != id;) {
            id = lock.waiting.front();
            if (run(id)) {
                done.push_back(id);
            }
        }
        if (lock.holder == 0 && lock.waiting.empty()) {
            locks_.erase(key);
        }
    }
    return done;
}

bool LeaseDatabase::makes(const Transaction& t) const
{
    return t.step == Step::lock_settings || t.step == Step::make_lease;
}

// Whoever has the lock that a transaction waits for, or gets it before.
std::set<int> LeaseDatabase::those_before(int transaction) const
{
    const Lock& lock = locks_.at(transactions_.at(transaction).waits_for);
    std::set<int> before{lock.holder};
    for (int id : lock.waiting) {
        if (id == transaction) {
            break;
        }
        before.insert(id);
    }
    return before;
}

bool LeaseDatabase::order_is_known(int transaction) const
{
    const RowKey& key = transactions_.at(transaction).waits_for;
    const std::set<int> before = those_before(transaction);
    bool alone = true;
    for (const auto& [id, t] : transactions_) {
        if (!t.blocked) {
            continue;
        }
        for (int other : those_before(id)) {
            if (t.waits_for != key && before.count(other) != 0) {
                return false;
            }
        }
        alone = alone && (t.waits_for != key || id == transaction);
    }
    return alone;
}

std::string LeaseDatabase::obstacle(int transaction) const
{
    const Transaction& t = transactions_.at(transaction);
    const auto& [table, realm, node] = t.waits_for;
    const Lock& lock = locks_.at(t.waits_for);
    std::string text = makes(t) ? "to make " : "to lock ";
    text += table == 'n'   ? "node " + std::to_string(node) + " of " + realm
            : table == 't' ? "a lease"
                           : realm;
    text += ", which has " + std::to_string(lock.holder);
    for (int id : lock.waiting) {
        text += ", " + std::to_string(id);
    }
    return text;
}

bool LeaseDatabase::in_circle(int transaction) const
{
    int at = transaction;
    for (size_t steps = 0; steps <= transactions_.size(); steps++) {
        auto found = transactions_.find(at);
        if (found == transactions_.end() || !found->second.blocked) {
            return false;
        }
        const Lock& lock = locks_.at(found->second.waits_for);
        at = lock.holder;
        if (at == transaction) {
            return true;
        }
    }
    return false;
}

} // namespace sim
