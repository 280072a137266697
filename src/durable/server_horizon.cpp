#include "durable/server_horizon.hpp"

#include "durable/records.hpp"
#include "durable/remembered.hpp"
#include "durable/server_file.hpp"
#include "server/clock.hpp"
#include "server/messages.hpp"
#include "server/shared.hpp"
#include "settings/settings.hpp"

namespace flakeid {

namespace {

struct ServerHorizon {
    pg_atomic_uint32 loaded;
    pg_atomic_uint32 kinds; // bit n: that kind was extended since the start
    Records records;
    // As load() found them, since the start
    pg_atomic_uint64 incarnation;
    pg_atomic_uint64 timeline;
    pg_atomic_uint64 incarnated_us;
    pg_atomic_uint64 roles_known; // as in Body
    // The same, or further, where another server's place was taken since
    pg_atomic_uint64 floor[horizon_kinds];
    pg_atomic_uint64 head_start_until_us;
    Remembered pending;               // what the next record says
    Remembered in_file;               // what is in the file
    pg_atomic_uint64 in_file_fence;   // of the record that said so last; UINT64_MAX: none does yet
    Remembered reserved;              // what databases reserved since the start
    pg_atomic_uint64 counter;         // as in Body
    pg_atomic_uint64 file_counter;    // what the file says of that; 0: nothing
    pg_atomic_uint32 counter_is_ours; // `counter` was told since the start
    pg_atomic_uint64 written_at;      // Steady: when somebody began to write
};
static_assert(is_plain<ServerHorizon>);

void create(ServerHorizon* server)
{
    records_create(&server->records);
    create(&server->pending);
    create(&server->in_file);
    create(&server->reserved);
    for (pg_atomic_uint32* word : {&server->loaded, &server->kinds, &server->counter_is_ours}) {
        pg_atomic_init_u32(word, 0);
    }
    for (pg_atomic_uint64* number :
         {&server->incarnation, &server->timeline, &server->incarnated_us,
          &server->floor[plain_horizon], &server->floor[back_horizon], &server->head_start_until_us,
          &server->counter, &server->file_counter, &server->written_at, &server->in_file_fence,
          &server->roles_known}) {
        pg_atomic_init_u64(number, 0);
    }
}

Shared<ServerHorizon, create> shared;

// Where several sessions load at once, the first one counts: what another one has read may be from
// before a repair.
void load(ServerHorizon* server, bool used)
{
    Record records[record_count];
    FileFacts facts{};
    const int result = disk_read(server_file, records, sizeof records, &facts);
    if (result != 0 && result != ENOENT) {
        throw_file(result, "read");
    }
    const Contents found = contents_of(records, facts);
    const bool missing = result == ENOENT && (used || disk_used());
    const int64_t now_us = wall_us();
    const bool fresh = result == ENOENT && !missing && is_new_server(now_us);
    const int64_t most_ahead_us =
        std::max(configured_max_ahead_us(), found.body.stamped.most_ahead_us);
    const int64_t lost_until_us = found.own || fresh ? 0 : takeover_us(now_us, most_ahead_us);
    const Floors floors = floors_at_start(found.body.stamped, lost_until_us);
    const int64_t timeline = GetWALInsertionTimeLine();
    const int64_t incarnation = found.own ? found.body.origin.incarnation : new_incarnation();
    const bool known = result == 0 || missing;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const bool first = pg_atomic_read_u32(&server->loaded) == 0;
    if (first) {
        set(&server->incarnation, incarnation);
        set(&server->timeline, timeline);
        set(&server->incarnated_us, found.own ? found.body.incarnated_us : now_us);
        set(&server->roles_known, found.own ? found.body.roles_known : fresh);
        pg_atomic_write_u64(&server->records.fence, found.own ? found.fence : found.fence + 1);
        set(&server->head_start_until_us, lost_until_us == 0 ? 0 : lost_until_us + extension_us);
        set(&server->counter, found.body.counter);
        Stamped stamped = found.body.stamped;
        for (int kind = 0; kind < horizon_kinds; kind++) {
            set(&server->floor[kind], stamp_number(floors.stamp[kind]));
            if (lost_until_us != 0) {
                take_stamp(&stamped, kind, floors.stamp[kind]);
            }
        }
        if (found.own) {
            raise(&server->in_file, stamped);
            // same without: only an assertion asks
            pg_atomic_write_u64(&server->in_file_fence, found.fence);
            set(&server->file_counter, found.body.counter); // same without: written once more
            // same without: a start writes all anew
            pg_atomic_write_u32(&server->records.fresh, all_fresh);
        }
        used_load(found.used, stamp_us(floors.stamp[plain_horizon]));
        stamped.least_us = floors.least_us;
        stamped.most_ahead_us = most_ahead_us;
        raise(&server->pending, stamped);
        pg_write_barrier();
        pg_atomic_write_u32(&server->loaded, 1);
    }
    LWLockRelease(AddinShmemInitLock);
    if (first && lost_until_us != 0 && known) {
        tell_of_copy(found, missing);
    }
}

ServerHorizon* loaded(bool used = true)
{
    ServerHorizon* server = shared.get();
    if (pg_atomic_read_u32(&server->loaded) == 0) {
        load(server, used);
    }
    pg_read_barrier();
    return server;
}

// No id of a right clock lies past it.
int64_t furthest_us(ServerHorizon* server, int64_t now_us)
{
    const int64_t reached_us = now_us + read(&server->pending.most_ahead_us);
    return std::max(reached_us, read(&server->head_start_until_us));
}

// Between two looks for a place in the file.
constexpr int64_t place_nap_us = 2 * us_per_ms;

// Writes what is to be remembered, and publishes what was written. Unless a repair has ended since
// this began, which has lowered the file below that: then it writes what is left. Where others
// write all places, it waits until one is free. Rejected: end as well where they have written all
// of it. What they wrote may be of before a repair, and counts for nothing then.
void write(ServerHorizon* server)
{
    bool published = false;
    while (!published) {
        const uint64_t fence = pg_atomic_read_u64(&server->records.fence);
        Body body{};
        uint64_t used_versions[record_count] = {};
        auto fill = [&](Record* record, int place) {
            body.system = GetSystemIdentifier();
            body.origin = {read(&server->timeline), read(&server->incarnation)};
            body.incarnated_us = read(&server->incarnated_us);
            body.roles_known = read(&server->roles_known);
            pg_read_barrier(); // who sets it has raised what is pending
            body.counter = read(&server->counter);
            body.stamped = stamped_of(&server->pending);
            used_versions[place] = used_fill(place, body.used);
            record->head.format = body_format;
            memcpy(record->body, &body, sizeof body);
        };
        if (!used_all_filed()) {
            pg_atomic_write_u32(&server->records.fresh, 0); // each place has a part of it
        }
        int result = records_write(server_file, &server->records, fill);
        if (result == ENOENT) {
            result = disk_make(server_file, records_size);
            result = result != 0 ? result : records_write(server_file, &server->records, fill);
        }
        if (result == EBUSY) {
            nap(place_nap_us);
            continue;
        }
        if (result != 0) {
            // same without: only time
            pg_atomic_write_u64(&server->written_at, static_cast<uint64_t>(steady_past));
            throw_file(result, "write");
        }
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        published = pg_atomic_read_u64(&server->records.fence) == fence;
        if (published) {
            raise(&server->in_file, body.stamped);
            // same without: only an assertion asks
            pg_atomic_write_u64(&server->in_file_fence, fence);
            set(&server->file_counter, body.counter);
            used_written(used_versions);
        }
        LWLockRelease(AddinShmemInitLock);
    }
}

// Raises the floors to where no other server has stamped, which no repair takes back.
void begin_past(ServerHorizon* server, int64_t us)
{
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE); // beside a repair
    raise_to(&server->head_start_until_us, number_of(us + extension_us));
    Stamped taken{};
    taken.least_us = us;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        const Stamp floor{pg_atomic_read_u64(&server->floor[kind])};
        const Stamp stamp = stamp_of(stamp_back(floor), us);
        raise_to(&server->floor[kind], static_cast<uint64_t>(stamp));
        take_stamp(&taken, kind, stamp);
    }
    raise(&server->pending, taken);
    LWLockRelease(AddinShmemInitLock);
}

int64_t take_over(ServerHorizon* server, int64_t lost_us, int64_t most_ahead_us)
{
    server_learn_most_ahead(std::max(most_ahead_us, configured_max_ahead_us()));
    const int64_t us = takeover_us(lost_us, read(&server->pending.most_ahead_us));
    begin_past(server, us);
    return us;
}

// True when the file says all that.
bool is_covered(ServerHorizon* server, const Stamped& wanted, bool* moments_only)
{
    bool covered = true;
    *moments_only = true;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        const Stamp in_file = server_bound(kind);
        const Stamp stamp = stamp_of_number(wanted.stamp[kind]);
        covered = covered && in_file >= stamp; // same with >: written once more
        *moments_only =
            // same with >: only how often it is written
            *moments_only && stamp_back(in_file) >= stamp_back(stamp) &&
            // same with >: only how often it is written
            (in_file >= stamp || (pg_atomic_read_u32(&server->kinds) & 1u << kind) != 0);
    }
    const Stamped in_file = stamped_of(&server->in_file);
    // same with >: only how often it is written
    *moments_only = *moments_only && in_file.most_ahead_us >= wanted.most_ahead_us &&
                    (wanted.nodes & ~in_file.nodes) == 0 &&
                    // same with >: only how often it is written
                    in_file.least_us >= read(&server->pending.least_us) && used_all_filed();
    return covered && *moments_only;
}

} // namespace

void server_horizon_init()
{
    shared.add();
    used_init();
    // pg_upgrade brings databases, and no file that tells of what another one may not know. It
    // loads the library to look for it, and for each of its functions. It starts the old server so
    // too, whose file stays.
    if (IsBinaryUpgrade && disk_is_upgraded()) {
        const int result = disk_lose(server_file);
        if (result != 0) {
            throw_file(result, "remove");
        }
    }
}

Origin server_origin(bool used)
{
    ServerHorizon* server = loaded(used);
    if (pg_atomic_read_u32(&server->records.fresh) != all_fresh) {
        write(server);
    }
    return {read(&server->timeline), read(&server->incarnation)};
}

Floors server_floors()
{
    ServerHorizon* server = loaded();
    return {{Stamp{pg_atomic_read_u64(&server->floor[plain_horizon])},
             Stamp{pg_atomic_read_u64(&server->floor[back_horizon])}},
            read(&server->pending.least_us)};
}

int64_t server_take_over_at_start(int64_t most_ahead_us)
{
    ServerHorizon* server = loaded();
    const int64_t us = take_over(server, read(&server->incarnated_us),
                                 std::max(most_ahead_us, max_ahead_of_roles_us()));
    pg_write_barrier();
    set(&server->roles_known, 1); // with the next record; until then a start takes the place again
    return us;
}

int64_t server_take_over_now(int64_t most_ahead_us)
{
    ServerHorizon* server = loaded();
    const int64_t us = take_over(server, wall_us(), most_ahead_us);
    write(server);
    return us;
}

bool server_knows_roles()
{
    return read(&loaded()->roles_known) != 0;
}

int64_t server_most_ahead_us()
{
    return std::max(settings.max_ahead_us,
                    RecoveryInProgress() ? 0 : server_remembers().most_ahead_us);
}

int64_t server_head_start_until_us()
{
    return read(&loaded()->head_start_until_us);
}

int64_t server_longest_wait_us()
{
    ServerHorizon* server = loaded();
    return std::max(read(&server->pending.most_ahead_us), assumed_ahead_us) + allowed_behind_us +
           max_generated_tick_us;
}

Stamp server_bound(int kind)
{
    return Stamp{pg_atomic_read_u64(&shared.get()->in_file.stamp[kind])};
}

bool server_is_repaired()
{
    ServerHorizon* server = shared.get();
    return pg_atomic_read_u64(&server->in_file_fence) == pg_atomic_read_u64(&server->records.fence);
}

void server_learn_most_ahead(int64_t most_ahead_us)
{
    raise_to(&loaded()->pending.most_ahead_us, number_of(most_ahead_us));
}

void server_counted_by(int64_t counter)
{
    ServerHorizon* server = loaded();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const bool first = pg_atomic_read_u32(&server->counter_is_ours) == 0;
    if (read(&server->counter) != counter) {
        const Stamp floor{pg_atomic_read_u64(&server->floor[plain_horizon])};
        raise_to(&server->pending.least_us, number_of(stamp_us(floor)));
        set(&server->counter, first ? counter : several_counters);
    }
    pg_atomic_write_u32(&server->counter_is_ours, 1);
    const int64_t known = read(&server->file_counter);
    const bool says = known == read(&server->counter);
    LWLockRelease(AddinShmemInitLock);
    if (!says) {
        write(server);
    }
}

int64_t server_cover(const Stamped& wanted, bool at_once, int64_t now_us, int64_t max_ahead_us)
{
    ServerHorizon* server = loaded();
    server_learn_most_ahead(wanted.most_ahead_us); // before `reserved`, which a repair reads first
    raise(&server->reserved, wanted);
    pg_memory_barrier();
    bool moments_only;
    if (is_covered(server, wanted, &moments_only)) {
        return 0;
    }
    uint64_t last = pg_atomic_read_u64(&server->written_at);
    const int64_t since_us = steady_now() - static_cast<Steady>(last);
    if (!at_once && moments_only && static_cast<Steady>(last) != steady_past &&
        since_us < extension_interval_us) { // same with <=: a microsecond
        return extension_interval_us - since_us;
    }
    Stamped next = wanted;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        const Stamp stamp = stamp_of_number(wanted.stamp[kind]);
        if (stamp > server_bound(kind)) { // same with >=: the file reaches further
            // same without: only how often it is written
            pg_atomic_fetch_or_u32(&server->kinds, 1u << kind);
            const int64_t us = file_target_us(stamp_us(stamp), now_us, max_ahead_us);
            // same without: another database waits a second
            take_stamp(&next, kind, stamp_of(stamp_back(stamp), us));
        }
    }
    // The other kind, where it is in use, finds the file as far.
    const int64_t us = std::min(next.latest_us, now_us + max_ahead_us);
    for (int kind = 0; kind < horizon_kinds; kind++) {
        if ((pg_atomic_read_u32(&server->kinds) & 1u << kind) != 0) {
            // same without: the other kind writes it
            take_stamp(&next, kind, stamp_of(stamp_back(server_bound(kind)), us));
        }
    }
    raise(&server->pending, next);
    if (!pg_atomic_compare_exchange_u64(&server->written_at, &last,
                                        static_cast<uint64_t>(steady_now())) &&
        !at_once && moments_only) {
        return 1; // another session writes
    }
    write(server);
    return is_covered(server, wanted, &moments_only) ? 0 : 1;
}

Stamped server_remembers()
{
    return stamped_of(&loaded()->pending);
}

UsedClaim server_claims(const Used& wanted, Tick from)
{
    return used_claim(wanted, from, &loaded()->pending.latest_us);
}

bool server_forgets(const Used& layout, Ticks soon)
{
    ServerHorizon* server = loaded();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const bool forgotten = used_forget(layout, soon);
    LWLockRelease(AddinShmemInitLock);
    if (forgotten) {
        write(server);
    }
    return forgotten;
}

bool server_has_node(uint32_t node)
{
    return (pg_atomic_read_u64(&loaded()->in_file.nodes) & bit_of_node(node)) != 0;
}

Stamped server_right(int64_t now_us)
{
    ServerHorizon* server = loaded();
    Stamped right = stamped_of(&server->reserved);
    pg_read_barrier();
    for (int kind = 0; kind < horizon_kinds; kind++) {
        take_stamp(&right, kind, Stamp{pg_atomic_read_u64(&server->floor[kind])});
    }
    const int64_t furthest = furthest_us(server, now_us);
    for (int64_t& stamp : right.stamp) {
        stamp = stamp_number(repaired_stamp(stamp_of_number(stamp), furthest));
    }
    right.latest_us = std::min(right.latest_us, furthest);
    return right;
}

void server_repair(int64_t right_us, Stamped (*reserved_by_others)())
{
    ServerHorizon* server = loaded();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    // A restore may have raised a floor since the caller asked.
    right_us = std::max(right_us, server_right(wall_us()).latest_us);
    const Stamp back = stamp_of_number(read(&server->pending.stamp[back_horizon]));
    const auto lower = [&](pg_atomic_uint64* number, int64_t least) {
        const Stamp stamp = repaired_stamp(Stamp{pg_atomic_read_u64(number)}, right_us);
        pg_atomic_write_u64(number, std::max(static_cast<uint64_t>(stamp), number_of(least)));
    };
    const auto lower_all = [&](Remembered* numbers, const Stamped& least) {
        for (int kind = 0; kind < horizon_kinds; kind++) {
            lower(&numbers->stamp[kind], least.stamp[kind]);
        }
        lower(&numbers->latest_us, least.latest_us);
        lower(&numbers->least_us, least.least_us);
    };
    for (pg_atomic_uint64& floor : server->floor) {
        lower(&floor, 0); // same without: that database is repaired too
    }
    pg_atomic_write_u64(&server->in_file_fence, UINT64_MAX);
    pg_write_barrier();
    lower_all(&server->in_file, {});
    pg_memory_barrier();
    // Whoever found in the file what he relies on had reserved it before. What is written from now
    // on says as much, and no less than `in_file`: a count that is not wrong stays.
    Stamped least = merged(reserved_by_others(), stamped_of(&server->in_file));
    if (stamp_back(stamp_of_number(least.stamp[back_horizon])) == stamp_back(back)) {
        // The count stays, and the database that is repaired may have made ids up to there.
        take_stamp(&least, back_horizon, std::min(back, stamp_of(stamp_back(back), right_us)));
    }
    lower_all(&server->pending, merged(server_right(wall_us()), least));
    // The records so far count for nothing, and each has a part of what used.hpp keeps.
    pg_atomic_write_u32(&server->records.fresh, 0);
    pg_atomic_fetch_add_u64(&server->records.fence, 1); // seldom: by a repair
    LWLockRelease(AddinShmemInitLock);
    const Stamp lowered = stamp_of_number(read(&server->pending.stamp[back_horizon]));
    // same with <=: one wait more
    if (stamp_back(lowered) < stamp_back(back)) {
        raise_to(&server->pending.least_us, number_of(right_us)); // what has the count that is gone
    }
    write(server);
}

} // namespace flakeid
