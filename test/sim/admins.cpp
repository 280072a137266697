// What administrators do: they raise and lower horizons, replace flakeid.state, make the extension.
#include "sessions.hpp"

#include "checkers.hpp"
#include "clocks.hpp"
#include "drawing.hpp"
#include "durable/durable.hpp"
#include "durable/horizon.hpp"
#include "durable/server_horizon.hpp"
#include "settings/settings.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

const Directory* dumped;
bool restored_elsewhere;
int database_at_hand;

namespace {

Reached was_raised('r', "a horizon was raised");
Reached was_restored('r', "a dump was restored");
Reached was_repaired('f', "a horizon was repaired");
Reached was_replaced('V', "the file of the state was replaced");

// Where the transaction that replaces the state has raised the horizon to; 0: nowhere.
PROCESS_LOCAL int64_t my_raise = 0;

bool replaces_state()
{
    return here().replacing[my_database()].process == running->number;
}

int64_t right_clock()
{
    return wall_clock(here()) - wrong_us;
}

// The last node of flakeid.node, whose first is 0.
uint32_t last_node()
{
    const std::string& node = here().configuration["flakeid.node"];
    const size_t dash = node.find('-');
    return dash == std::string::npos ? 0 : static_cast<uint32_t>(std::stoul(node.substr(dash + 1)));
}

// As CREATE EXTENSION makes the row after DROP EXTENSION, and REFRESH one that is lost.
flakeid::Durable made_anew()
{
    flakeid::Durable durable{};
    durable.format = flakeid::durable_format;
    (void)flakeid::horizon_remembered(&durable.stamped);
    durable.origin = flakeid::server_origin(false);
    return durable;
}

} // namespace

void raise(int64_t us)
{
    const int repairs = repairs_of(my_database());
    const int64_t most_ahead_us = flushed_file(here()).stamped.most_ahead_us;
    raise_begins(my_database());
    if (running->random.one_in(3)) {
        flakeid::horizon_restore(running->random.one_in(2) ? flakeid::plain_horizon
                                                           : flakeid::back_horizon,
                                 flakeid::stamp_of(0, us)); // of where no clock was set back
        was_restored();
    } else {
        flakeid::horizon_raise(us);
        was_raised();
    }
    note("the horizon of database %lld is raised", my_database());
    if (repairs != repairs_of(my_database()) || repair_goes_on(my_database())) {
        return;
    }
    if (replaces_state()) {
        my_raise = std::max(my_raise, us); // a rollback undoes a restore
        return;
    }
    if (durable_of(here().flushed_rows[my_database()]).stamped.most_ahead_us < most_ahead_us) {
        broken("a row that was raised does not say how far ahead ids of this server may lie");
    }
    horizon_is_raised(my_database(), us);
}

void raise_ends(bool committed)
{
    if (committed && my_raise != 0 && !repair_goes_on(my_database())) {
        horizon_is_raised(my_database(), my_raise);
    }
    my_raise = 0;
    mistakes_end();
}

void raise_by_mistake()
{
    mistake_begins(my_database(), false);
    raise(right_clock() + minute * 60);
}

namespace {

// What a repair that begins now keeps.
int64_t kept_until(int64_t now_us)
{
    return std::max(now_us + repaired_to(), spared_from_repairs_us());
}

// True where clocks led ids no further.
bool may_repair(int64_t now_us)
{
    return highest_stamped_us() <= kept_until(now_us) && wrong_us == 0;
}

} // namespace

void repair(uint32_t max_node, bool none_kept)
{
    const int64_t now_us = wall_clock(here());
    if (!may_repair(now_us)) {
        return;
    }
    const uint32_t last = last_node();
    const int64_t made_ids = nodes_with_ids() & static_cast<int64_t>((UINT64_C(2) << last) - 1);
    const bool alone = !somebody_errs();
    const int mistakes = mistakes_ever();
    repair_begins(my_database(), kept_until(now_us));
    horizon_is_lowered(my_database(), now_us + flakeid::least_max_ahead_us);
    other_server_is_forgotten(now_us + flakeid::least_max_ahead_us);
    if (flakeid::horizon_repair(now_us, 0, last, max_node, none_kept)) {
        was_repaired();
        note("the horizon of database %lld is repaired", my_database());
        if (!none_kept && made_ids != 0) {
            broken("a repair for a node that made ids");
        }
        if (alone && mistakes == mistakes_ever()) {
            repaired(here(), my_database());
        }
    }
    repair_ends(my_database());
}

void repair_is_refused()
{
    if (strstr(my_message, "may have made the ids that lie ahead") != nullptr) {
        repair_ends(my_database());
    }
}

void replace()
{
    was_replaced();
    // What nobody remembers is forgotten: the row says where marks were.
    const bool anew = !world.has('Q') && running->random.one_in(3);
    replace_state(anew ? made_anew : nullptr);
    if (anew) {
        horizon_is_raised(my_database(), 0);
    }
}

void make_extension()
{
    Server& s = here();
    become_backend(most_backends - 1, 0, {});
    load_library();
    flakeid::Durable durable{};
    durable.format = flakeid::durable_format;
    durable.origin = flakeid::server_origin(false);
    for (int i = 0; i < s.database_count; i++) {
        StateFile& file = s.base.databases[i].files[0];
        file.number = 1000 + static_cast<Oid>(i);
        set_durable(file, durable);
        s.base.databases[i].current = file.number;
    }
    end_backend();
}

void make_extension_anew()
{
    become_backend(most_backends - 1, database_at_hand, {});
    load_library();
    const flakeid::Durable anew = made_anew();
    (void)flakeid::durable_alter([&](flakeid::Durable& durable) { durable = anew; });
    end_backend();
}

// SELECT * FROM flakeid.status, in the last database
void look_at_status()
{
    become_backend(most_backends - 2, here().database_count - 1, {});
    load_library();
    (void)flakeid::horizon_attach();
    end_backend();
}

// SELECT flakeid.repair_horizon(), in the last database
void repair_at_hand()
{
    const int database = here().database_count - 1;
    become_backend(most_backends - 2, database, {});
    load_library();
    (void)survives_error([&] {
        if (running->random.one_in(2)) {
            raise_by_mistake();
        }
        repair(layouts[layout_of_database[database]].layout.max_node, true);
    });
    end_backend();
}

namespace {

// A dump of another server, which has the same configuration.
void restore_elsewhere()
{
    nodes_may_be_raised();
    for (int i = 0; i < here().database_count; i++) {
        raise_begins(i);
    }
    if (running->random.one_in(2)) {
        replace_state(nullptr); // as CREATE EXTENSION in the same transaction
    }
    flakeid::horizon_restore_elsewhere(world.max_ahead); // as the dump says
}

// False when an error ended it.
template <typename Body>
bool in_transaction(Body body)
{
    new_transaction();
    begin_transaction();
    const bool good = survives_error([&] {
        load_library();
        body();
        end_transaction(true);
    });
    if (!good) {
        repair_is_refused();
        abort_transaction();
    }
    return good;
}

} // namespace

void administrator()
{
    const int database = static_cast<int>(running->random.below(here().database_count));
    become_backend(most_backends - 1 - static_cast<int>(running->number % 2), database, {});
    const int64_t number = running->random.below(8);
    const bool right = wrong_us == 0 && behind() < clock_may_lag; // as guarantees.md wants it
    if (world.has('M') && number < 3 && right) {
        int64_t other_us = 0;
        const bool good = in_transaction([&] {
            other_us = right_wall() + world.max_ahead;
            restore_elsewhere();
        });
        if (good) {
            other_server_is_restored(other_us);
            note("a dump of another server is restored");
        }
    } else if (may_repair(wall_clock(here()))) {
        if (number < 6) {
            (void)in_transaction(raise_by_mistake);
        }
        if (number == 7) {
            (void)in_transaction(extend_by_mistake);
        } else {
            (void)in_transaction([&] {
                repair(layouts[layout_of_database[database]].layout.max_node, true);
            });
        }
    }
    end_backend();
}

// As CREATE EXTENSION and the rows of a dump make it.
void restore_dump()
{
    become_backend(most_backends - 1, database_at_hand, {});
    load_library();
    const flakeid::Durable dump = durable_of(current_file(dumped->databases[database_at_hand]));
    const flakeid::Origin here = flakeid::server_origin(false);
    (void)flakeid::durable_alter([&](flakeid::Durable& durable) { durable.origin = here; });
    restored_elsewhere = !flakeid::same_origin(here, dump.origin);
    if (says_mistake(dump.stamped, right_clock())) {
        mistake_begins(my_database(), false); // which the dump brings
    }
    if (restored_elsewhere) { // its server knew what its roles may do, see step_take_copy()
        flakeid::horizon_restore_elsewhere(std::max(dump.stamped.most_ahead_us, world.max_ahead));
    }
    const int64_t* stamp = dump.stamped.stamp;
    flakeid::horizon_restore(flakeid::plain_horizon, flakeid::stamp_of(0, dump.stamped.latest_us));
    flakeid::horizon_restore(flakeid::back_horizon,
                             flakeid::stamp_of_number(stamp[flakeid::back_horizon]));
    mistakes_end();
    end_backend();
}

} // namespace sim
