// A library for LD_PRELOAD: every connection that a program accepts gets TCP_NODELAY. InspIRCd has
// no setting for it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static int without_delay(int fd) {
	int before = errno, on = 1;
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // fails where it is not TCP's
	errno = before;
	return fd;
}

int accept(int fd, struct sockaddr *restrict addr, socklen_t *restrict len) {
	static int (*real)(int, struct sockaddr *, socklen_t *);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "accept");
	return without_delay(real(fd, addr, len));
}

int accept4(int fd, struct sockaddr *restrict addr, socklen_t *restrict len, int flags) {
	static int (*real)(int, struct sockaddr *, socklen_t *, int);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "accept4");
	return without_delay(real(fd, addr, len, flags));
}
