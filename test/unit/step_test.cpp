// The step's promises, as properties: no test here expects a literal id.
#include "draws.hpp"

#include <initializer_list>

using namespace flakeid;

namespace {

// The smallest word that may come next, found by looking at every word of a small shape.
Draw oracle(Word last, const WordShape& shape, const Limits& limits, Want want)
{
    const int bits = shape.sequence_bits + shape.tick_bits + (shape.has_back ? 2 : 0);
    if (limits.now > shape.max_tick) {
        return {Verdict::exhausted, 0, no_word, 0};
    }
    // The back count in effect: one more where the last tick lies out of the clock's reach.
    const Word from = last > limits.first ? last : limits.first;
    const bool out_of_reach =
        word_tick(shape, from) > limits.now + std::max(limits.ahead, limits.others_ahead) + 1;
    const uint64_t back =
        word_back(shape, from) + (out_of_reach && word_back(shape, from) < shape.max_back ? 1 : 0);
    // Nothing follows the end of a count, nor does anything begin there, but the next count.
    if (back <= shape.max_back && from >= last_of_tick(shape, back, shape.max_tick)) {
        return {Verdict::exhausted, 0, no_word, 0};
    }
    auto usable = [&](Word word) {
        return word > last && word >= limits.first && word_back(shape, word) == back &&
               back <= shape.max_back && word_tick(shape, word) <= shape.max_tick &&
               word_tick(shape, word) >= limits.now;
    };
    for (uint64_t number = 0; number < UINT64_C(1) << bits; number++) {
        const Word word{number};
        if (!usable(word) || (want.in_one_tick &&
                              word_sequence(shape, word) + want.count - 1 > max_sequence(shape))) {
            continue;
        }
        if (word_tick(shape, word) > limits.now + limits.ahead) {
            return {Verdict::wait, 0, word, word_tick(shape, word) - limits.now - limits.ahead};
        }
        uint32_t count = 0;
        while (count < want.count && usable(word + count) && word + count <= limits.last &&
               word_tick(shape, word + count) <= limits.now + limits.ahead) {
            count++;
        }
        if (count == 0 || (want.in_one_tick && count < want.count)) {
            return {Verdict::extend, 0, word, 0};
        }
        return {Verdict::issue, count, word, 0};
    }
    return {Verdict::exhausted, 0, no_word, 0};
}

void compare_with_oracle(const WordShape& shape, uint64_t words, uint64_t others_ahead = 0)
{
    const uint64_t last_tick = tick_number(shape.max_tick);
    const Want wants[] = {{1, false}, {2, false}, {3, false}, {100, false}, {1, true}, {2, true}};
    for (uint64_t last = 0; last < words; last++) {
        for (uint64_t first = 0; first < words + 10; first++) { // some beyond the end as well
            for (uint64_t bound = 0; bound < words; bound += 3) {
                for (uint64_t now = 0; now <= last_tick + 1; now++) {
                    for (uint64_t ahead = 0; ahead <= last_tick + 1; ahead++) {
                        for (const Want want : wants) {
                            if (want.in_one_tick && want.count > max_sequence(shape) + 1) {
                                continue;
                            }
                            const Limits limits = {Tick{now}, ahead, Word{first}, Word{bound},
                                                   others_ahead};
                            const Draw d = step(Word{last}, shape, limits, want);
                            const Draw o = oracle(Word{last}, shape, limits, want);
                            ASSERT_TRUE(d.verdict == o.verdict && d.count == o.count &&
                                        (d.verdict == Verdict::exhausted || d.word == o.word) &&
                                        d.too_far == o.too_far)
                                << "last " << last << " first " << first << " bound " << bound
                                << " now " << now << " ahead " << ahead << " count " << want.count
                                << (want.in_one_tick ? " in one tick" : "") << ": verdict "
                                << static_cast<int>(d.verdict) << " word " << word_number(d.word)
                                << " count " << d.count << ", expected "
                                << static_cast<int>(o.verdict) << " word " << word_number(o.word)
                                << " count " << o.count;
                        }
                    }
                }
            }
        }
    }
}

} // namespace

TEST(Step, ShapeOfEveryPreset)
{
    for (int i = 0; i < preset_count; i++) {
        const Layout layout = parsed(presets[i].text);
        const WordShape shape = word_shape(layout);
        EXPECT_EQ(max_sequence(shape), layout.max_sequence) << presets[i].name;
        EXPECT_EQ(shape.max_tick, layout.max_tick) << presets[i].name;
        EXPECT_EQ(shape.max_back, layout.max_back) << presets[i].name;
        EXPECT_EQ(shape.has_back, layout.back_bits > 0) << presets[i].name;
        EXPECT_EQ(shape.tick_bits, layout.time_bits) << presets[i].name;
    }
}

// A horizon that was flushed when its last tick had passed serves the draw that asked for it.
TEST(Step, AsAsked)
{
    WordShape shape{};
    shape.sequence_bits = 2;
    shape.tick_bits = 40;
    shape.max_tick = Tick{1000000};
    Limits limits{Tick{100}, 10, no_word, last_of_tick(shape, 0, Tick{60})};
    const Word last = word_of(shape, 0, Tick{49}, 0);
    ASSERT_EQ(step(last, shape, limits, {1, false}).verdict, Verdict::extend);
    const Draw late = step_as_asked(last, shape, limits, {1, false}, Tick{50});
    EXPECT_EQ(late.verdict, Verdict::issue);
    EXPECT_EQ(late.word, word_of(shape, 0, Tick{50}, 0));
    // Past the horizon, there is none; nor does it lie further ahead of the clock as it is now.
    EXPECT_EQ(step_as_asked(last, shape, limits, {1, false}, Tick{61}).verdict, Verdict::extend);
    limits.last = last_of_tick(shape, 0, Tick{200});
    const Word ahead = word_of(shape, 0, Tick{110}, 3);
    EXPECT_EQ(step_as_asked(ahead - 1, shape, limits, {1, false}, Tick{50}).verdict,
              Verdict::issue);
    EXPECT_EQ(step_as_asked(ahead, shape, limits, {1, false}, Tick{50}).verdict, Verdict::wait);
}

TEST(Step, AsAskedRaisesBack)
{
    WordShape shape{};
    shape.sequence_bits = 2;
    shape.tick_bits = 40;
    shape.has_back = true;
    shape.max_back = 3;
    shape.max_tick = Tick{1000000};
    Limits limits{Tick{102}, 10, no_word, last_of_tick(shape, 1, Tick{101})};
    // The clock was set back, and the horizon is flushed when it has passed.
    const Word last = word_of(shape, 0, Tick{300}, 0);
    ASSERT_EQ(step(last, shape, limits, {1, false}).verdict, Verdict::extend);
    const Draw late = step_as_asked(last, shape, limits, {1, false}, Tick{100});
    EXPECT_EQ(late.verdict, Verdict::issue);
    EXPECT_EQ(late.word, word_of(shape, 1, Tick{100}, 0));
    // Where it was not by the clock as it is now, no count is spent.
    limits.now = Tick{289};
    EXPECT_EQ(step_as_asked(last, shape, limits, {1, false}, Tick{100}).word, last + 1);
}

TEST(Step, WordsAndIdsOfEveryPreset)
{
    Random random(5);
    for (int i = 0; i < preset_count; i++) {
        const Layout layout = parsed(presets[i].text);
        const WordShape shape = word_shape(layout);
        for (int round = 0; round < 1000; round++) {
            const uint64_t back = up_to(random, shape.max_back);
            const Tick tick = tick_up_to(random, shape.max_tick);
            const uint64_t sequence = up_to(random, max_sequence(shape));
            const auto node = static_cast<uint32_t>(up_to(random, layout.max_node));
            const Word word = word_of(shape, back, tick, sequence);
            ASSERT_EQ(word_back(shape, word), back);
            ASSERT_EQ(word_tick(shape, word), tick);
            ASSERT_EQ(word_sequence(shape, word), sequence);
            const Parts parts = {tick, node, static_cast<uint32_t>(sequence),
                                 static_cast<uint32_t>(back)};
            ASSERT_EQ(raw_of_word(layout, shape, word) | place_node(layout, node),
                      compose(layout, parts))
                << presets[i].name;
        }
    }
}

TEST(Step, WordsOfRandomLayoutsKeepTheOrder)
{
    Random random(6);
    for (int round = 0; round < 5000; round++) {
        const std::string text = random_layout_text(random, true);
        const Layout layout = parsed(text);
        const WordShape shape = word_shape(layout);
        auto draw_parts = [&] {
            return Parts{tick_up_to(random, layout.max_tick), 0,
                         static_cast<uint32_t>(up_to(random, layout.max_sequence)),
                         static_cast<uint32_t>(up_to(random, layout.max_back))};
        };
        const Parts a = draw_parts(), b = draw_parts();
        const Word word_a = word_of(shape, a.back, a.tick, a.sequence);
        const Word word_b = word_of(shape, b.back, b.tick, b.sequence);
        const auto key = [](const Parts& p) { return std::make_tuple(p.back, p.tick, p.sequence); };
        ASSERT_EQ(max_sequence(shape), layout.max_sequence) << text;
        ASSERT_EQ(shape.max_tick, layout.max_tick) << text;
        ASSERT_EQ(word_a < word_b, key(a) < key(b)) << text;
        ASSERT_EQ(raw_of_word(layout, shape, word_a), compose(layout, a)) << text;
        ASSERT_EQ(word_tick(shape, word_a), a.tick) << text;
        ASSERT_EQ(word_back(shape, word_a), a.back) << text;
        ASSERT_EQ(word_sequence(shape, word_a), a.sequence) << text;
    }
}

// Whatever the arguments are, the answer is that of a search through all words.
TEST(Step, EveryArgumentOfSmallShapes)
{
    compare_with_oracle(small_shape(1, 2, 3, false, 0), 8);
    compare_with_oracle(small_shape(2, 2, 3, false, 0), 16);
    compare_with_oracle(small_shape(0, 3, 7, false, 0), 8);
    compare_with_oracle(small_shape(1, 2, 3, true, 1), 16);
    compare_with_oracle(small_shape(1, 2, 3, true, 2), 24);
    compare_with_oracle(small_shape(1, 2, 3, true, 2), 24, 1);
    compare_with_oracle(small_shape(1, 2, 3, true, 2), 24, 2);
    compare_with_oracle(small_shape(1, 3, 3, true, 3), 64); // time on top of a plain 64-bit layout
    compare_with_oracle(small_shape(1, 2, 3, true, 0), 8);  // back:1 on top of one
}

TEST(Step, FirstWordIsOfNow)
{
    const WordShape shape = plain_shape();
    const Draw d = step(no_word, shape, {Tick{1000}, 5, no_word, unbounded}, one);
    ASSERT_EQ(d.verdict, Verdict::issue);
    EXPECT_EQ(word_tick(shape, d.word), Tick{1000});
    EXPECT_EQ(word_sequence(shape, d.word), 0u);
    EXPECT_EQ(d.count, 1u);
}

TEST(Step, ZeroIsNeverIssued)
{
    for (const bool in_one_tick : {false, true}) {
        const Draw d =
            step(no_word, plain_shape(), {Tick{0}, 5, no_word, unbounded}, {1, in_one_tick});
        ASSERT_EQ(d.verdict, Verdict::issue);
        EXPECT_GT(d.word, no_word);
    }
}

TEST(Step, SameTickCountsOn)
{
    const WordShape shape = plain_shape();
    const Word last = word_of(shape, 0, Tick{1000}, 17);
    const Draw d = step(last, shape, {Tick{1000}, 5, no_word, unbounded}, one);
    ASSERT_EQ(d.verdict, Verdict::issue);
    EXPECT_EQ(d.word, last + 1);
}

TEST(Step, LaterTickBeginsAnew)
{
    const WordShape shape = plain_shape();
    const Draw d =
        step(word_of(shape, 0, Tick{1000}, 17), shape, {Tick{1001}, 5, no_word, unbounded}, one);
    ASSERT_EQ(d.verdict, Verdict::issue);
    EXPECT_EQ(d.word, word_of(shape, 0, Tick{1001}, 0));
}

TEST(Step, FullSequenceCarriesIntoTheTick)
{
    const WordShape shape = plain_shape();
    const Draw d =
        step(last_of_tick(shape, 0, Tick{1000}), shape, {Tick{1000}, 5, no_word, unbounded}, one);
    ASSERT_EQ(d.verdict, Verdict::issue);
    EXPECT_EQ(d.word, word_of(shape, 0, Tick{1001}, 0));
}

TEST(Step, NeverFurtherThanAhead)
{
    const WordShape shape = plain_shape();
    Word last = no_word;
    uint64_t issued = 0;
    for (;;) {
        const Limits limits = {Tick{1000}, 5, no_word, unbounded};
        const Draw d = step(last, shape, limits, {1000, false});
        check_draw(last, shape, limits, {1000, false}, d);
        if (d.verdict != Verdict::issue) {
            EXPECT_EQ(d.verdict, Verdict::wait);
            EXPECT_EQ(d.too_far, 1u);
            break;
        }
        issued += d.count;
        last = d.word + d.count - 1;
    }
    EXPECT_EQ(issued, 6 * 4096u); // the tick of now, and the five that follow
    EXPECT_EQ(last, last_of_tick(shape, 0, Tick{1005}));
    // One tick later there is room for one more tick.
    EXPECT_EQ(step(last, shape, {Tick{1001}, 5, no_word, unbounded}, one).word,
              word_of(shape, 0, Tick{1006}, 0));
}

TEST(Step, AheadOfZero)
{
    const WordShape shape = plain_shape();
    const Draw d =
        step(last_of_tick(shape, 0, Tick{1000}), shape, {Tick{1000}, 0, no_word, unbounded}, one);
    EXPECT_EQ(d.verdict, Verdict::wait);
    EXPECT_EQ(d.too_far, 1u);
}

TEST(Step, ClockThatWentBackALittleGoesOnFromTheLastWord)
{
    for (const WordShape& shape : {plain_shape(), back_shape()}) {
        const Word last = word_of(shape, 0, Tick{1000}, 17);
        const Draw d = step(last, shape, {Tick{995}, 5, no_word, unbounded}, one);
        ASSERT_EQ(d.verdict, Verdict::issue);
        EXPECT_EQ(d.word, last + 1);
    }
}

TEST(Step, ClockThatWentBackFarWaits)
{
    const WordShape shape = plain_shape();
    const Draw d =
        step(word_of(shape, 0, Tick{1000}, 17), shape, {Tick{900}, 5, no_word, unbounded}, one);
    EXPECT_EQ(d.verdict, Verdict::wait);
    EXPECT_EQ(d.too_far, 95u);
}

TEST(Step, ClockThatWentBackFarRaisesBackUntilItIsUsedUp)
{
    const WordShape shape = back_shape();
    Word last = word_of(shape, 0, Tick{1000000}, 17);
    for (uint64_t back = 1; back <= shape.max_back; back++) {
        const Tick now{1000000 - back * 1000};
        const Draw d = step(last, shape, {now, 5, no_word, unbounded}, one);
        ASSERT_EQ(d.verdict, Verdict::issue);
        EXPECT_EQ(word_back(shape, d.word), back);
        EXPECT_EQ(word_tick(shape, d.word), now);
        EXPECT_EQ(word_sequence(shape, d.word), 0u);
        EXPECT_GT(d.word, last);
        // Raised once, not with every id.
        const Draw next = step(d.word, shape, {now, 5, no_word, unbounded}, one);
        EXPECT_EQ(next.word, d.word + 1);
        last = next.word;
    }
    const Draw d = step(last, shape, {Tick{500000}, 5, no_word, unbounded}, one);
    EXPECT_EQ(d.verdict, Verdict::wait);
    EXPECT_EQ(word_back(shape, d.word), shape.max_back);
}

TEST(Step, FullTicksDoNotRaiseBack)
{
    const WordShape shape = back_shape();
    const Draw d =
        step(last_of_tick(shape, 0, Tick{1005}), shape, {Tick{1000}, 5, no_word, unbounded}, one);
    EXPECT_EQ(d.verdict, Verdict::wait);
    EXPECT_EQ(word_back(shape, d.word), 0u);
}

// Two sessions take turns: one runs five times as far ahead as the other may, which waits for it.
TEST(Step, SessionsThatRunFurtherAheadDoNotRaiseBack)
{
    const WordShape shape = back_shape();
    const uint64_t far = 5000, near = 1000;
    Word last = no_word;
    uint64_t others_ahead = 0, issued[2] = {};
    for (uint64_t now = 1000000; now < 1100000; now += 1500) {
        for (const uint64_t ahead : {far, near}) {
            for (;;) {
                const Draw d =
                    step(last, shape, {Tick{now}, ahead, no_word, unbounded, others_ahead},
                         {UINT32_MAX, false});
                if (d.verdict != Verdict::issue) {
                    ASSERT_EQ(d.verdict, Verdict::wait);
                    break;
                }
                ASSERT_EQ(word_back(shape, d.word), 0u) << "raised, and the clock went on";
                last = d.word + d.count - 1;
                others_ahead = std::max(others_ahead, ahead); // as draw() does
                issued[ahead == near]++;
            }
            now += ahead == far && now % 2 == 0 ? 6000 : 0; // now and then all catch up
        }
    }
    EXPECT_GT(issued[0], 10u);
    EXPECT_GT(issued[1], 10u);
    // A clock that was set back more than a tick further than anybody runs ahead still does.
    const Tick now{tick_number(word_tick(shape, last)) - far - 2};
    EXPECT_EQ(word_back(shape, step(last, shape, {now, near, no_word, unbounded, far}, one).word),
              1u);
    EXPECT_EQ(step(last, shape, {now + 1, near, no_word, unbounded, far}, one).verdict,
              Verdict::wait);
}

TEST(Step, HorizonFarAheadOfTheClockRaisesBack)
{
    const WordShape shape = back_shape();
    const Draw d =
        step(no_word, shape, {Tick{900}, 5, word_of(shape, 1, Tick{1000}, 0), unbounded}, one);
    ASSERT_EQ(d.verdict, Verdict::issue);
    EXPECT_EQ(d.word, word_of(shape, 2, Tick{900}, 0));
}

// A clock that was once at the end of the layout: the words of this count are used up, those of the
// next are not.
TEST(Step, BackIsRaisedAfterTheLastTick)
{
    for (const char* text :
         {"time:41:1ms node:8 back:2 sequence:12", // ticks fill their bits
          "time:42:1ms node:8 back:2 sequence:12", // they stop before the sign bit
          "back:2 time:41:1ms node:8 sequence:12"}) {
        const WordShape shape = word_shape(parsed(text));
        const Draw d = step(last_of_tick(shape, 0, shape.max_tick), shape,
                            {Tick{900}, 5, no_word, unbounded}, one);
        ASSERT_EQ(d.verdict, Verdict::issue) << text;
        EXPECT_EQ(d.word, word_of(shape, 1, Tick{900}, 0)) << text;
    }
}

TEST(Step, BlockInOneTickIsContiguous)
{
    const WordShape shape = plain_shape();
    for (const uint64_t used :
         {uint64_t{0}, uint64_t{1}, uint64_t{17}, uint64_t{4094}, uint64_t{4095}}) {
        for (const uint32_t count : {1u, 2u, 4000u, 4095u, 4096u}) {
            const Word last = word_of(shape, 0, Tick{1000}, used);
            const Limits limits = {Tick{1000}, 5, no_word, unbounded};
            const Want want = {count, true};
            const Draw d = step(last, shape, limits, want);
            ASSERT_EQ(d.verdict, Verdict::issue);
            check_draw(last, shape, limits, want, d);
            EXPECT_EQ(word_tick(shape, d.word), used + count < 4096 ? Tick{1000} : Tick{1001});
        }
    }
}

TEST(Step, BlockThatMovesPastAheadWaits)
{
    const WordShape shape = plain_shape();
    const Draw d = step(word_of(shape, 0, Tick{1005}, 4000), shape,
                        {Tick{1000}, 5, no_word, unbounded}, {96, true});
    EXPECT_EQ(d.verdict, Verdict::wait);
    EXPECT_EQ(d.too_far, 1u);
    EXPECT_EQ(step(word_of(shape, 0, Tick{1005}, 4000), shape, {Tick{1000}, 5, no_word, unbounded},
                   {95, true})
                  .verdict,
              Verdict::issue);
}

TEST(Step, FirstIsKept)
{
    const WordShape shape = plain_shape();
    const Word first = word_of(shape, 0, Tick{1003}, 5);
    EXPECT_EQ(step(no_word, shape, {Tick{1000}, 5, first, unbounded}, one).word, first);
    EXPECT_EQ(step(first + 7, shape, {Tick{1000}, 5, first, unbounded}, one).word, first + 8);
    EXPECT_EQ(step(no_word, shape, {Tick{1000}, 2, first, unbounded}, one).verdict, Verdict::wait);
}

TEST(Step, LeastIsKept)
{
    const WordShape shape = back_shape();
    Limits limits = {Tick{tick_number(shape.max_tick) - 5}, 5, no_word, unbounded};
    limits.least = shape.max_tick;
    EXPECT_EQ(step(no_word, shape, limits, one).word, word_of(shape, 0, shape.max_tick, 0));
    limits.least = shape.max_tick + 1;
    EXPECT_EQ(step(no_word, shape, limits, one).verdict, Verdict::exhausted);
}

// What lies ahead of the clock at a start is waited for; once there is a word, it is a clock that
// was set back.
TEST(Step, StartDoesNotRaiseBack)
{
    const WordShape shape = back_shape();
    const Word first = word_of(shape, 0, Tick{1011}, 0);
    Limits limits = {Tick{1000}, 5, first, unbounded};
    limits.start_ahead = 10;
    EXPECT_EQ(step(no_word, shape, limits, one).verdict, Verdict::wait);
    EXPECT_EQ(step(first - 1, shape, limits, one).verdict, Verdict::wait);
    EXPECT_EQ(step(first, shape, limits, one).word, word_of(shape, 1, Tick{1000}, 0));
    limits.start_ahead = 9;
    EXPECT_EQ(step(no_word, shape, limits, one).word, word_of(shape, 1, Tick{1000}, 0));
}

TEST(Step, LastIsKept)
{
    const WordShape shape = plain_shape();
    const Word last = word_of(shape, 0, Tick{1000}, 17);
    EXPECT_EQ(step(last, shape, {Tick{1000}, 5, no_word, last}, one).verdict, Verdict::extend);
    EXPECT_EQ(step(last, shape, {Tick{1000}, 5, no_word, last}, one).word, last + 1);
    EXPECT_EQ(step(last, shape, {Tick{1000}, 5, no_word, last + 1}, one).verdict, Verdict::issue);
    // Fewer than wanted, but never past the horizon; a block is all or nothing.
    EXPECT_EQ(step(last, shape, {Tick{1000}, 5, no_word, last + 3}, {10, false}).count, 3u);
    EXPECT_EQ(step(last, shape, {Tick{1000}, 5, no_word, last + 3}, {10, true}).verdict,
              Verdict::extend);
    EXPECT_EQ(step(last, shape, {Tick{1000}, 5, no_word, last + 10}, {10, true}).count, 10u);
}

TEST(Step, BothLimitsBoundACount)
{
    const WordShape shape = plain_shape();
    const Word last = word_of(shape, 0, Tick{1000}, 4094);
    EXPECT_EQ(step(last, shape, {Tick{1000}, 0, no_word, unbounded}, {10, false}).count, 1u);
    EXPECT_EQ(step(last, shape, {Tick{1000}, 1, no_word, unbounded}, {10, false}).count, 10u);
    EXPECT_EQ(step(last, shape, {Tick{1000}, 1, no_word, unbounded}, {UINT32_MAX, false}).count,
              4097u);
}

TEST(Step, ExhaustedAtTheEnd)
{
    const WordShape shape = plain_shape();
    const Word end = last_of_tick(shape, 0, shape.max_tick);
    EXPECT_EQ(step(no_word, shape, {shape.max_tick + 1, 5, no_word, unbounded}, one).verdict,
              Verdict::exhausted);
    EXPECT_EQ(step(no_word, shape, {Tick{UINT64_MAX - 5}, 5, no_word, unbounded}, one).verdict,
              Verdict::exhausted);
    EXPECT_EQ(step(end, shape, {shape.max_tick, 5, no_word, unbounded}, one).verdict,
              Verdict::exhausted);
    EXPECT_EQ(step(no_word, shape, {shape.max_tick, 5, end + 1, unbounded}, one).verdict,
              Verdict::exhausted);
    EXPECT_EQ(step(end - 3, shape, {shape.max_tick, 5, no_word, unbounded}, {4, true}).verdict,
              Verdict::exhausted);
    EXPECT_EQ(step(end - 3, shape, {shape.max_tick, 5, no_word, unbounded}, {4, false}).count, 3u);
    EXPECT_EQ(step(end - 1, shape, {shape.max_tick, 5, no_word, unbounded}, one).word, end);
}

// Tick and sequence that fill 64 bits, as an enciphered layout without a node has them: no carry
// may fall out of the word.
TEST(Step, WordOf64BitsDoesNotWrapAround)
{
    for (const char* text :
         {"time:33:1s sequence:31 cipher=sparx64", "time:63:1us sequence:1 cipher=sparx64",
          "back:7 time:26:1s sequence:31 cipher=sparx64"}) {
        const Layout layout = parsed(text);
        const WordShape shape = word_shape(layout);
        const Word end = last_of_tick(shape, shape.max_back, shape.max_tick);
        ASSERT_EQ(end, highest_word) << text;
        const Limits limits = {shape.max_tick, 0, no_word, unbounded};
        EXPECT_EQ(step(end - 1, shape, limits, one).word, end) << text;
        EXPECT_EQ(step(end - 1, shape, limits, {2, false}).count, 1u) << text;
        EXPECT_EQ(step(end, shape, limits, one).verdict, Verdict::exhausted) << text;
        EXPECT_EQ(step(end, shape, {shape.max_tick, 5, end, unbounded}, one).verdict,
                  Verdict::exhausted)
            << text;
        EXPECT_EQ(step(end, shape, {Tick{3}, 5, no_word, unbounded}, one).verdict,
                  Verdict::exhausted)
            << text;
        EXPECT_EQ(step(end - 1, shape, limits, {2, true}).verdict, Verdict::exhausted) << text;
        const uint64_t all = max_sequence(shape) + 1;
        EXPECT_EQ(step(end - all, shape, limits, {static_cast<uint32_t>(all), true}).word,
                  end - all + 1)
            << text;
        EXPECT_EQ(step(end, shape, {Tick{0}, UINT64_MAX - 1, no_word, unbounded}, one).verdict,
                  Verdict::exhausted)
            << text;
    }
}

// Where several ids at once end, in ticks ahead of the clock.
TEST(Step, SeveralLeaveRoomForOthers)
{
    const WordShape shape = word_shape(parsed("back:2 time:20:1ms node:10 sequence:4"));
    auto end_of = [&](uint64_t tick, uint64_t back = 0) {
        return last_of_tick(shape, back, Tick{tick});
    };
    auto several = [&](uint64_t ahead, uint64_t horizon, uint64_t now = 10000) {
        const Limits limits = {Tick{now},       ahead, no_word,
                               end_of(horizon), 0,     end_of(horizon - 500)};
        return last_of_several(shape, limits, 0);
    };
    EXPECT_EQ(several(5000, 12000), end_of(11500)) << "all but what is spared";
    EXPECT_EQ(several(5000, 10400), end_of(10200)) << "half, where less is left than that";
    EXPECT_EQ(several(5000, 16000), end_of(12500)) << "half of what ids may lie ahead";
    EXPECT_EQ(several(1000, 11000), end_of(10500));
    EXPECT_EQ(several(5000, 9000), end_of(10000)) << "a horizon in the past";
    const uint64_t last = tick_number(shape.max_tick);
    EXPECT_EQ(several(5000, last, last - 100), end_of(last - 50)) << "at the end of the layout";
    EXPECT_EQ(several(5000, last, last), end_of(last));

    const Limits further_back = {Tick{10000}, 5000, no_word, end_of(9000, 1), 0, end_of(8500, 1)};
    EXPECT_EQ(last_of_several(shape, further_back, 0), end_of(12500))
        << "a horizon that counts further back is above them all";
}
