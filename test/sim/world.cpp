#include "world.hpp"

#include "checkers.hpp"
#include "clocks.hpp"
#include "durable/durable.hpp"
#include "sessions.hpp"
#include "starts.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

const char world_option[] = "";

// Each is on in half of the large worlds.
const std::vector<Feature> features = {
    {'D', "several databases"},
    {'L', "layouts that change over a restart"},
    {'B', "layouts with back"},
    {'S', "scaled layouts"},
    {'O', "ticks of a second"},
    {'C', "copies put back, files that did not change stay"},
    {'M', "copies and dumps that go on elsewhere"},
    {'P', "promotions"},
    {'u', "upgrades by pg_upgrade"},
    {'R', "roles with another max_ahead"},
    {'K', "clocks that are set back, stand still, leap"},
    {'X', "crashes"},
    {'F', "fast restarts"},
    {'T', "two crashes within a second"},
    {'G', "greedy sessions"},
    {'N', "a span of nodes"},
    {'A', "sessions that reserve ids"},
    {'Q', "polls of settled marks"},
    {'W', "the library is preloaded"},
    {'Z', "a slow disk"},
    {'t', "a disk whose flushes take seconds for a while"},
    {'n', "many sessions"},
    {'E', "cancelled and terminated sessions"},
    {'I', "a disk that fails"},
    {'Y', "prepared transactions"},
    {'U', "cursors left open"},
    {'J', "layouts that are named in calls"},
    {'H', "settings that change with a reload"},
    {'V', "the file of the state is replaced"},
    {'r', "horizons that are raised, dumps that are restored"},
    {'s', "savepoints that are rolled back"},
    {'c', "an enciphered layout"},
    {'f', "horizons that are raised by mistake and repaired"},
    {'e', "a layout that begins and ends in this world"},
    {'b', "the same with back"},
    {'h', "layouts that come to each other's numbers"},
    {'w', "a clock that leaps by days"},
    {'p', "sessions that stand still"},
    {'v', "sessions that end a thousand transactions while a snapshot is held"},
    {'l', "queries in parallel"},
    {'d', "databases that are dropped"},
    {'o', "administrators who come at the same time"},
};

namespace {

// Features that meet seldom by chance, and in which faults were found.
const char* const corners[] = {
    "DXT",  "DBCKXFQ", "BCMPK",  "QXFfr", "QDPM", "QGNAY", "BLKXF", "GRXCP", "ZIEX",
    "NJHF", "VXCr",    "eDXr",   "bCMr",  "HAQ",  "BLGXF", "DIOE",  "QYFH",  "QYX",
    "HQO",  "DBLKX",   "BLKF",   "DGBXT", "GXT",  "NG",    "AGrV",  "BArK",  "wKX",
    "DfKZ", "Dfr",     "BNXQR",  "bNXQR", "BGp",  "pDfZ",  "DfK",   "fPX",   "DVX",
    "GPV",  "DRMGK",   "DBRKFf", "dDfK",  "DM",   "dX",    "DPR",   "DGPR",  "Du",
    "DGuR", "t",       "Bt",     "ntX",   "nF",   "hF",    "DhX",   "hBKX",  "ebX",
    "JS",    "JSX",   "JSFQ",
};

constexpr int most_sessions = flakeid::record_count + 4; // that write the file of the server

std::vector<Directory> copies;
uint64_t next_machine;
std::map<std::string, DiskFile> fresh_files; // of initdb

Reached crash_met_flush('X', "a crash met WAL that was not flushed");
Reached crash_happened('X', "a crash");
Reached stopped_happened('p', "a session stood still");
Reached fast_happened('F', "a fast restart");
Reached twice_happened('T', "two crashes within a second");
Reached put_back_happened('C', "a copy was put back");
Reached copy_happened('M', "a copy went on elsewhere");
Reached dump_happened('M', "a dump went on elsewhere");
Reached promotion_happened('P', "a promotion");
Reached slow_happened('t', "a disk was slow");
Reached upgrade_happened('u', "an upgrade");
Reached dropped_happened('d', "a database was dropped");
Reached administrators_met('o', "administrators came at the same time");

// ---- Steps

void step_tell()
{
    const int seat = static_cast<int>(chance.below(world.session_count));
    tell_session(server(), seat, chance.next());
    run_turns(chance.below(12));
}

void step_tell_everyone()
{
    tell_everyone(server());
    run_turns(chance.below(60));
}

void step_time_passes()
{
    run_turns(1000, true_us + chance.below(chance.one_in(8) ? 30 * second : 2 * second));
}

void step_rest()
{
    run_turns(300);
}

void step_crash()
{
    crash_happened();
    if (server().inserted > server().flushed) {
        crash_met_flush();
    }
    start(Start::crash, left_by_crash());
    run_turns(chance.below(12));
}

void step_two_crashes()
{
    start(Start::crash, left_by_crash());
    tell_everyone(server());
    run_turns(200, true_us + chance.below(second));
    twice_happened();
    start(Start::crash, left_by_crash());
    tell_everyone(server());
    run_turns(chance.below(60));
}

void step_fast_restart()
{
    fast_happened();
    start(Start::fast, replayed(server(), server().inserted));
    run_turns(chance.below(12));
}

void step_promotion()
{
    Server& s = server();
    Directory standby = standby_at(s, true_us - chance.below(second)); // replay lag under 1 s
    promotion_happened();
    standby.files = chance.one_in(2) ? s.base.files : fresh_files; // WAL carries none
    standby.timeline++;
    s.machine = ++next_machine;
    start(Start::promoted, copied(s, standby));
    run_turns(chance.below(12));
}

void step_take_copy()
{
    if (copies.size() == 4) {
        copies.erase(copies.begin() + chance.below(4));
    }
    copies.push_back(flushed(server()));
    note("a copy is taken");
    run_turns(chance.below(12));
}

const Directory& some_copy()
{
    return copies[static_cast<size_t>(chance.below(static_cast<int64_t>(copies.size())))];
}

void step_put_copy_back()
{
    if (copies.empty()) {
        return;
    }
    put_back_happened();
    Server& s = server();
    s.clock.still_at = -1; // files are dated by a clock that goes on
    const Directory& copy = some_copy();
    start(Start::put_back, synchronised(s, s.now, copy, chance.one_in(2)));
    run_turns(chance.below(12));
}

void step_use_copy()
{
    if (copies.empty()) {
        return;
    }
    copy_happened();
    Server& s = server();
    const Directory& copy = some_copy();
    if (chance.one_in(2)) {
        s.machine = ++next_machine;
    }
    start(Start::copied, copied(s, copy));
    run_turns(chance.below(12));
}

void step_restore_dump()
{
    if (copies.empty()) {
        return;
    }
    Server& s = server();
    const Directory dump = some_copy();
    dump_happened();
    dumped = &dump;
    Directory directory = fresh_directory(s);
    directory.system -= static_cast<uint64_t>(chance.below(2) * 60 * minute / second)
                        << 32; // made long ago
    for (int i = 0; i < s.database_count; i++) {
        flakeid::Durable durable{};
        durable.format = flakeid::durable_format;
        StateFile& file = directory.databases[i].files[0];
        file.number = 1000 + static_cast<Oid>(i);
        set_durable(file, durable);
        directory.databases[i].current = file.number;
    }
    s.machine = ++next_machine;
    start(Start::restored, directory);
    run_turns(chance.below(12));
}

void step_upgrade()
{
    Server& s = server();
    upgrade_happened();
    Directory directory = replayed(s, s.inserted);
    directory.files = fresh_files;
    directory.timeline = 1;
    directory.system = new_system(s);
    start(Start::upgraded, directory);
    run_turns(chance.below(12));
}

// The next one in its place has what CREATE EXTENSION makes, or a dump, while others go on.
void step_drop_database()
{
    Server& s = server();
    database_at_hand = static_cast<int>(chance.below(s.database_count));
    const auto& prepared = s.now.prepared;
    if (!leave_database(database_at_hand) || s.panicked ||
        std::any_of(prepared.begin(), prepared.end(),
                    [](const Prepared& p) { return p.database == database_at_hand; })) {
        return;
    }
    dropped_happened();
    note("database %lld is dropped", database_at_hand);
    flakeid::Durable row{};
    row.format = flakeid::durable_format;
    drop_database(s, database_at_hand, row);
    database_is_dropped(database_at_hand);
    const Directory dump = copies.empty() ? Directory{} : some_copy();
    const bool restores = !copies.empty() && wrong_us == 0;
    const int64_t other_us = right_wall() + world.max_ahead;
    const bool right = behind() < clock_may_lag; // as guarantees.md wants it
    dumped = &dump;
    restored_elsewhere = false;
    if (restores) {
        nodes_may_be_raised();
    }
    administer(s, restores ? "pg_restore" : "CREATE EXTENSION",
               restores ? restore_dump : make_extension_anew);
    if (restored_elsewhere && right) {
        other_server_is_restored(other_us);
    }
    run_turns(chance.below(12));
}

// Whoever wants an id gets one, or an error, however slow the disk is.
void step_slow_disk()
{
    Server& s = server();
    if (s.clock.still_at >= 0 || !calm_down()) {
        return;
    }
    slow_happened();
    note("the disk is slow");
    const int64_t fastest = s.fastest_flush, slowest = s.slowest_flush;
    s.fastest_flush = 2 * second;
    s.slowest_flush = chance.one_in(3) ? 12 * second : 4 * second;
    everyone_draws(s, 10 * minute, Fails::with_error);
    note("the disk is well again");
    s.fastest_flush = fastest;
    s.slowest_flush = slowest;
}

void step_administrators()
{
    administrators_met();
    administer(server(), "administrator", administrator, administrator);
    if (world.has('X') && chance.one_in(3)) {
        step_crash(); // before anybody else writes the file of the server
    } else {
        run_turns(chance.below(12));
    }
}

void step_reload()
{
    Server& s = server();
    s.configuration["flakeid.when_ahead"] = chance.one_in(2) ? "wait" : "error";
    s.configuration["flakeid.cache"] = chance.one_in(3) ? "3" : "1";
    s.configuration_version++;
    note("the configuration changes");
    run_turns(chance.below(12));
}

} // namespace

void cancel_somebody();

namespace {

// As by SIGSTOP and SIGCONT. Often for so short a time that a session relies on what it knows.
void step_stop_somebody()
{
    Process* process = busy_session(server(), static_cast<int>(chance.below(world.session_count)));
    if (process != nullptr) {
        stopped_happened();
        const int64_t us = chance.one_in(3) ? chance.below(5 * second) : chance.below(100 * ms);
        note("session %lld stands still for %lld us", process->number, us);
        process->stopped_until = true_us + us;
    }
    run_turns(chance.below(40));
}

void step_cancel()
{
    cancel_somebody();
    run_turns(chance.below(12));
}

const std::vector<StepKind> server_steps = {
    {"a session is told to work", 0, 600, step_tell},
    {"everyone is told to work", 0, 40, step_tell_everyone},
    {"time passes", 0, 40, step_time_passes},
    {"all work is done", 0, 20, step_rest},
    {"a crash", 'X', 10, step_crash},
    {"two crashes", 'T', 8, step_two_crashes},
    {"a fast restart", 'F', 10, step_fast_restart},
    {"a promotion", 'P', 8, step_promotion},
    {"pg_upgrade", 'u', 8, step_upgrade},
    {"a copy is taken", 'C', 15, step_take_copy},
    {"a copy is put back", 'C', 8, step_put_copy_back},
    {"a copy is taken", 'M', 15, step_take_copy},
    {"a copy is used", 'M', 8, step_use_copy},
    {"a dump is restored elsewhere", 'M', 8, step_restore_dump},
    {"the clock is set back", 'K', 15, step_set_back},
    {"the clock leaps", 'K', 10, step_leap},
    {"the clock stands still, or goes", 'K', 6, step_stand_still},
    {"a session is cancelled", 'E', 40, step_cancel},
    {"a session stands still", 'p', 60, step_stop_somebody},
    {"the settings are read anew", 'H', 15, step_reload},
    {"the clock leaps by days, or is put right or accepted", 'w', 20, step_wrong_clock},
    {"the disk is slow", 't', 10, step_slow_disk},
    {"a database is dropped", 'd', 10, step_drop_database},
    {"administrators come", 'o', 100, step_administrators},
};

} // namespace

bool may_happen(char feature)
{
    return feature != 0 && strchr("XFPCMK", feature) != nullptr;
}

void happen(char feature)
{
    switch (feature) {
    case 'X':
        return step_crash();
    case 'F':
        return step_fast_restart();
    case 'P':
        return step_promotion();
    case 'C':
        return step_put_copy_back();
    case 'M':
        return step_use_copy();
    default:
        return step_set_back();
    }
}

void take_copy()
{
    step_take_copy();
}

void make_world(uint64_t seed, const char* letters, int sessions)
{
    reset_machine();
    Random choice(mix(seed, 1));
    world = World{};
    world.seed = seed;
    // A large world dilutes: a third of the seeds have a few features only, a third those of a
    // corner and few others.
    const int64_t kind = choice.below(3);
    const auto all = static_cast<int64_t>(features.size());
    const std::string corner =
        kind == 0 ? corners[choice.below(static_cast<int64_t>(std::size(corners)))] : "";
    for (const Feature& feature : features) {
        const bool more = kind == 2 ? choice.one_in(2) : choice.below(all) < (kind == 0 ? 2 : 5);
        if (more || corner.find(feature.letter) != std::string::npos) {
            world.chosen += feature.letter;
        }
    }
    if (letters != nullptr) {
        world.chosen = letters;
    } else if (world.chosen.find_first_of("Lebh") != std::string::npos &&
               world.chosen.find_first_of("XFTPCM") == std::string::npos) {
        world.chosen += 'F';
    }
    if (world.has('v') && !world.has('Q')) {
        world.chosen += 'Q';
    }
    // A layout that begins and ends soon has no ids left after such a leap, nor beside mistakes,
    // and too few a second for a thousand transactions.
    for (const char other : {'w', 'v', 'o'}) {
        if (world.chosen.find_first_of("eb") != std::string::npos && world.has(other)) {
            world.chosen.erase(world.chosen.find(other), 1);
        }
    }
    if (world.has('o') && !world.has('f')) {
        world.chosen += 'f';
    }
    // A worker's place is that of another session then.
    if (world.has('n') && world.has('l')) {
        world.chosen.erase(world.chosen.find('l'), 1);
    }
    world.session_count = sessions > 0     ? sessions
                          : world.has('n') ? most_sessions
                                           : static_cast<int>(choice.between(2, 5));
    Server& s = server();
    s.number = 0;
    s.database_count = world.has('D') ? static_cast<int>(choice.between(2, 3)) : 1;
    s.configuration["flakeid.node"] = !world.has('N') ? "0" : choice.one_in(2) ? "0-1" : "0-15";
    world.other_role = role_of_1_s;
    const int64_t larger = choice.below(3);
    if (world.has('R') && larger == 1) {
        world.max_ahead = 8 * second;
        s.configuration["flakeid.max_ahead"] = "8000";
    } else if (world.has('R') && larger == 2) {
        world.max_ahead = 8 * second;
        world.other_role = role_of_8_s;
    }
    s.max_ahead_of_roles_us = has_far_sessions()                ? minute
                              : world.other_role == role_of_8_s ? 8 * second
                                                                : second;
    s.preload = world.has('W');
    s.slowest_flush = world.has('Z') ? second : 3 * ms;
    s.machine = ++next_machine;
    chance = Random(mix(seed, 2));
    steps_begin(server_steps);
    clocks_begin();
    copies.clear();
    parse_layouts();
    history_begins();

    // Its directory
    const Directory empty = fresh_directory(s);
    s.base = s.now = empty;
    fresh_files = empty.files;
    Process& process = spawn(s, "initdb", make_extension, pristine, true_us);
    while (process.alive) {
        run(process);
    }
    s.base.files = s.now.files;
    s.failing_writes = world.has('I') ? 20 : 0;
    start(Start::first, s.base);
}

void run_step(uint64_t number)
{
    const StepKind& chosen = choose_step(number);
    if (server().panicked) {
        start(Start::crash, left_by_crash());
    }
    renew_sessions(server());
    chosen.run();
}

void run_turns(int64_t turns, int64_t until)
{
    while (turns-- > 0 && true_us < until && !server().panicked && run_somebody(until)) {
        if (!lives.back().made_ids) {
            lives.back().behind = std::max(lives.back().behind, behind());
        }
    }
    if (until != never) {
        true_us = std::max(true_us, until);
    }
}

// Every session that may make ids makes one, soon, when nothing stands against it any more: the
// clock is right, no disk fails, and what was stamped ahead of the clock has passed.
void end_world()
{
    chance = Random(mix(world.seed, 99));
    Server& s = server();
    s.failing_writes = 0;
    s.slowest_flush = 3 * ms;
    if (world.has('Q') && world.has('G') && !s.panicked) {
        everyone_draws_all(s);
    }
    const bool crashes = world.has('X') && chance.one_in(3);
    if (crashes) { // while greedy sessions stand at the end of a horizon
        tell_everyone(s);
        run_turns(1000, true_us + second);
    }
    if (s.panicked || crashes) {
        start(Start::crash, left_by_crash());
    }
    note("faults stop");
    // What sessions stamped ahead of the clock lies behind it by then.
    const int64_t passed = has_far_sessions() ? 70 * second : world.max_ahead + 5 * second;
    s.clock.still_at = -1;
    put_clock_right();
    s.clock.offset += behind();
    renew_sessions(s);
    if (!calm_down()) {
        broken("G4: a session goes on for a minute after it was cancelled");
    }
    if (world.has('Q')) {
        run_turns(1000, true_us + passed);
        everyone_polls(s, Fails::may); // ids may stand at the very end of a horizon
        (void)calm_down();
    }
    everyone_draws(s, 10 * second, Fails::may); // the first use of a database after a start
    (void)calm_down();
    if (world.has('f')) {
        run_turns(1000, true_us + minute);
        everyone_errs(s);
        (void)calm_down();
        // Whoever comes first after a repair may stamp further ahead than others do.
        everyone_draws(s, 7 * second, Fails::may);
        (void)calm_down();
    }
    run_turns(1000, true_us + passed);
    // Whose reach is long enough waits where others are told until when another layout used its
    // ids.
    const bool long_wait = world.chosen.find_first_of("ehb") != std::string::npos;
    everyone_draws(s, long_wait ? passed : 3 * second, Fails::may_not);
    if (world.has('Q')) {
        run_turns(1000, true_us + passed);
        everyone_polls(s, Fails::may_not);
    }
}

} // namespace sim
