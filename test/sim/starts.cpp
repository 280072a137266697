#include "starts.hpp"

#include "clocks.hpp"
#include "durable/durable.hpp"
#include "durable/server_horizon.hpp"
#include "sessions.hpp"

#include <algorithm>

namespace sim {

namespace {

Reached layout_changed('L', "a layout changed over a restart");

// True when a row counts fewer set-backs than it did.
bool counts_fewer(const Directory& directory, const Directory& before)
{
    auto count = [](const Directory& of, int database) {
        const flakeid::Durable durable = durable_of(current_file(of.databases[database]));
        return stamp_back(flakeid::stamp_of_number(durable.stamped.stamp[flakeid::back_horizon]));
    };
    for (int i = 0; i < most_databases; i++) {
        if (count(directory, i) < count(before, i)) {
            return true;
        }
    }
    return false;
}

// A start writes the control file, in place.
void touch_control_file(Server& s, Directory& directory)
{
    DiskFile& file = directory.files["global/pg_control"];
    directory.checkpoint++;
    file.bytes = file.flushed = std::to_string(s.life) + " " +
                                std::to_string(directory.checkpoint) + " " +
                                std::to_string(directory.timeline);
    file.modified = file.changed = wall_clock(s);
}

// As an administrator looks whether the extension is there, before the upgrade.
void try_extension()
{
    become_backend(most_backends - 1, 0, {});
    load_library();
    (void)flakeid::server_origin(false);
    end_backend();
}

// As pg_upgrade makes a function of the library.
void load_in_upgrade()
{
    IsBinaryUpgrade = true;
    become_backend(most_backends - 1, 0, {});
    load_library();
    end_backend();
}

// pg_upgrade starts the new server by itself.
Directory upgraded(Server& s, Directory directory)
{
    const bool preload = s.preload;
    s.preload = false;
    const auto run_in_it = [&](const char* name, void (*body)()) {
        start_server(s, directory);
        administer(s, name, body);
        directory = replayed(s, s.inserted);
        stop_server(s);
    };
    if (chance.one_in(2)) {
        run_in_it("initdb", try_extension);
    }
    make_file(s, directory, "pg_upgrade_output.d/log", "");
    run_in_it("pg_upgrade", load_in_upgrade);
    directory.files.erase("pg_upgrade_output.d/log");
    s.preload = preload;
    return directory;
}

} // namespace

void administer(Server& s, const char* name, void (*body)(), void (*beside)())
{
    const int failing_writes = s.failing_writes;
    s.failing_writes = 0;
    Process* processes[] = {&spawn(s, name, body, s.image, true_us), nullptr};
    if (beside != nullptr) {
        processes[1] = &spawn(s, "beside", beside, s.image, true_us + chance.below(20 * ms));
    }
    for (Process* process : processes) {
        if (process != nullptr) {
            process->random = Random(chance.next());
        }
    }
    // Once for long, so that all is done meanwhile, or again and again.
    Process* stopped = processes[beside != nullptr && chance.one_in(2) ? 1 : 0];
    const bool once = chance.one_in(2);
    int64_t turns = chance.below(40); // until then
    const int64_t patience =
        true_us + minute; // a session may hold a lock while the clock stands still
    for (Process* process : processes) {
        while (process != nullptr && process->alive && !s.panicked) {
            if (!run_somebody(true_us + minute) || true_us > patience) {
                (void)calm_down();
            } else if (beside != nullptr && (once ? turns-- == 0 : chance.one_in(20))) {
                const int session = static_cast<int>(chance.below(world.session_count));
                Process* somebody = once && chance.one_in(3) ? busy_session(s, session) : stopped;
                if (somebody != nullptr) {
                    somebody->stopped_until = true_us + chance.below(once ? 200 * ms : 20 * ms);
                }
            }
        }
    }
    s.failing_writes = failing_writes;
    if (!s.panicked) {
        other_server_is_said(s);
    }
}

Directory fresh_directory(Server& s)
{
    Directory directory;
    directory.system = new_system(s);
    make_file(s, directory, "PG_VERSION", "15\n");
    make_file(s, directory, "global/pg_control", "new");
    return directory;
}

Directory left_by_crash()
{
    Directory directory = crashed(server());
    if (chance.one_in(2)) {
        lose_power(directory);
    }
    return directory;
}

void start(Start how, Directory directory)
{
    Server& s = server();
    put_clock_right();
    const bool older_back = counts_fewer(directory, flushed(s));
    stop_server(s);
    true_us += chance.below(300 * ms);
    s.clock.still_at = -1;
    if (world.has('K') && chance.one_in(3)) {
        const bool far = lives.size() > 1 && behind() < 10 * second && chance.one_in(3);
        set_back(chance.below(far ? 30 * second : 4 * second));
    }
    if (took_a_place(how) && behind() > 2900 * ms) {
        s.clock.offset += behind() - chance.below(2900 * ms); // as guarantees.md wants it
    }
    touch_control_file(s, directory);
    if (how != Start::crash && how != Start::fast) {
        directory.prepared.clear(); // somebody has rolled them back
    }
    for (size_t i = 0; i < transactions.size(); i++) {
        const bool waits =
            std::any_of(directory.prepared.begin(), directory.prepared.end(),
                        [&](const Prepared& p) { return p.transaction == static_cast<int>(i); });
        Transaction& transaction = transactions[i];
        transaction.ended = transaction.ended || (transaction.prepared && !waits);
    }
    life_begins(how, behind(), older_back);
    for (int i = 0; i < s.database_count; i++) {
        const bool may_change = world.chosen.find_first_of("Lebh") != std::string::npos;
        if (lives.size() == 1 || (may_change && chance.one_in(4))) {
            choose_layout(s, i);
            if (lives.size() > 1) {
                layout_changed();
            }
        }
    }
    if (how == Start::upgraded) {
        directory = upgraded(s, directory);
    }
    start_server(s, directory);
    lives.back().unsure = may_look_moved(s);
    note("start %lld (0 first, 1 crash, 2 fast, 3 put back, 4 copied, 5 promoted, 6 restored, 7 "
         "upgraded), clock %lld us "
         "behind",
         static_cast<int64_t>(how), behind());
    if (how == Start::restored) {
        for (database_at_hand = s.database_count - 1; database_at_hand > 0; database_at_hand--) {
            if (chance.one_in(3)) {
                administer(s, "CREATE EXTENSION", make_extension_anew);
                database_is_dropped(database_at_hand);
            } else {
                administer(s, "pg_restore", restore_dump);
            }
        }
        const bool repairs = world.has('f') && chance.one_in(2);
        administer(s, "pg_restore", restore_dump, repairs ? repair_at_hand : look_at_status);
        if (world.has('f') && chance.one_in(2)) {
            administer(s, "repair", repair_at_hand);
        }
    }
    if (how == Start::upgraded && chance.one_in(2)) { // one of the databases is new
        database_at_hand = static_cast<int>(chance.below(s.database_count));
        administer(s, "CREATE EXTENSION", make_extension_anew);
        database_is_dropped(database_at_hand);
    }
    if (how == Start::promoted && world.has('V') && !world.has('Q') && chance.one_in(4)) {
        database_at_hand = 0;
        administer(s, "DROP and CREATE EXTENSION", make_extension_anew);
        horizon_is_raised(0, 0);
    }
    begin_sessions(s, chance.one_in(2) ? 0 : 20 * ms);
    const bool administrators = world.has('o') && how != Start::first && chance.one_in(2);
    if (administrators || chance.one_in(2)) {
        tell_everyone(s);
    }
    if (administrators) {
        administer(s, "administrator", administrator, administrator); // before all is loaded
    }
}

} // namespace sim
