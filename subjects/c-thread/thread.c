/*
 * A thread per connection: the main thread accepts, each other thread blocks on one connection and
 * ends with it.
 *
 * Only the main thread receives SIGTERM and SIGINT. It forwards them to the others as SIGUSR1, so
 * that each drains its own connection. A thread removes itself from the list before it ends, under
 * the mutex. So a thread in the list can be signalled while the mutex is held.
 *
 * Limitations: the system's limit of threads limits the connections; at that limit the main thread
 * stops accepting until some end.
 */
#include "die.h"
#include "drain.h"
#include "list.h"
#include "net.h"
#include "options.h"
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	STACK_BYTES = 256 * 1024, /* a session needs some 5 KB; the rest is never touched */
	DRAIN_SECONDS = 1,
};

struct connection {
	struct link all;  /* in connections */
	pthread_t thread; /* set under the mutex, before the signal that needs it can be sent */
	int fd;
	const struct options *options;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards connections */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER; /* a connection left connections */
static struct link connections;

static void *
serve(void *argument)
{
	struct connection *c = argument;

	session_run(c->fd, c->options);
	pthread_mutex_lock(&mutex);
	list_remove(&c->all);
	pthread_cond_signal(&ended);
	pthread_mutex_unlock(&mutex);
	free(c);
	return NULL;
}

static int
start_thread(struct connection *c)
{
	/* the new thread inherits the mask and receives neither SIGTERM nor SIGINT */
	sigset_t before = drain_hold();
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_mutex_lock(&mutex);
	error = pthread_create(&c->thread, &attributes, serve, c);
	if (error == 0)
		list_insert(&connections, &c->all);
	pthread_mutex_unlock(&mutex);
	pthread_attr_destroy(&attributes);
	drain_restore(&before);
	return error;
}

static void
start(int fd, const struct options *o)
{
	struct connection *c = malloc(sizeof *c);

	if (c == NULL)
		die(EXIT_TROUBLE, "out of memory");
	c->fd = fd;
	c->options = o;
	while (start_thread(c) != 0) {
		drain_sleep(ACCEPT_PAUSE_MS * 1000000ull); /* until some thread ends */
		if (drain_asked()) {
			close(fd);
			free(c);
			return;
		}
	}
}

static void
accept_all(int listener, const struct options *o)
{
	while (!drain_asked()) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			start(fd, o);
		else if (!drain_asked() && !net_accept_again(errno))
			drain_sleep(ACCEPT_PAUSE_MS * 1000000ull);
	}
}

/* Returns when every thread has ended its session, or after the deadline. */
static void
drain_all(void)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline); /* the clock that pthread_cond_timedwait goes by */
	deadline.tv_sec += DRAIN_SECONDS;
	pthread_mutex_lock(&mutex);
	for (struct link *l = connections.next; l != &connections; l = l->next)
		pthread_kill(list_element(l, struct connection, all)->thread, SIGUSR1);
	while (!list_empty(&connections) && pthread_cond_timedwait(&ended, &mutex, &deadline) == 0)
		continue;
	pthread_mutex_unlock(&mutex);
}

int
main(int argc, char **argv)
{
	struct options o = options_parse(argc, argv);
	int listener;

	list_init(&connections);
	drain_on(SIGTERM);
	drain_on(SIGINT);
	drain_on(SIGUSR1);
	listener = net_listen(&o);
	drain_accepting(listener);
	accept_all(listener, &o);
	drain_all();
	return 0;
}
