// Leases of one node: two holders, a coordinator whose clock says anything at any transaction, its
// standby, lost and late messages, crashes. Holders draw with src/core/step.cpp itself, and their
// clocks say anything at any reading. doc/leases.md has the rules.
//
//     lease_model                every run; a line each
//     lease_model NAME...        these runs, and the way to what they find
//
// One id is watched, every one in turn: it must not be issued twice, and its tick must not lie in
// two leases.
#include "lease_text.hpp"
#include "search.hpp"

#include <vector>

namespace {

using namespace leases;

// Holders that draw; nothing happens to the coordinator.
Setup drawing()
{
    return {3, 2, true, 1, 0, false, Mutation::none};
}

// Leases alone, with a standby that is promoted.
Setup failover()
{
    return {5, 3, false, 0, 2, false, Mutation::none};
}

// A dump of the coordinator is restored, and max_ttl was changed some time.
Setup restored(int max_ttl, int next_ttl, Mutation mutation = Mutation::none)
{
    Setup setup{5, 2, false, 0, 0, false, mutation};
    setup.dumped = true;
    setup.max_ttl = max_ttl;
    setup.next_ttl = next_ttl;
    return setup;
}

// A server that drew without leases.
Setup unleased(Mutation mutation = Mutation::none)
{
    Setup setup{3, 2, true, 0, 0, false, mutation};
    setup.unleased = true;
    return setup;
}

Setup mutated(Setup setup, Mutation mutation)
{
    setup.mutation = mutation;
    return setup;
}

std::vector<Run<Setup>> all_runs()
{
    std::vector<Run<Setup>> runs;
    auto proof = [&](const char* name, const char* what, const Setup& setup) {
        runs.push_back({name, Expect::proof, what, setup});
    };
    auto found = [&](const char* name, const char* what, const Setup& setup) {
        runs.push_back({name, Expect::found, what, setup});
    };
    proof("leases", "ids drawn, any clocks, lost replies, a crash", drawing());
    proof("failover", "any clocks, lost replies, a standby promoted that lags", failover());

    proof("unleased", "a server that drew without leases comes under them", unleased());
    proof("restored", "a dump of the coordinator restored, max_ttl lowered some time",
          restored(most_ttl, 1));

    found("no-lease-check", "ids drawn whatever the lease says",
          mutated(drawing(), Mutation::no_lease_check));
    found("lease-by-clock", "the clock lies in the lease, not the id's tick",
          mutated(drawing(), Mutation::lease_by_clock));
    found("stamp-before-closing", "the last stamp read before the words are closed",
          mutated(drawing(), Mutation::stamp_before_closing));
    found("reopened", "a lease used on after its release was sent",
          mutated(drawing(), Mutation::reopened));
    found("same-lease-again", "the same lease given again to its holder",
          mutated(drawing(), Mutation::same_lease_again));

    found("opened-at-lease", "words begin at the lease's first one, whatever was drawn before",
          unleased(Mutation::opened_at_lease));

    found("early-grant", "a lease that begins before the earlier one's end",
          mutated(failover(), Mutation::early_grant));
    found("release-of-any", "a release of a lease that is another's now",
          mutated(failover(), Mutation::release_of_any));
    found("commit-not-durable", "a commit that a crash of the coordinator undoes",
          mutated(failover(), Mutation::commit_not_durable));
    found("no-rest", "the rest after a promotion left out", mutated(failover(), Mutation::no_rest));
    found("short-rest", "a rest of max_ttl only", mutated(failover(), Mutation::short_rest));
    found("renew-while-resting", "renewals while resting without a margin of max_skew",
          mutated(failover(), Mutation::renew_while_resting));
    found("not-fenced", "the old coordinator goes on after the promotion",
          mutated(failover(), Mutation::not_fenced));
    found("claim-of-any", "an end that a holder knows of a node that is another's now",
          mutated(failover(), Mutation::claim_of_any));
    found("rest-of-realm", "a restored coordinator rests for max_ttl + max_skew of the dump",
          restored(most_ttl, 1, Mutation::rest_of_realm));
    found("raised-since-dump", "max_ttl raised after the dump that is restored",
          restored(1, most_ttl));
    Setup setup = failover();
    setup.any_skew = true;
    found("any-skew", "a new coordinator whose clock is more than max_skew behind", setup);
    return runs;
}

} // namespace

int main(int argc, char** argv)
{
    return check_runs<Model>(all_runs(), argc, argv);
}
