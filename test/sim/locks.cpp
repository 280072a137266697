// Locks and waits.
#include "backend.hpp"

#include "checker.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace sim {

namespace {

constexpr int most_held = 16;

struct Held {
    Lock* lock;
    bool exclusive;
    bool content;
};
PROCESS_LOCAL Held my_held[most_held] = {};
PROCESS_LOCAL int my_held_count = 0;

Lock& lock_of(LWLock* lock)
{
    return here().locks[reinterpret_cast<LWLockPadded*>(lock) - here().lwlocks];
}

bool holds_content()
{
    for (int i = 0; i < my_held_count; i++) {
        if (my_held[i].content) {
            return true;
        }
    }
    return false;
}

} // namespace

void hold(Lock& lock, bool exclusive, bool content)
{
    my_waits++;
    acquire(lock, exclusive);
    Assert(my_held_count < most_held);
    my_held[my_held_count++] = {&lock, exclusive, content};
}

void let_go(Lock& lock)
{
    for (int i = my_held_count; i-- > 0;) {
        if (my_held[i].lock == &lock) {
            release(lock, my_held[i].exclusive);
            std::copy(my_held + i + 1, my_held + my_held_count, my_held + i);
            my_held_count--;
            return;
        }
    }
    broken_for_good("a lock is released that is not held");
}

void nothing_is_held(const char* what)
{
    if (holds_content()) {
        broken_for_good("G4: %s while a lock is held", what);
    }
}

void let_go_of_contents()
{
    for (int i = my_held_count; i-- > 0;) {
        if (my_held[i].content) {
            let_go(*my_held[i].lock);
        }
    }
}

void let_go_of_all()
{
    while (my_held_count > 0) {
        let_go(*my_held[my_held_count - 1].lock);
    }
}

void must_end(int events, long timeout_ms)
{
    constexpr long longest_ms = minute / ms;
    if ((events & WL_TIMEOUT) == 0 || timeout_ms < 0 || timeout_ms > longest_ms) {
        tell("%ld ms", (events & WL_TIMEOUT) == 0 ? -1 : timeout_ms);
        broken_for_good("a wait has no end soon");
    }
}

} // namespace sim

using namespace sim;

extern "C" {

// Locks
bool LWLockAcquire(LWLock* lock, LWLockMode mode)
{
    yield();
    InterruptHoldoffCount++;
    hold(lock_of(lock), mode == LW_EXCLUSIVE, true);
    return true;
}

void LWLockRelease(LWLock* lock)
{
    let_go(lock_of(lock));
    InterruptHoldoffCount--;
    yield();
}

bool LWLockHeldByMe(LWLock* lock)
{
    for (int i = 0; i < my_held_count; i++) {
        if (my_held[i].lock == &lock_of(lock)) {
            return true;
        }
    }
    return false;
}

bool LWLockHeldByMeInMode(LWLock* lock, LWLockMode mode)
{
    for (int i = 0; i < my_held_count; i++) {
        if (my_held[i].lock == &lock_of(lock) && my_held[i].exclusive == (mode == LW_EXCLUSIVE)) {
            return true;
        }
    }
    return false;
}

void LWLockReleaseAll(void)
{
    let_go_of_contents();
    InterruptHoldoffCount = 0;
}

int s_lock(volatile slock_t* lock, const char*, int, const char*)
{
    while (TAS(lock)) {
        sleep_us(1);
    }
    return 0;
}

// Waits
int WaitLatch(Latch* latch, int events, long timeout_ms, uint32)
{
    nothing_is_held("a wait");
    must_end(events, timeout_ms);
    my_looks = 0;
    my_waits++;
    const int64_t until = true_us + timeout_ms * ms;
    while (!latch->is_set && true_us < until) {
        sleep_until(until);
    }
    return latch->is_set ? WL_LATCH_SET : WL_TIMEOUT;
}

void SetLatch(Latch* latch)
{
    latch->is_set = true;
    wake_number(latch->owner_pid);
}

void ResetLatch(Latch* latch)
{
    latch->is_set = false;
}

void ProcessInterrupts(void)
{
    if (InterruptHoldoffCount != 0 || CritSectionCount != 0) {
        return;
    }
    InterruptPending = 0;
    if (terminate_pending) {
        my_end = true;
        ereport(ERROR, errcode(ERRCODE_ADMIN_SHUTDOWN),
                errmsg("terminating connection due to administrator command"));
    }
    if (cancel_pending) {
        cancel_pending = false;
        ereport(ERROR, errcode(ERRCODE_QUERY_CANCELED),
                errmsg("canceling statement due to user request"));
    }
}

} // extern "C"
