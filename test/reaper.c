/*
 * Runs a command, and ends with it everything that it has started: what is left when the command is
 * over, or all of it when this process is told to stop. Whatever has no parent any more becomes a
 * child of this process, so that not even a server that went into a session of its own gets away.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int mercy_s = 10;
static const struct timespec pause_between = {0, 100 * 1000 * 1000};

static time_t steady_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* A PostgreSQL server takes SIGQUIT as an immediate shutdown, which leaves no shared memory. */
static void tell_children(bool mercy)
{
    DIR* processes = opendir("/proc");
    struct dirent* entry;
    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        char path[64], text[512];
        int pid = atoi(entry->d_name), parent;
        size_t length = 0;
        FILE* file;
        const char* name_end;
        if (pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        if ((file = fopen(path, "r")) != NULL) {
            length = fread(text, 1, sizeof text - 1, file);
            fclose(file);
        }
        text[length] = '\0';
        name_end = strrchr(text, ')');
        if (name_end == NULL || sscanf(name_end, ") %*c %d", &parent) != 1 || parent != getpid())
            continue;
        kill(pid, !mercy ? SIGKILL : strstr(text, "(postgres)") != NULL ? SIGQUIT : SIGTERM);
        kill(pid, SIGCONT);
    }
    if (processes != NULL)
        closedir(processes);
}

int main(int argc, char** argv)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t signals, before;
    pid_t command, ended;
    int result = 0, status;
    time_t until = 0;

    if (argc < 2)
        return 2;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (int i = 0; i < 3; i++) {
        signal(ends[i], SIG_DFL);
        sigaddset(&signals, ends[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, &before);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) {
        perror("prctl");
        return 2;
    }
    setsid();
    command = fork();
    if (command == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }

    while (true) {
        int told;
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
            if (ended == command) {
                if (until == 0)
                    result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                until = until ? until : steady_s() + mercy_s;
            }
        }
        if (ended < 0)
            return result;
        if (until != 0)
            tell_children(steady_s() < until);
        told = sigtimedwait(&signals, NULL, until ? &pause_between : NULL);
        if (told > 0 && told != SIGCHLD && until == 0) {
            result = 128 + told;
            until = steady_s() + mercy_s;
        }
    }
}
