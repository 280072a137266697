/*
 * Preloaded into a server: writes a line to $SLOW_NAMES.log for every look-up of a host name, and
 * while the file $SLOW_NAMES exists each takes two seconds and fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int (*look_up) (const char *, const char *, const struct addrinfo *, struct addrinfo **);

int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
			struct addrinfo **found)
{
	const char *slow = getenv("SLOW_NAMES");
	char		path[1024];
	FILE	   *log;

	if (slow && name)
	{
		snprintf(path, sizeof path, "%s.log", slow);
		log = fopen(path, "a");
		if (log)
		{
			fprintf(log, "%s\n", name);
			fclose(log);
		}
		if (access(slow, F_OK) == 0)
		{
			usleep(2000000);
			return EAI_AGAIN;
		}
	}
	return ((look_up) dlsym(RTLD_NEXT, "getaddrinfo")) (name, service, hints, found);
}
