#include "daemon.h"

#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int ready = -1; /* pipe on which the original process waits */

static const struct passwd *
look_up(const char *user)
{
	const struct passwd *p = getpwnam(user);

	if (p == NULL)
		usage_error("--user: unknown user \"%s\"", user);
	return p;
}

void
daemon_give(const char *folder, const char *user)
{
	const struct passwd *p;

	if (user == NULL || geteuid() != 0)
		return;
	p = look_up(user);
	if (chown(folder, p->pw_uid, p->pw_gid) != 0)
		fatal("cannot change the owner of %s to %s: %s", folder, user, strerror(errno));
}

void
daemon_drop(const char *user)
{
	const struct passwd *p;

	if (user == NULL)
		return;
	p = look_up(user);
	if (geteuid() != 0) {
		if (geteuid() != p->pw_uid)
			usage_error("--user %s: only root can change the user", user);
		return;
	}
	if (setgroups(1, &p->pw_gid) != 0 || setgid(p->pw_gid) != 0 || setuid(p->pw_uid) != 0)
		fatal("cannot change to user %s: %s", user, strerror(errno));
	if (setuid(0) == 0)
		fatal("%s has the privileges of root: choose another --user", user);
}

static _Noreturn void
wait_for(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	/* a process that ended before it was ready has reported why */
	_exit(n == 1 ? 0 : EXIT_TROUBLE);
}

void
daemon_begin(void)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) != 0 || (pid = fork()) < 0)
		fatal("cannot run in the background: %s", strerror(errno));
	if (pid > 0) {
		close(ends[1]);
		wait_for(ends[0]);
	}
	close(ends[0]);
	ready = ends[1];
	if (setsid() < 0)
		fatal("cannot start a session: %s", strerror(errno));
	pid = fork(); /* so that the process never gets a controlling terminal */
	if (pid < 0)
		fatal("cannot run in the background: %s", strerror(errno));
	if (pid > 0)
		_exit(0);
	if (chdir("/") != 0)
		fatal("cannot change to /: %s", strerror(errno));
}

void
daemon_ready(void)
{
	int null = open("/dev/null", O_RDWR);

	report_to_syslog();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	(void)!write(ready, "", 1);
	close(ready);
	ready = -1;
}
