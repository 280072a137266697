/*
 * Preloaded into a server or program: every clock goes ahead by the seconds, with a fraction, that the file $SHIFTED_CLOCK says,
 * or the wall clock alone by those of the file $SHIFTED_WALL. Unlike libfaketime it reaches workers that the postmaster starts in
 * a signal handler, and leaves sleeps alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const long long second_ns = 1000000000;

typedef int (*read_clock) (clockid_t, struct timespec *);

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int			is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
	const char *file = getenv(is_wall && getenv("SHIFTED_WALL") ? "SHIFTED_WALL" : "SHIFTED_CLOCK");
	char		text[32] = "";
	int			result = ((read_clock) dlsym(RTLD_NEXT, "clock_gettime")) (clock, now);
	int			fd = file ? open(file, O_RDONLY) : -1;

	if (fd >= 0)
	{
		if (read(fd, text, sizeof text - 1) > 0)
		{
			long long	ns = now->tv_sec * second_ns + now->tv_nsec + (long long) (atof(text) * second_ns);

			now->tv_sec = ns / second_ns;
			now->tv_nsec = ns % second_ns;
		}
		close(fd);
	}
	return result;
}
