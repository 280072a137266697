/*
 * Preloaded into a server: while the file that SLOW_WAL names exists, every write of WAL takes
 * half a second. What is killed meanwhile has lost that WAL.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef ssize_t (*write_at)(int, const void *, size_t, off_t);

static ssize_t
slow(const char *name, int fd, const void *data, size_t size, off_t at)
{
	const char *file = getenv("SLOW_WAL");
	char		link[32],
				path[1024];
	ssize_t		length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	path[length < 0 ? 0 : length] = '\0';
	if (file && strstr(path, "/pg_wal/") && access(file, F_OK) == 0)
		nanosleep(&(struct timespec) {.tv_nsec = 500000000}, NULL);
	return ((write_at) dlsym(RTLD_NEXT, name)) (fd, data, size, at);
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t at)
{
	return slow("pwrite", fd, data, size, at);
}

ssize_t
pwrite64(int fd, const void *data, size_t size, off_t at)
{
	return slow("pwrite64", fd, data, size, at);
}
