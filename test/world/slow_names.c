/*
 * Preloaded into a server: writes a line to $SLOW_NAMES.log for every look-up of a host name, but
 * of none that may only be a number, and one with the options of the resolver. While the file
 * $SLOW_NAMES exists each takes two seconds and fails; while $SLOW_NAMES.hang does, those of
 * *.example hang, and write a line for each signal.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

typedef int (*look_up) (const char *, const char *, const struct addrinfo *, struct addrinfo **);

int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
			struct addrinfo **found)
{
	const char *slow = getenv("SLOW_NAMES");
	const char *options = getenv("RES_OPTIONS");
	char		path[1024];
	char		hang[1024];
	FILE	   *log;
	sigset_t	all;
	sigset_t	mask;
	int			hung = 0;

	if (slow && name && !(hints && (hints->ai_flags & AI_NUMERICHOST)))
	{
		snprintf(path, sizeof path, "%s.log", slow);
		log = fopen(path, "a");
		if (log)
		{
			/* No signal comes between two waits, where it would leave no line. */
			sigfillset(&all);
			sigprocmask(SIG_BLOCK, &all, &mask);
			fprintf(log, "%s\noptions %s\n", name, options ? options : "");
			fflush(log);
			snprintf(hang, sizeof hang, "%s.hang", slow);
			while (strstr(name, ".example") && access(hang, F_OK) == 0)
			{
				struct timespec wait = {0, 20000000};

				hung = 1;
				if (pselect(0, NULL, NULL, NULL, &wait, &mask) != 0)
				{
					fprintf(log, "signal\n");
					fflush(log);
				}
			}
			fclose(log);
			sigprocmask(SIG_SETMASK, &mask, NULL);
			if (hung)
				return EAI_AGAIN;
		}
		if (access(slow, F_OK) == 0)
		{
			usleep(2000000);
			return EAI_AGAIN;
		}
	}
	return ((look_up) dlsym(RTLD_NEXT, "getaddrinfo")) (name, service, hints, found);
}
