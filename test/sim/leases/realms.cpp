// Realms: what they are called, how their nodes are divided, and regions with one each.
#include "leases/realms.hpp"

#include "checker.hpp"
#include "leases/believed.hpp"
#include "leases/life.hpp"
#include "leases/members.hpp"
#include "leases/truth.hpp"

#include <algorithm>
#include <iterator>

namespace sim {

namespace {

Reached rename_happened('M', "the realm got another name");
Reached divided_happened('r', "a realm was divided anew");
Reached regions_served('g', "both regions made ids, cut from each other for an hour");

constexpr int32_t lease_sizes[] = {least_lease_nodes, 8, most_lease_nodes};

void rename_of(int number, const char* realm)
{
    servers[number].configuration["flakeid.realm"] = realm;
    reload_member(number);
}

} // namespace

void add_name()
{
    Question q;
    q.kind = Question::add_name;
    q.realm = "default";
    q.holder = "renamed";
    tell_host(host(), q);
}

void begin_realm(Host& at, const Realm& settings)
{
    LeaseTables& tables = at.database.tables;
    tables.realms[default_realm] = settings;
    tables.nodes.clear();
    tables.make_nodes(default_realm, settings.settings);
    at.base = tables;
}

void set_realm(Host& at, const char* name, const Realm& settings)
{
    Question q;
    q.kind = Question::set_realm;
    q.realm = name;
    q.settings = settings;
    tell_host(at, q);
}

// Server by server, as a rolling change of the configuration. The realm has got the name before, or
// by mistake it is that of another realm.
void step_rename()
{
    rename_happened();
    if (faults.renamed) {
        return;
    }
    faults.renamed = true;
    faults.named = chance.one_in(2);
    if (faults.named) {
        add_name();
    } else {
        Realm settings = host().database.tables.realms.at(default_realm);
        settings.id[0] = 1;
        set_realm(host(), "renamed", settings);
    }
    note("the realm is renamed, rightly: %lld", faults.named);
    for (int i = 0; i < member_count; i++) {
        rename_of(i, "renamed");
        if (chance.one_in(2)) {
            pass(10 * second); // it asks before it is stopped
        }
        if (runs(i) && chance.one_in(2)) {
            begin_stop(i, false);
        }
        pass(60 * second);
    }
    for (int i = 0; i < member_count && !faults.named; i++) {
        rename_of(i, "default");
        if (realm_of(i).rfind("01", 0) == 0) {
            forget_realm(i); // it had no lease before, and so it joined the other one
        }
    }
}

// What servers have of the old ranges they lose at its end.
void step_divide()
{
    Host& at = world.has('g') ? hosts[chance.below(most_hosts)] : host();
    if (at.up) {
        divided_happened();
        Realm settings = at.database.tables.realms.at(default_realm);
        settings.settings.lease_nodes =
            lease_sizes[chance.below(static_cast<int64_t>(std::size(lease_sizes)))];
        note("host %lld leases %lld nodes at once", at.number, settings.settings.lease_nodes);
        set_realm(at, default_realm, settings);
    }
    pass(chance.one_in(2) ? 200 * second : 4 * second);
}

// Nothing passes between the regions for an hour: neither needs the other.
void step_cut_regions()
{
    note("the regions are cut from each other");
    for (int i = 0; i < member_count; i++) {
        network.unreachable[i] = 1 - region_of(i);
    }
    const int64_t from_us = true_us;
    run_turns(never, true_us + 3600 * second);
    bool served[most_hosts] = {};
    bool too_small[most_hosts] = {}; // leases of a realm that was divided anew
    for (int i = 0; i < member_count; i++) {
        network.unreachable[i] = -1;
        served[region_of(i)] =
            served[region_of(i)] || members[i].served_us > from_us + 600 * second;
        too_small[region_of(i)] =
            too_small[region_of(i)] || members[i].taken_us > true_us - minute;
    }
    note("the regions see each other; both made ids: %lld", served[0] && served[1]);
    if (served[0] && served[1]) {
        regions_served();
    } else if ((served[0] || !too_small[0]) && (served[1] || !too_small[1]) &&
               world.chosen.find_first_not_of("XFPWRDUN2CkSTrgLluwh") == std::string::npos) {
        broken("life: a region makes no ids while it is cut from the other one");
    }
}

} // namespace sim
