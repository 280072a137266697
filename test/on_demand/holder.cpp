// Holders of leases, each a process of its own that does what the lease worker of a server does: it
// connects, takes a lease, leaves, renews as src/leases/rules/backoff.hpp says, goes on until the end when
// that fails, and gives the lease back at the end. What it asks and how it reads the answers is
// src/leases/remote/coordinator.cpp itself.
//
//     holder CONNINFO COUNT SECONDS TTL DIRECTORY
//
// Each writes a file: "lease NODE START END" for a lease that is over, where nobody else can have
// had the node before END; "stamp NODE SECOND" for every second that it would have stamped ids in;
// "gap SECONDS" for a time without a lease; "failed TEXT"; and "asked GRANTS RENEWALS FAILURES".
#include "../../src/leases/remote/coordinator.hpp"
#include "../../src/leases/rules/backoff.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <poll.h>
#include <random>
#include <string>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

using namespace flakeid;

namespace {

constexpr int64_t s = 1000000;
constexpr int64_t linger_us = s;
constexpr uint32_t max_node = 131071;

int64_t clock_us(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<int64_t>(now.tv_sec) * s + now.tv_nsec / 1000;
}

Steady steady_now()
{
    return Steady{clock_us(CLOCK_MONOTONIC)};
}

int64_t wall_us()
{
    return clock_us(CLOCK_REALTIME);
}

Ready wait_for_socket(int socket, bool to_read, bool to_write, Steady until, bool)
{
    for (;;) {
        const int64_t left_us = until - steady_now();
        if (left_us <= 0) {
            return Ready::late;
        }
        pollfd one{socket, static_cast<short>((to_read ? POLLIN : 0) | (to_write ? POLLOUT : 0)),
                   0};
        if (poll(&one, 1, static_cast<int>(left_us / 1000 + 1)) > 0) {
            return Ready::yes;
        }
    }
}

const Waiter waiter = {steady_now, wait_for_socket, [] { return false; }};

class Holder {
public:
    Holder(const char* conninfo, int number, int ttl, FILE* out)
        : ttl_(ttl), out_(out), name_("holder " + std::to_string(number)),
          random_(static_cast<unsigned>(number))
    {
        c_.waiter = &waiter;
        c_.conninfo = conninfo;
        c_.stop = steady_never;
    }

    void run(Steady until)
    {
        without_lease_since_ = steady_now();
        while (steady_now() < until) {
            attend();
            if (attempts_.due - steady_now() > linger_us) {
                coordinator_disconnect(c_);
            }
            const int64_t left_us = std::min(until, attempts_.due) - steady_now();
            usleep(static_cast<unsigned>(std::clamp<int64_t>(left_us, 0, s / 4)));
        }
        finish();
    }

private:
    double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

    void attend()
    {
        if (held_ && wall_us() >= grant_.end_us) {
            drop(grant_.end_us);
        }
        if (held_) {
            stamp();
        }
        if (steady_now() < attempts_.due || (held_ && refused_)) {
            return;
        }
        const bool good = coordinator_connect(c_) && (held_ ? renew() : acquire());
        if (good) {
            const int64_t wait_us = renewal_wait_us(ttl_ * s, grant_.end_us - wall_us(), chance());
            attempts_ = {steady_now() + wait_us, 0};
        } else {
            fail();
        }
    }

    bool acquire()
    {
        if (!coordinator_acquire(c_, "default", name_.c_str(), Wish{true, max_node, ttl_},
                                 &grant_)) {
            return false;
        }
        held_ = true;
        refused_ = false;
        grants_++;
        fprintf(out_, "gap %.3f\n", static_cast<double>(steady_now() - without_lease_since_) / s);
        return true;
    }

    bool renew()
    {
        int64_t end_us;
        if (!coordinator_renew(c_, grant_, ttl_, &end_us)) {
            refused_ = c_.trouble == Trouble::refused;
            return false;
        }
        grant_.end_us = std::max(grant_.end_us, end_us);
        renewals_++;
        return true;
    }

    void fail()
    {
        failures_++;
        fprintf(out_, "failed %s\n", c_.text);
        postpone(attempts_, steady_now(), chance());
    }

    void stamp()
    {
        const int64_t now_us = wall_us();
        if (now_us >= grant_.start_us && now_us < grant_.end_us && now_us / s != stamped_s_) {
            stamped_s_ = now_us / s;
            fprintf(out_, "stamp %u %lld\n", grant_.node, static_cast<long long>(stamped_s_));
        }
    }

    void drop(int64_t end_us)
    {
        fprintf(out_, "lease %u %lld %lld\n", grant_.node,
                static_cast<long long>(grant_.start_us / s), static_cast<long long>(end_us / s));
        held_ = false;
        without_lease_since_ = steady_now();
        attempts_ = {};
    }

    void finish()
    {
        if (held_) {
            const bool told = coordinator_connect(c_) &&
                              coordinator_release(c_, grant_.token, (stamped_s_ + 1) * s - 1);
            drop(told ? (stamped_s_ + 1) * s : grant_.end_us);
        }
        coordinator_disconnect(c_);
        fprintf(out_, "asked %d %d %d\n", grants_, renewals_, failures_);
    }

    Coordinator c_{};
    Grant grant_{};
    const int ttl_;
    FILE* const out_;
    const std::string name_;
    std::mt19937 random_;
    Attempts attempts_{};
    bool held_ = false;
    bool refused_ = false;
    Steady without_lease_since_ = steady_past;
    int64_t stamped_s_ = 0;
    int grants_ = 0;
    int renewals_ = 0;
    int failures_ = 0;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: holder CONNINFO COUNT SECONDS TTL DIRECTORY\n");
        return 2;
    }
    const Steady until = steady_now() + atoll(argv[3]) * s;
    std::vector<pid_t> children;
    for (int i = 1; i <= atoi(argv[2]); i++) {
        const pid_t child = fork();
        if (child == 0) {
            FILE* out = fopen((std::string(argv[5]) + "/" + std::to_string(i)).c_str(), "w");
            if (out == nullptr) {
                perror("holder");
                _exit(1);
            }
            Holder(argv[1], i, atoi(argv[4]), out).run(until);
            _exit(fclose(out) == 0 ? 0 : 1);
        }
        children.push_back(child);
    }
    bool good = true;
    for (const pid_t child : children) {
        int status = 1;
        good = child > 0 && waitpid(child, &status, 0) == child && status == 0 && good;
    }
    return good ? 0 : 1;
}
