#include "generator/draw.hpp"

#include "server/clock.hpp"
#include "durable/clock_watch.hpp"
#include "server/messages.hpp"
#include "durable/server_horizon.hpp"
#include "generator/leased.hpp"
#include "generator/refusals.hpp"
#include "settings/settings.hpp"
#include "server/shared.hpp"

namespace flakeid {

namespace {

// Between two looks at a lease that the lease worker is to take.
constexpr int64_t lease_nap_us = 5 * us_per_ms;

// Past what it leaves to others, a session that draws several ids at once gets at most one of so
// many parts of what the layout allows. So those who draw one at a time need not wait for it.
constexpr int64_t part_of_several = 64;

// When this session may draw several again.
int64_t several_from_us;

// How long sessions and the lease worker may differ about the settings after a reload.
constexpr int64_t settings_lag_us = us_per_s;

// Since when a draw waits. It is kept between the attempts of one draw.
class Waiting {
public:
    bool begun() const { return since_ != steady_past; }
    // How long it has waited; 0 before it began.
    int64_t us() const { return begun() ? steady_now() - since_ : 0; }
    void begin()
    {
        if (!begun()) {
            since_ = steady_now();
        }
    }

private:
    Steady since_ = steady_past;
};
static_assert(is_plain<Waiting>);

// Narrows a draw to the moment of the horizon. Its words may lie below the horizon all the same,
// with a lower count of set-backs: the higher one was made durable, and the clock leapt before
// anybody used it.
void stay_within_horizon(const Generator& g, Draw* d)
{
    if (likely(!g.shape.has_back) || d->verdict != Verdict::issue) {
        return;
    }
    const uint64_t back = word_back(g.shape, d->word);
    const Word last =
        std::min(last_word_at(g, stamp_of(back, stamp_us(g.bound))), last_clear_word(g, back));
    if (d->word > last) {
        d->verdict = Verdict::extend;
    } else {
        d->count = static_cast<uint32_t>(std::min<uint64_t>(d->count, last - d->word + 1));
    }
}

// True when a draw raises the count of set-backs for a clock that was read before the word, and has
// gone on since: others may be as far ahead of that as they like.
bool is_late(const Generator& g, Word last, const Draw& d)
{
    const Word start = std::max(last, g.limits.first);
    return word_back(g.shape, d.word) > word_back(g.shape, start) &&
           tick_of_us(g.layout, wall_us()) != static_cast<int64_t>(tick_number(g.limits.now));
}

// True when no lease can come soon: the last attempt failed for each node that the generator may
// have.
bool none_to_come(const Generator& g)
{
    if (!tenure_failing(g.tenure.entry)) {
        return false;
    }
    for (uint32_t node = g.span.first; g.tenure.wanted_node != any_node && node <= g.span.last;
         node++) {
        const Lease* lease = tenure_want(node, g.tenure.max_node, true);
        if (lease == nullptr) {
            break;
        }
        if (!tenure_failing(lease)) {
            return false;
        }
    }
    return true;
}

// To be asked after none_to_come(): true when a lease came before the attempt that failed.
bool came_meanwhile(const Generator& g, int64_t now_us)
{
    const Tenure view = tenure_view(g.tenure.entry, g.tenure.wanted_node, g.tenure.max_node);
    return view.held && view.end_us > now_us;
}

// Takes another node of the span that is leased, or waits a little for the lease. An error when the
// lease worker has failed, or takes too long.
void await_lease(Generator& g, int64_t now_us, Waiting& waiting)
{
    // A lease that is about to come is waited for: else one session would take all of the span.
    if ((g.tenure.end_us != 0 || tenure_failing(g.tenure.entry)) && leave_lease(g)) {
        return;
    }
    tenure_call();
    waiting.begin();
    const bool ahead =
        g.tenure.end_us > now_us; // ids run ahead of the clock: a renewal may be due later
    if ((!ahead && none_to_come(g) && !came_meanwhile(g, now_us)) ||
        waiting.us() > longest_wait_us(settings.max_ahead_us)) {
        throw_no_lease(g, now_us);
    }
    nap(std::max(lease_nap_us, waiting.us() / 4));
}

// Narrows a draw of several ids to what it may take freely. True when that is nothing: others
// should come first, and the draw is of one tick.
bool give_way(const Generator& g, Draw* d)
{
    if (d->count == 1 || settings.when_ahead != WhenAhead::wait) {
        return false;
    }
    const Word last = last_of_several(g.shape, g.limits, word_back(g.shape, d->word));
    const bool crowded = d->word > last;
    const Word end = crowded ? last_of_tick(g.shape, d->word) : last;
    d->count = static_cast<uint32_t>(std::min<uint64_t>(d->count, end - d->word + 1));
    return crowded;
}

void let_others_first(const Generator& g, const Draw& d, int64_t now_us)
{
    const auto tick = static_cast<int64_t>(max_sequence(g.shape)) + 1;
    const int64_t share_us = d.count * g.layout.tick_us / tick * part_of_several;
    several_from_us = now_us + std::min(share_us, settings.max_ahead_us / 2);
}

// There was a coordinator a moment ago, or this session has not seen yet that there is one.
void await_open_slot(Waiting& waiting)
{
    waiting.begin();
    if (waiting.us() < settings_lag_us) {
        tenure_call();
        nap(lease_nap_us);
        return;
    }
    throw_leases_began();
}

// Waits for a lease, extends the horizon, or raises an error. Returns how long to wait before the
// next attempt.
int64_t unblock(Generator& g, const Draw& d, int64_t now_us, Waiting& waiting)
{
    CHECK_FOR_INTERRUPTS();
    if (d.verdict == Verdict::exhausted) {
        if (g.limits.least == no_tick) {
            throw_used(g, d.word, now_us);
        }
        throw_exhausted(g.layout, g.name, g.preset);
    }
    if (d.verdict == Verdict::wait && g.tenure.entry != nullptr &&
        !tenure_holds(g.tenure, Word{pg_atomic_read_u64(&g.slot->word)})) {
        return 0; // it was given back meanwhile
    }
    if (d.verdict == Verdict::wait && g.tenure.entry != nullptr &&
        waiting.us() <= longest_wait_us(settings.max_ahead_us) &&
        tenure_left_ahead(g.tenure.entry, now_us)) {
        tenure_call(); // it takes another node
        waiting.begin();
        nap(lease_nap_us);
        return 0;
    }
    int64_t wait_us;
    if (d.verdict == Verdict::extend && !g.node_recorded) {
        horizon_record_node(g.horizon, g.node);
        g.node_recorded = true;
        g.version = 0; // makes the limits anew
        wait_us = 0;
    } else if (d.verdict == Verdict::extend) {
        g.asked = word_tick(g.shape, d.word);
        wait_us = horizon_extend(g.horizon, g.kind, stamp_of_word(g, d.word), now_us);
        g.version = 0; // whoever raised the bound may stand still before he moves its version
    } else {
        observe_clock(); // same without: the next extension looks
        wait_us = g.tick.start_us + static_cast<int64_t>(d.too_far) * g.layout.tick_us - now_us;
        const int64_t longest = longest_wait_us(settings.max_ahead_us);
        const int64_t waited = waiting.us();
        // The first tick after a start, as after a promotion, is waited for in any case, but where
        // only a larger flakeid.max_ahead of other sessions puts it so far off.
        const int64_t longest_start = std::max(settings.max_ahead_us, assumed_ahead_us) +
                                      allowed_behind_us + max_generated_tick_us;
        const bool first =
            (d.word <= g.limits.first || word_tick(g.shape, d.word) <= g.limits.least) &&
            wait_us <= longest_start;
        if (!first &&
            (settings.when_ahead == WhenAhead::error || wait_us > longest || waited > longest)) {
            if (word_tick(g.shape, d.word) == g.clear.first) {
                throw_used(g, d.word, now_us);
            }
            throw_ahead(g, d.word, now_us);
        }
        wait_us = std::max<int64_t>(wait_us, 1);
    }
    return wait_us;
}

// Extends the horizon when its last second has begun, so that nobody has to wait for it.
void extend_early(Generator& g, Word word, int64_t now_us)
{
    if (now_us < g.early.next_us && g.early.next_us - now_us <= extension_interval_us) {
        return;
    }
    g.early.next_us = now_us + extension_interval_us / 4;
    // same without: who reaches the bound extends it
    (void)horizon_extend(g.horizon, g.kind, stamp_of_word(g, word), now_us);
}

// One attempt of a draw, up to the swap.
struct Attempt {
    Draw draw;
    Word last; // that `draw` follows
    int64_t now_us;
    int64_t asked_us; // when it first asked for a longer horizon; 0: it has not
    int64_t wait_us;  // 0: try again at once
    bool moved;       // to another node of the span, at now_us
};
static_assert(is_plain<Attempt>);

// True when attempt->draw may be swapped in. Waits for a lease, but not for the clock.
inline bool try_draw(Generator& g, Want want, Waiting& waiting, Attempt* attempt)
{
    const int64_t now_us = attempt->moved ? attempt->now_us : wall_us();
    attempt->now_us = now_us;
    attempt->wait_us = 0;
    attempt->moved = false;
    refresh_limits(g, now_us);
    const Word last{pg_atomic_read_u64(&g.slot->word)};
    attempt->last = last;
    if (unlikely(last == closed_word && g.slot->yielded)) {
        (void)find_slot(g, g.node); // says which layout is in the way
    }
    if (unlikely(g.tenure.entry != nullptr)) {
        if (unlikely(!tenure_holds(g.tenure, last))) {
            view_lease(g);
            if (g.tenure.end_us == 0) {
                await_lease(g, now_us, waiting);
            }
            return false;
        }
    } else if (unlikely(last == closed_word || leases_began(g.tenure))) {
        await_open_slot(waiting);
        return false;
    }
    Draw d = next_draw(g, last, want);
    stay_within_horizon(g, &d);
    if (unlikely(d.verdict == Verdict::extend && attempt->asked_us != 0)) {
        check_leap(now_us); // a clock that leapt tells nobody how far ahead ids are
        const Tick asked = clamp_tick(g.shape, tick_of_us(g.layout, attempt->asked_us));
        Draw late = step_as_asked(last, g.shape, g.limits, want, asked);
        stay_within_horizon(g, &late);
        d = late.verdict == Verdict::issue ? late : d;
    }
    if (unlikely(g.shape.has_back) && is_late(g, last, d)) {
        return false;
    }
    attempt->draw = d;
    if (unlikely(is_span(g)) && d.verdict != Verdict::exhausted &&
        word_tick(g.shape, d.word) > std::max(g.round.level, g.limits.now)) {
        move_on(g, word_tick(g.shape, d.word));
        attempt->moved = true;
        return false;
    }
    if (unlikely(d.verdict != Verdict::issue) ||
        (unlikely(g.tenure.entry != nullptr) && g.shape.has_back && outside_lease(g, d))) {
        if (is_past_lease(g, d)) {
            await_lease(g, now_us, waiting);
            return false;
        }
        if (d.verdict == Verdict::extend && attempt->asked_us == 0) {
            attempt->asked_us = now_us;
        }
        reset_round(g); // nodes that were left out may be leased by then
        attempt->wait_us = unblock(g, d, now_us, waiting);
        return false;
    }
    return true;
}

} // namespace

void draw_could(Generator& g)
{
    Waiting waiting;
    Attempt attempt{};
    while (!try_draw(g, {1, false}, waiting, &attempt)) {
        if (attempt.wait_us > 0) {
            return;
        }
    }
    if (attempt.draw.word > g.early.word) {
        // same without: who reaches the bound extends it
        extend_early(g, attempt.draw.word, attempt.now_us);
    }
}

// A crash loses words, and none comes again, wherever it comes:
//   1. Before the swap: nothing was drawn.
//   2. After the swap: the word is the session's, and nobody has its id. The slot goes on past it;
//      when the slots are lost too, words begin past the horizon, and no word was swapped past it.
//   3. Between raising most_ahead and the swap: others only believe that somebody ran ahead. In the
//      other order they would raise the back count for a clock that was never set back.
//   4. While a lease is given back, or leases begin: the swap fails, or what follows it sees that,
//      and the word counts for nothing.
Draw draw(Generator& g, Want want)
{
    Waiting waiting;
    Attempt attempt{};
    if (unlikely(is_span(g)) && !want.in_one_tick) {
        want.count = static_cast<uint32_t>(
            std::min<uint64_t>(want.count, max_sequence(g.shape) + 1)); // a tick's
    }
    for (;;) {
        if (!try_draw(g, want, waiting, &attempt)) {
            if (attempt.wait_us > 0) {
                waiting.begin();
                nap(attempt.wait_us);
            }
            continue;
        }
        Draw d = attempt.draw;
        const int64_t now_us = attempt.now_us;
        const bool crowded = give_way(g, &d);
        if (unlikely(crowded && now_us < several_from_us &&
                     several_from_us - now_us <= settings.max_ahead_us / 2)) {
            waiting.begin();
            nap(several_from_us - now_us);
            continue;
        }
        const Word end = d.word + d.count - 1;
        if (unlikely(g.shape.has_back) && word_tick(g.shape, end) > g.limits.now) {
            raise_to(&g.slot->most_ahead, g.limits.ahead);
        }
        if (unlikely(needs_pin(g))) {
            pin_words(g, d.word);
        }
        if (likely(swap_word(*g.slot, &attempt.last, end))) {
            if (unlikely(g.tenure.entry != nullptr ? wall_us() >= g.tenure.end_us
                                                   : leases_began(g.tenure))) {
                continue; // the lease ended, or leases began, before the swap
            }
            Assert(d.word > attempt.last && end >= d.word && end <= g.limits.last);
            Assert(word_tick(g.shape, end) <= g.limits.now + g.limits.ahead);
            Assert(g.tenure.entry == nullptr || !outside_lease(g, d));
            count_issued(d.count);
            if (unlikely(crowded)) {
                let_others_first(g, d, now_us);
            }
            if (unlikely(word_tick(g.shape, d.word) > g.limits.now)) {
                count_ahead(word_start_us(g, d.word) - now_us);
            }
            if (unlikely(waiting.begun())) {
                count_wait(waiting.us());
            }
            if (unlikely(d.word > g.early.word)) {
                extend_early(g, d.word, now_us); // same without: who reaches the bound extends it
            }
            return d;
        }
        if (g.pinned != never_pinned) {
            g.pinned = 0; // the next attempt leads to a lower word if the clock is set back now
        }
        step_aside(g);
    }
}

void draw_cache(Generator& g, uint32_t count)
{
    // Words from before the poll must not look as if they were reserved after it, should draw() end
    // in an error.
    g.cache.next = g.cache.end = no_word;
    g.cache.polls = polls_so_far();
    const Draw d = draw(g, {count, false});
    const int64_t ahead_us = static_cast<int64_t>(g.limits.ahead) * g.layout.tick_us;
    g.cache.transaction = transaction_number;
    g.cache.next = d.word;
    g.cache.end = d.word + d.count;
    Assert(g.cache.next < g.cache.end);
    g.cache.from_us = word_start_us(g, g.cache.end - 1) - ahead_us;
    g.cache.until_us = word_start_us(g, g.cache.next) + ahead_us;
}

} // namespace flakeid
