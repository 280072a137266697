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
    pg_atomic_uint64 life;
    pg_atomic_uint64 timeline;
    pg_atomic_uint64 adopted_us;
    // The same, or further, where another server's place was taken since
    pg_atomic_uint64 floor[horizon_kinds];
    pg_atomic_uint64 spared_until_us;
    Remembered next;             // what the next record says
    Remembered flushed;          // what is in the file
    Remembered relied;           // what databases came to rely on since the start
    pg_atomic_uint64 counter;    // as in Body
    pg_atomic_uint64 known;      // what the file says of that; 0: nothing
    pg_atomic_uint32 counted;    // `counter` is of this life
    pg_atomic_uint64 written_at; // Steady: when somebody began to write
};
static_assert(is_plain<ServerHorizon>);

void create(ServerHorizon* server)
{
    records_create(&server->records);
    create(&server->next);
    create(&server->flushed);
    create(&server->relied);
    for (pg_atomic_uint32* word : {&server->loaded, &server->kinds, &server->counted}) {
        pg_atomic_init_u32(word, 0);
    }
    for (pg_atomic_uint64* number :
         {&server->life, &server->timeline, &server->adopted_us, &server->floor[plain_horizon],
          &server->floor[back_horizon], &server->spared_until_us, &server->counter, &server->known,
          &server->written_at}) {
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
    // A standby may have missed that flakeid was used.
    const bool fresh = result == ENOENT && !missing && GetWALInsertionTimeLine() == 1;
    const int64_t now_us = wall_us();
    const int64_t reach_us = std::max(configured_max_ahead_us(), found.body.stamped.reach_us);
    const int64_t apart = found.own || fresh ? 0 : apart_us(now_us, reach_us);
    const Floors floors = floors_at_start(found.body.stamped, apart);
    const int64_t timeline = GetWALInsertionTimeLine();
    const int64_t life = found.own ? found.body.origin.life : new_life();
    const bool known = result == 0 || missing;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const bool first = pg_atomic_read_u32(&server->loaded) == 0;
    if (first) {
        set(&server->life, life);
        set(&server->timeline, timeline);
        set(&server->adopted_us, found.own ? found.body.adopted_us : now_us);
        pg_atomic_write_u64(&server->records.era, found.own ? found.era : found.era + 1);
        set(&server->spared_until_us, apart == 0 ? 0 : apart + extension_us);
        set(&server->counter, found.body.counter);
        Stamped stamped = found.body.stamped;
        for (int kind = 0; kind < horizon_kinds; kind++) {
            set(&server->floor[kind], stamp_number(floors.stamp[kind]));
            if (apart != 0) {
                take_stamp(&stamped, kind, floors.stamp[kind]);
            }
        }
        if (found.own) {
            raise(&server->flushed, stamped);
            set(&server->known, found.body.counter); // same without: written once more
            // same without: a start writes all anew
            pg_atomic_write_u32(&server->records.fresh, all_fresh);
        }
        stamped.least_us = floors.least_us;
        stamped.reach_us = reach_us;
        raise(&server->next, stamped);
        pg_write_barrier();
        pg_atomic_write_u32(&server->loaded, 1);
    }
    LWLockRelease(AddinShmemInitLock);
    if (first && apart != 0 && known) {
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
    const int64_t reached_us = now_us + read(&server->next.reach_us);
    return std::max(reached_us, read(&server->spared_until_us));
}

// Writes what is to be remembered, and publishes what was written. Unless a repair has ended since
// this began, which has lowered the file below that: then it writes what is left.
void write(ServerHorizon* server)
{
    bool published = false;
    while (!published) {
        const uint64_t era = pg_atomic_read_u64(&server->records.era);
        Body body{};
        auto fill = [&](Record* record) {
            body.system = GetSystemIdentifier();
            body.origin = {read(&server->timeline), read(&server->life)};
            body.adopted_us = read(&server->adopted_us);
            body.counter = read(&server->counter);
            body.stamped = stamped_of(&server->next);
            record->head.format = body_format;
            memcpy(record->body, &body, sizeof body);
        };
        int result = records_write(server_file, &server->records, fill);
        if (result == ENOENT) {
            result = disk_make(server_file, records_size);
            result = result != 0 ? result : records_write(server_file, &server->records, fill);
        }
        if (result != 0) {
            // same without: only time
            pg_atomic_write_u64(&server->written_at, static_cast<uint64_t>(steady_past));
            throw_file(result, "write");
        }
        LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
        published = pg_atomic_read_u64(&server->records.era) == era;
        if (published) {
            raise(&server->flushed, body.stamped);
            set(&server->known, body.counter);
        }
        LWLockRelease(AddinShmemInitLock);
    }
}

// Raises the floors to where no other server has stamped, which no repair takes back.
void begin_past(ServerHorizon* server, int64_t us)
{
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE); // beside a repair
    raise_to(&server->spared_until_us, number_of(us + extension_us));
    Stamped taken{};
    taken.least_us = us;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        const Stamp floor{pg_atomic_read_u64(&server->floor[kind])};
        const Stamp stamp = stamp_of(stamp_back(floor), us);
        raise_to(&server->floor[kind], static_cast<uint64_t>(stamp));
        take_stamp(&taken, kind, stamp);
    }
    raise(&server->next, taken);
    LWLockRelease(AddinShmemInitLock);
}

// True when the file says all that.
bool is_covered(ServerHorizon* server, const Stamped& wanted, bool* moments_only)
{
    bool covered = true;
    *moments_only = true;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        const Stamp flushed = server_bound(kind);
        const Stamp stamp = stamp_of_number(wanted.stamp[kind]);
        covered = covered && flushed >= stamp; // same with >: written once more
        *moments_only =
            // same with >: only how often it is written
            *moments_only && stamp_back(flushed) >= stamp_back(stamp) &&
            // same with >: only how often it is written
            (flushed >= stamp || (pg_atomic_read_u32(&server->kinds) & 1u << kind) != 0);
    }
    const Stamped known = stamped_of(&server->flushed);
    // same with >: only how often it is written
    *moments_only = *moments_only && known.reach_us >= wanted.reach_us &&
                    (wanted.nodes & ~known.nodes) == 0 &&
                    // same with >: only how often it is written
                    known.least_us >= read(&server->next.least_us);
    return covered && *moments_only;
}

} // namespace

void server_horizon_init()
{
    shared.add();
}

Origin server_origin(bool used)
{
    ServerHorizon* server = loaded(used);
    if (pg_atomic_read_u32(&server->records.fresh) != all_fresh) {
        write(server);
    }
    return {read(&server->timeline), read(&server->life)};
}

Floors server_floors()
{
    ServerHorizon* server = loaded();
    return {{Stamp{pg_atomic_read_u64(&server->floor[plain_horizon])},
             Stamp{pg_atomic_read_u64(&server->floor[back_horizon])}},
            read(&server->next.least_us)};
}

int64_t server_apart_us(int64_t reach_us)
{
    ServerHorizon* server = loaded();
    const int64_t us =
        apart_us(read(&server->adopted_us), std::max(reach_us, configured_max_ahead_us()));
    begin_past(server, us);
    return us;
}

int64_t server_take_over(int64_t reach_us)
{
    ServerHorizon* server = loaded();
    server_learn_reach(std::max(reach_us, configured_max_ahead_us()));
    const int64_t now_us = wall_us();
    const int64_t us = apart_us(now_us, read(&server->next.reach_us));
    begin_past(server, us);
    write(server);
    return us;
}

int64_t server_known_reach_us()
{
    return std::max(settings.max_ahead_us, RecoveryInProgress() ? 0 : server_remembers().reach_us);
}

int64_t server_spared_until_us()
{
    return read(&loaded()->spared_until_us);
}

int64_t server_longest_wait_us()
{
    ServerHorizon* server = loaded();
    return std::max(read(&server->next.reach_us), least_reach_us) + allowed_behind_us +
           max_generated_tick_us;
}

Stamp server_bound(int kind)
{
    return Stamp{pg_atomic_read_u64(&shared.get()->flushed.stamp[kind])};
}

void server_learn_reach(int64_t reach_us)
{
    raise_to(&loaded()->next.reach_us, number_of(reach_us));
}

void server_counted_by(int64_t counter)
{
    ServerHorizon* server = loaded();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const bool first = pg_atomic_read_u32(&server->counted) == 0;
    if (read(&server->counter) != counter) {
        const Stamp floor{pg_atomic_read_u64(&server->floor[plain_horizon])};
        raise_to(&server->next.least_us, number_of(stamp_us(floor)));
        set(&server->counter, first ? counter : several_counters);
    }
    pg_atomic_write_u32(&server->counted, 1);
    const int64_t known = read(&server->known);
    const bool says = known == read(&server->counter);
    LWLockRelease(AddinShmemInitLock);
    if (!says) {
        write(server);
    }
}

int64_t server_cover(const Stamped& wanted, bool at_once, int64_t now_us, int64_t max_ahead_us)
{
    ServerHorizon* server = loaded();
    server_learn_reach(wanted.reach_us); // before `relied`, which a repair reads first
    raise(&server->relied, wanted);
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
            const int64_t us = server_reach_us(stamp_us(stamp), now_us, max_ahead_us);
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
    raise(&server->next, next);
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
    return stamped_of(&loaded()->next);
}

bool server_has_node(uint32_t node)
{
    return (pg_atomic_read_u64(&loaded()->flushed.nodes) & bit_of_node(node)) != 0;
}

Stamped server_right(int64_t now_us)
{
    ServerHorizon* server = loaded();
    Stamped right = stamped_of(&server->relied);
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

void server_repair(int64_t right_us, Stamped (*relied_by_others)())
{
    ServerHorizon* server = loaded();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    // A restore may have raised a floor since the caller asked.
    right_us = std::max(right_us, server_right(wall_us()).latest_us);
    const Stamp back = stamp_of_number(read(&server->next.stamp[back_horizon]));
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
    lower_all(&server->flushed, {});
    pg_memory_barrier();
    // Whoever found in the file what he relies on had said so before. What is written from now on
    // says as much, and no less than `flushed`: a count that is not wrong stays.
    const Stamped relied = relied_by_others();
    Stamped kept = merged(relied, stamped_of(&server->flushed));
    if (stamp_back(stamp_of_number(kept.stamp[back_horizon])) == stamp_back(back)) {
        // The count stays, and the database that is repaired may have made ids up to there.
        take_stamp(&kept, back_horizon, std::min(back, stamp_of(stamp_back(back), right_us)));
    }
    lower_all(&server->next, merged(server_right(wall_us()), kept));
    // The records so far count for nothing.
    pg_atomic_fetch_add_u64(&server->records.era, 1); // seldom: by a repair
    LWLockRelease(AddinShmemInitLock);
    // same with <=: one wait more
    if (stamp_back(stamp_of_number(read(&server->next.stamp[back_horizon]))) < stamp_back(back)) {
        raise_to(&server->next.least_us, number_of(right_us)); // what has the count that is gone
    }
    write(server);
}

} // namespace flakeid
