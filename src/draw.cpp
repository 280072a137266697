#include "draw.hpp"

#include "clock.hpp"
#include "messages.hpp"
#include "settings.hpp"
#include "worker.hpp"

namespace flakeid {

namespace {

// A wait is cut into pieces of this length, because the clock may be corrected meanwhile.
constexpr int64_t longest_nap_us = 100 * us_per_ms;

// An error rather than a longer wait than flakeid.max_ahead and this.
constexpr int64_t wait_margin_us = 2 * us_per_s;

// Between two looks at a lease that the keeper is to take.
constexpr int64_t lease_nap_us = 5 * us_per_ms;

// Past half of flakeid.max_ahead a session that draws several ids at once gets no more than this
// part of all that the layout allows, so that those who draw one at a time need not wait for it.
constexpr int64_t part_of_several = 64;

// When this session may draw several again.
int64_t several_from_us;

// How long sessions and the keeper may differ about the settings after a reload.
constexpr int64_t settings_lag_us = us_per_s;

// Sleeps without holding anything; an interrupt ends it.
void nap(int64_t us)
{
    const auto ms = static_cast<long>((Min(us, longest_nap_us) + us_per_ms - 1) / us_per_ms);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms,
                    PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

bool outside_lease(const Generator& g, const Draw& d)
{
    return g.shape.has_back && (word_tick(g.shape, d.word) < g.lease_first ||
                                word_tick(g.shape, d.word + d.count - 1) > g.lease_last);
}

[[noreturn]] void throw_no_lease(const Generator& g, int64_t now_us)
{
    const LeaseView view = lease_view(g.lease, g.wanted_node, g.layout.max_node);
    const int64_t end_us = view.last_end_us;
    const LeaseStory story = lease_story(g.lease);
    const char* clock = moment_text(now_us);
    const char* detail = psprintf("%s; the clock says %s.", story.for_user, clock);
    const char* log = psprintf("%s; the clock says %s.", story.for_log, clock);
    const bool given_back = !view.held && now_us < end_us;
    if (end_us == 0 || given_back) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                g.wanted_node == any_node
                    ? errmsg("no node is leased to this server")
                    : errmsg("node %u is not leased to this server", g.wanted_node),
                errdetail("%s", detail), errdetail_log("%s", log),
                errhint("Ids go on by themselves as soon as the coordinator gives a lease."));
    }
    ereport(
        ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        now_us >= end_us
            ? errmsg("the lease of node %u ended at %s", view.node, moment_text(end_us))
            : errmsg("the lease of node %u ends at %s, before the next id", view.node,
                     moment_text(end_us)),
        errdetail("%s", detail), errdetail_log("%s", log),
        errhint(
            "Ids go on by themselves as soon as the lease is renewed. Correct the clock if it is "
            "wrong."));
}

// True when no lease can come soon: the last attempt failed for each node that the generator may
// have.
bool none_to_come(const Generator& g)
{
    if (!lease_failing(g.lease)) {
        return false;
    }
    for (uint32_t node = g.first_node; g.wanted_node != any_node && node <= g.last_node; node++) {
        const Lease* lease = lease_want(node, g.layout.max_node, true);
        if (lease == nullptr) {
            break;
        }
        if (!lease_failing(lease)) {
            return false;
        }
    }
    return true;
}

// Waits a little for the keeper, or raises an error when it has one or took too long.
void await_lease(Generator& g, int64_t now_us, int64_t* waiting_since)
{
    lease_call(g.lease);
    if (*waiting_since == 0) {
        *waiting_since = steady_us();
    }
    const bool ahead =
        g.lease_end_us > now_us; // ids run ahead of the clock: a renewal may be due later
    if ((!ahead && none_to_come(g)) ||
        steady_us() - *waiting_since > settings.max_ahead_us + wait_margin_us) {
        throw_no_lease(g, now_us);
    }
    nap(Max(lease_nap_us, (steady_us() - *waiting_since) / 4));
}

// True when several ids lie so far ahead that others should come first.
bool crowds_others(const Generator& g, const Draw& d)
{
    return d.count > 1 && settings.when_ahead == WhenAhead::wait &&
           word_tick(g.shape, d.word) > g.limits.now + g.limits.ahead / 2;
}

void let_others_first(const Generator& g, const Draw& d, int64_t now_us)
{
    const auto tick = static_cast<int64_t>(max_sequence(g.shape)) + 1;
    const int64_t share_us = d.count * g.layout.tick_us / tick * part_of_several;
    several_from_us = now_us + Min(share_us, settings.max_ahead_us / 2);
}

// The step from the last word of g.slot, read before.
Draw next(Generator& g, uint64_t last, Want want)
{
    if (unlikely(g.shape.has_back)) {
        pg_read_barrier();
        g.limits.others_ahead = pg_atomic_read_u64(&g.slot->most_ahead);
    }
    return step(last, g.shape, g.limits, want);
}

// The tick of the next id of g.node, or UINT64_MAX.
uint64_t next_tick(Generator& g, Want want)
{
    const uint64_t last = pg_atomic_read_u64(&g.slot->word);
    if (last == closed_word || (g.lease != nullptr && !lease_holds(g, last))) {
        return UINT64_MAX;
    }
    const Draw d = next(g, last, want);
    const bool some = d.verdict == Verdict::issue || d.verdict == Verdict::extend;
    return some ? word_tick(g.shape, d.word) : UINT64_MAX;
}

// Moves on to a node of the span whose tick has room, or whose next id lies least far ahead. False
// when that is the one where it is.
bool move_on(Generator& g, Want want)
{
    const uint32_t start = g.node;
    uint32_t best = start;
    uint64_t least = next_tick(g, want);
    for (uint32_t node = start == g.last_node ? g.first_node : start + 1; node != start;
         node = node == g.last_node ? g.first_node : node + 1) {
        if (!set_node(g, node)) {
            if (g.lease != nullptr) {
                continue; // its lease is not held yet
            }
            if (node < start) {
                break;
            }
            node = g.last_node; // no slot is left: those before have theirs
            continue;
        }
        const uint64_t tick = next_tick(g, want);
        if (tick <= g.limits.now) {
            return true;
        }
        if (tick < least) {
            best = node;
            least = tick;
        }
    }
    (void)set_node(g, best);
    return best != start;
}

[[noreturn]] void throw_ahead(const Generator& g, const Draw& d, int64_t now_us)
{
    const int64_t start_us = word_start_us(g, d.word);
    const char* ahead = duration_text(start_us - now_us);
    const char* max_ahead = duration_text(settings.max_ahead_us);
    if (g.lease != nullptr && g.lease_end_us != 0 && word_tick(g.shape, d.word) <= g.lease_first) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the lease of node %u begins %s ahead of the clock", g.node, ahead),
                errdetail("%s says that it began at %s, and the clock says %s; "
                          "flakeid.max_ahead is %s.",
                          lease_coordinator().for_user, moment_text(start_us), moment_text(now_us),
                          max_ahead),
                errhint("Correct the clock of this server or of the coordinator."));
    }
    if (d.word <= g.limits.first) {
        ereport(
            ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("the horizon of database \"%s\" lies %s ahead of the clock",
                   get_database_name(MyDatabaseId), ahead),
            errdetail("Ids up to %s may have been issued, and the clock says %s; flakeid.max_ahead "
                      "is %s.",
                      moment_text(start_us), moment_text(now_us), max_ahead),
            errhint(
                "Correct the clock if it was set back, or wait until it has caught up. A superuser "
                "can lower a horizon that is wrong with SELECT flake_repair_horizon()."));
    }
    ereport(
        ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        errmsg("the next id of node %u lies %s ahead of the clock", g.node, ahead),
        errdetail("Ids were drawn faster than layout \"%s\" allows, or the clock was set back; the "
                  "clock says %s; flakeid.max_ahead is %s.",
                  g.name, moment_text(now_us), max_ahead),
        g.shape.has_back
            ? errhint("Wait or correct the clock. The back field has %u of its values left.",
                      static_cast<unsigned>(g.shape.max_back - word_back(g.shape, d.word)))
            : errhint("Wait, correct the clock, or use a layout with a wider sequence or a span "
                      "of nodes."));
}

// There was a coordinator a moment ago, or this session has not seen yet that there is one.
void await_open_slot(int64_t* waiting_since)
{
    if (*waiting_since == 0) {
        *waiting_since = steady_us();
    }
    if (steady_us() - *waiting_since < settings_lag_us) {
        keeper_call();
        nap(lease_nap_us);
        return;
    }
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("ids are made with leases only from now on"),
            errdetail("flakeid.coordinator was set while this statement ran."),
            errhint("Run the statement again."));
}

// Waits for a lease, extends the horizon, or raises an error. Returns how long to wait before the
// next attempt. `waiting_since` is kept between the attempts of one draw, 0 first.
int64_t unblock(Generator& g, const Draw& d, int64_t now_us, int64_t* waiting_since)
{
    CHECK_FOR_INTERRUPTS();
    if (d.verdict == Verdict::exhausted) {
        throw_exhausted(g);
    }
    if (g.lease != nullptr && d.verdict != Verdict::wait &&
        (d.verdict == Verdict::issue || word_tick(g.shape, d.word) > g.lease_last)) {
        await_lease(g, now_us, waiting_since);
        return 0;
    }
    int64_t wait_us;
    if (d.verdict == Verdict::extend) {
        wait_us = horizon_extend(g.horizon, g.kind, stamp_of_word(g, d.word), now_us);
    } else {
        observe_clock();
        wait_us = g.tick_start_us + static_cast<int64_t>(d.too_far) * g.layout.tick_us - now_us;
        const int64_t longest = settings.max_ahead_us + wait_margin_us;
        const int64_t waited = *waiting_since == 0 ? 0 : steady_us() - *waiting_since;
        // The first tick after the horizon, as after a promotion, is waited for in any case.
        const bool first = d.word <= g.limits.first && wait_us <= max_generated_tick_us;
        if ((settings.when_ahead == WhenAhead::error && !first) || wait_us > longest ||
            waited > longest) {
            throw_ahead(g, d, now_us);
        }
        wait_us = Max(wait_us, 1);
    }
    return wait_us;
}

// The horizon is extended before its last second, so that nobody has to wait for it.
void extend_early(Generator& g, uint64_t word, int64_t now_us)
{
    if (now_us < g.next_early_us && g.next_early_us - now_us <= extension_interval_us) {
        return;
    }
    g.next_early_us = now_us + extension_interval_us / 4;
    (void)horizon_extend(g.horizon, g.kind, stamp_of_word(g, word), now_us);
}

// One attempt of a draw, up to the swap.
struct Attempt {
    Draw draw;
    uint64_t last; // word that `draw` follows
    int64_t now_us;
    int64_t wait_us; // 0: try again at once
};

// True when attempt->draw may be swapped in. Waits for a lease, but not for the clock.
inline bool try_draw(Generator& g, Want want, int64_t* waiting_since, Attempt* attempt)
{
    const int64_t now_us = wall_us();
    attempt->now_us = now_us;
    attempt->wait_us = 0;
    refresh_limits(g, now_us);
    const uint64_t last = pg_atomic_read_u64(&g.slot->word);
    attempt->last = last;
    if (unlikely(last == closed_word && g.slot->yielded)) {
        (void)find_slot(g, g.node);
    }
    if (unlikely(g.lease != nullptr)) {
        if (unlikely(!lease_holds(g, last))) {
            view_lease(g);
            const bool elsewhere = g.lease_end_us == 0 && g.first_node != g.last_node &&
                                   lease_failing(g.lease) && move_on(g, want);
            if (g.lease_end_us == 0 && !elsewhere) {
                await_lease(g, now_us, waiting_since);
            }
            return false;
        }
    } else if (unlikely(last == closed_word || leases_began(g))) {
        await_open_slot(waiting_since);
        return false;
    }
    const Draw d = next(g, last, want);
    attempt->draw = d;
    if (unlikely(g.first_node != g.last_node) &&
        (d.verdict == Verdict::wait ||
         (d.verdict == Verdict::issue && word_tick(g.shape, d.word) > g.limits.now)) &&
        move_on(g, want)) {
        return false;
    }
    if (unlikely(d.verdict != Verdict::issue) ||
        (unlikely(g.lease != nullptr) && outside_lease(g, d))) {
        attempt->wait_us = unblock(g, d, now_us, waiting_since);
        return false;
    }
    return true;
}

} // namespace

void draw_could(Generator& g)
{
    int64_t waiting_since = 0;
    Attempt attempt;
    while (!try_draw(g, {1, false}, &waiting_since, &attempt)) {
        if (attempt.wait_us > 0) {
            return;
        }
    }
    if (attempt.draw.word > g.early_word) {
        extend_early(g, attempt.draw.word, attempt.now_us);
    }
}

Draw draw(Generator& g, Want want)
{
    int64_t waiting_since = 0;
    if (unlikely(g.first_node != g.last_node) && !want.in_one_tick) {
        want.count = static_cast<uint32_t>(Min(want.count, max_sequence(g.shape) + 1)); // a tick's
    }
    for (;;) {
        Attempt attempt;
        if (!try_draw(g, want, &waiting_since, &attempt)) {
            if (attempt.wait_us > 0) {
                waiting_since = waiting_since == 0 ? steady_us() : waiting_since;
                nap(attempt.wait_us);
            }
            continue;
        }
        const Draw d = attempt.draw;
        const int64_t now_us = attempt.now_us;
        const bool crowded = crowds_others(g, d);
        if (unlikely(crowded && now_us < several_from_us &&
                     several_from_us - now_us <= settings.max_ahead_us / 2)) {
            waiting_since = waiting_since == 0 ? steady_us() : waiting_since;
            nap(several_from_us - now_us);
            continue;
        }
        const uint64_t end = d.word + d.count - 1;
        if (unlikely(g.shape.has_back) && word_tick(g.shape, end) > g.limits.now) {
            raise_to(&g.slot->most_ahead, g.limits.ahead);
        }
        if (likely(pg_atomic_compare_exchange_u64(&g.slot->word, &attempt.last, end))) {
            if (unlikely(g.lease != nullptr ? wall_us() >= g.lease_end_us : leases_began(g))) {
                continue; // stopped before the swap, past the end of the lease or into leases
            }
            count_issued(d.count);
            if (unlikely(crowded)) {
                let_others_first(g, d, now_us);
            }
            if (unlikely(word_tick(g.shape, d.word) > g.limits.now)) {
                count_ahead(word_start_us(g, d.word) - now_us);
            }
            if (unlikely(waiting_since != 0)) {
                count_wait(steady_us() - waiting_since);
            }
            if (unlikely(d.word > g.early_word)) {
                extend_early(g, d.word, now_us);
            }
            return d;
        }
    }
}

void draw_cache(Generator& g, uint32_t count)
{
    const Draw d = draw(g, {count, false});
    const int64_t ahead_us = static_cast<int64_t>(g.limits.ahead) * g.layout.tick_us;
    g.cached = d.word;
    g.cached_end = d.word + d.count;
    g.cached_from_us = word_start_us(g, g.cached_end - 1) - ahead_us;
    g.cached_until_us = word_start_us(g, g.cached) + ahead_us;
}

void ids_of_words(const Generator& g, uint64_t word, uint32_t count, uint64_t* ids)
{
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = raw_of_word(g.layout, g.shape, word + i) | g.node_bits;
    }
    if (g.layout.enciphered) {
        sparx_encrypt_many(configured_key(), ids, count);
    }
}

} // namespace flakeid
