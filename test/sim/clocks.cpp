#include "clocks.hpp"

#include "checkers.hpp"
#include "durable/clock_watch.hpp"
#include "generator/draw.hpp"
#include "world.hpp"

#include <algorithm>

namespace sim {

int64_t wrong_us;

namespace {

int64_t highest_wall; // that any server ever showed and was right

Reached set_back_happened('K', "a clock was set back");
Reached clock_accepted('w', "a clock that leapt by days was accepted");

constexpr int64_t leap_of_days = 48 * 60 * minute; // more than flakeid.max_leap

void accept_clock()
{
    become_backend(most_backends - 1, 0, {});
    load_library();
    flakeid::accept_clock();
    end_backend();
}

} // namespace

void clocks_begin()
{
    highest_wall = wrong_us = 0;
}

int64_t right_wall()
{
    highest_wall = std::max(highest_wall, wall_clock(server()) - wrong_us);
    return highest_wall;
}

int64_t behind()
{
    return right_wall() - (wall_clock(server()) - wrong_us);
}

void set_back(int64_t us)
{
    Clock& clock = server().clock;
    if (clock.still_at >= 0) {
        return;
    }
    (void)behind(); // time may have passed since anybody looked
    clock.offset -= us;
    set_backs++;
    set_back_happened();
    note("the clock is set back by %lld us", us);
}

void put_clock_right()
{
    set_backs += wrong_us != 0;
    server().clock.offset -= wrong_us;
    wrong_us = 0;
}

void step_set_back()
{
    set_back(chance.below(chance.one_in(3) ? 20 * second : 3 * second));
    run_turns(chance.below(12));
}

void step_leap()
{
    if (server().clock.still_at < 0) {
        const int64_t us = chance.below(second);
        server().clock.offset += us;
        note("the clock leaps by %lld us", us);
    }
    run_turns(chance.below(12));
}

void step_stand_still()
{
    Clock& clock = server().clock;
    if (wrong_us != 0) {
        return;
    }
    if (clock.still_at >= 0) {
        clock.offset = clock.still_at - true_epoch_us - true_us;
        clock.still_at = -1;
        note("the clock goes again");
    } else {
        clock.still_at = wall_clock(server());
        note("the clock stands still");
    }
    run_turns(chance.below(12));
}

void extend_by_mistake()
{
    if (has_far_sessions()) {
        return; // a repair keeps what they may have stamped, for which others would wait too long
    }
    flakeid::Generator& g = flakeid::configured_generator();
    mistake_begins(my_database(), true);
    my_clock_error = 60 * minute;
    set_backs++;
    draw_could(g);
    my_clock_error = 0;
}

void step_wrong_clock()
{
    Server& s = server();
    // A flakeid that was not used believes the clock that it finds.
    if (!lives.back().made_ids || s.clock.still_at >= 0) {
        return;
    }
    if (wrong_us == 0) {
        (void)behind(); // time may have passed since anybody looked
        s.clock.offset += wrong_us = leap_of_days;
        note("the clock leaps by days");
    } else if (chance.one_in(2)) {
        put_clock_right();
        note("the clock is right again");
    } else {
        wrong_us = 0; // from when it is accepted
        const Process& process = spawn(s, "accepts", accept_clock, s.image, true_us);
        while (process.alive && !s.panicked && run_somebody(true_us + second)) {
        }
        clock_accepted();
        note("the clock is accepted");
    }
    run_turns(chance.below(12));
}

} // namespace sim
