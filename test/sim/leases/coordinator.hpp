// The tables of a coordinator of leases, as the SQL functions keep them: rows that transactions
// lock and change, under READ COMMITTED. What is decided about a row stands in
// leases/rules/lease_rules.hpp, for both.
//
// Nothing here waits: a statement that another transaction is in the way of stays blocked, and goes
// on by itself when that one ends. test/sim/leases/sql/coordinator_sql_test.cpp holds all of it
// against the SQL functions.
#pragma once

#include "leases/rules/term.hpp"
#include "leases/rules/lease_rules.hpp"
#include "machine.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace sim {

using flakeid::LeaseClock;
using flakeid::LeaseMoment;
using flakeid::LeaseRefusal;

constexpr int64_t never_leased_us = INT64_MIN; // free_from of a node that nobody had

struct Realm {
    flakeid::LeaseRealm settings;
    unsigned char id[flakeid::uuid_size];
};
constexpr char default_realm[] = "default";
constexpr Realm default_lease_realm{{0, 1024, 1, 120, 10}, {}};

// The SQLSTATE that says so.
const char* lease_sqlstate(LeaseRefusal refusal);

// What is asked for.
struct Wanted {
    bool named = false;    // the holder has a name
    bool bad_name = false; // that nobody can read
    int64_t ttl_us = 0;    // < 0: none was named
    bool any = false;      // any node; otherwise `node`
    int32_t node = 0;
    bool has_max_node = false; // `max_node` counts
    int32_t max_node = 0;
};

using Token = std::array<unsigned char, 16>;

// What may be asked of a coordinator.
struct Question {
    enum Kind {
        functions, // what its functions are called
        acquire,
        renew,
        release,
        set_realm,
        add_name, // `holder`, of a realm
        revoke,
        begin_rest,
        end_rest,
        repair_clock,
        restored, // a dump brought `moment_us` as the seconds that leases may count for
    };
    Kind kind = functions;
    std::string realm;
    std::string holder;
    Token token{};       // of the lease; of an acquire: that a new lease gets
    bool chosen = false; // by the holder
    Wanted wish;
    bool has_moment = false; // known_end or last_stamp
    int64_t moment_us = 0;
    Realm settings{};         // of set_realm
    int32_t chosen_node = -1; // of any node, that the SQL functions gave; -1: any
    int version = 0;          // of a server's wire; 0: it is a program
    flakeid::Term known{};
};

struct Reply {
    LeaseRefusal refusal = LeaseRefusal::none;
    int32_t node = 0;
    Token token{};
    int64_t start_us = 0, end_us = 0; // end_us: also what a renewal or a release returns
    bool yes = false;                 // of a revocation
    flakeid::Term here{};       // for a server
    int32_t nodes = 0;                // from `node` on
};

// A range of so many nodes has that one.
inline bool has_node(int32_t first, int32_t nodes, int32_t node)
{
    return node >= first && node - first < nodes;
}

// A range of nodes, by its first node.
struct NodeRow {
    int64_t free_from_us = never_leased_us;
    bool leased = false; // `token` counts
    Token token{};
    int32_t nodes = 1;
};

struct HistoryRow {
    std::string realm;
    int32_t node = 0;
    std::string holder;
    int64_t start_us = 0, end_us = 0, acquired_us = 0;
    bool released = false;
    int64_t earlier_us = 0; // from when the node was free before it
    int32_t nodes = 1;
};

using NodeKey = std::pair<std::string, int32_t>;

// Rows of all three tables. In the changes of a transaction an empty history row is a deleted one,
// and so is a range without nodes.
struct LeaseTables {
    std::map<std::string, Realm> realms;
    std::map<std::string, std::string> names; // further ones, of realms
    std::map<NodeKey, NodeRow> nodes;
    std::map<Token, HistoryRow> history;

    void apply(const LeaseTables& changes);
    // Makes the ranges of a realm that has none.
    void make_nodes(const std::string& realm, const flakeid::LeaseRealm& settings);
};

class LeaseDatabase {
public:
    LeaseDatabase();

    LeaseTables tables; // what is committed
    LeaseClock clock{};
    int64_t wall_us = 0; // to be set before anything is asked
    int64_t here = 1;
    int oldest_version = flakeid::lease_wire_version; // of the wire, that it knows
    int latest_version = flakeid::lease_wire_version;
    Random random; // of where the search for a free node begins

    int begin();
    // Starts a statement in a transaction that runs none. True when it is done.
    bool ask(int transaction, const Question& question);
    bool blocked(int transaction) const { return transactions_.at(transaction).blocked; }
    const Reply& reply(int transaction) const { return transactions_.at(transaction).reply; }
    // False where several wait for rows of one transaction: the server lets any of them go first,
    // here it is the first one.
    bool order_is_known(int transaction) const;
    // What a transaction that is blocked waits for, for people.
    std::string obstacle(int transaction) const;
    // What a transaction changed so far.
    const LeaseTables& changes(int transaction) const
    {
        return transactions_.at(transaction).changes;
    }
    // True when a transaction that is blocked waits for itself by way of others.
    bool in_circle(int transaction) const;
    // The end of a transaction, blocked or not; one that was refused is to be rolled back at once.
    // Returns those whose statement is done by it.
    std::vector<int> end(int transaction, bool commit);

private:
    // A row: its table by the first letter.
    using RowKey = std::tuple<char, std::string, int32_t>;
    struct Lock {
        int holder = 0; // 0: nobody
        std::deque<int> waiting;
    };
    enum class Step : unsigned char {
        begin,
        lock_node, // that is wanted
        search,
        make_lease,
        lock_again, // what was asked for before
        lock_lease,
        lock_revoked,
        lock_settings,
        done
    };
    struct Transaction {
        LeaseTables changes;
        std::vector<RowKey> locks;
        bool blocked = false;
        RowKey waits_for;
        Question question;
        Reply reply;
        Step step = Step::done;
        Realm realm{};
        int32_t length_s = 0;
        LeaseMoment moment{};
        flakeid::AcquireRange range{};
        int32_t node = 0;
        flakeid::GrantDecision granted{};
        int64_t earlier_us = 0; // from when the granted node was free
    };

    const NodeRow* find_node(const Transaction& t, const NodeKey& key) const;
    const HistoryRow* find_lease(const Transaction& t, const Token& token) const;
    const Realm* find_realm(const Transaction& t, const std::string& name) const;
    // Those that lie in a realm, or in a range; what is deleted does not.
    std::vector<NodeKey> ranges_of(const Transaction& t, const std::string& realm) const;
    int64_t leased_until(const Transaction& t, const NodeKey& key, int32_t nodes) const;
    bool divide(int id, Transaction& t);
    std::vector<int32_t> free_nodes(const Transaction& t, int64_t* earliest_us) const;
    LeaseMoment read_clock(int64_t hold_s);
    bool begin_leases(Transaction& t, const std::string& name);
    bool has_length(Transaction& t);
    LeaseRefusal meet(Transaction& t);

    bool try_lock(int id, const RowKey& key);
    bool lock(int id, const RowKey& key);
    std::set<int> those_before(int transaction) const;
    bool makes(const Transaction& t) const;
    bool is_changed(int transaction, const RowKey& key) const;
    bool make(int id, const RowKey& key, bool exists);
    bool run(int id);
    bool advance(int id, Transaction& t);
    void begin_statement(Transaction& t);
    void refuse(Transaction& t, LeaseRefusal refusal);
    bool lock_node(int id, Transaction& t);
    bool is_its_own(const Transaction& t) const;
    void grant(Transaction& t);
    void keep_lease(Transaction& t);
    bool is_same_question(const Transaction& t) const;
    void grant_again(Transaction& t);
    void renew(Transaction& t);
    void release(Transaction& t);
    void revoke(Transaction& t);

    std::map<int, Transaction> transactions_;
    std::map<RowKey, Lock> locks_;
    int last_ = 0;
};

} // namespace sim
