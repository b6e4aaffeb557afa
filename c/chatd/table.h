/*
 * What all processes of the server share, in memory that the parent makes before it forks: who is there, who is
 * in which room, what each SEND process is to be told.
 *
 * The lock "names" guards what is marked so. Nothing that is seen without it is ever half written: names are
 * filled in before the flag that shows them, membership is a bit. Who holds it waits for nobody (a full mailbox
 * is not waited for), so that a client that stops reading stops itself alone.
 */
#ifndef TABLE_H
#define TABLE_H

#include "guess.h"
#include "lock.h"
#include "log.h"
#include "mail.h"
#include "names.h"
#include "stored.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SESSIONS_MAX = 2048,
	ROOMS_MAX = 256,   /* with somebody in them, conversations of two included */
	MY_ROOMS_MAX = 64, /* that one client writes to, conversations of two included */
	MY_FEEDS_MAX = 128, /* that one client is sent */
	HOST_MAX = 63,
	TOPIC_MAX = 390,
	KEY_MAX = 32,
	ENDED_MAX = 320,
	DEVICE_MAX = 32,
	SOURCE_MAX = NICK_MAX + USER_MAX + HOST_MAX + 3, /* NICK!~USER@HOST */
	MODES_MAX = 32768, /* bytes of a room's lines of MODE */
	FLAGS_MAX = 12,
	PATH_MAX_ROOM = FOLDER_MAX + 16,
};

struct room {
	bool used;                     /* under names */
	bool direct;                   /* a conversation of two accounts: name is "a,b" */
	/* as who made it spells it */
	char name[2 * NICK_MAX + 2 > ROOM_MAX + 1 ? 2 * NICK_MAX + 2 : ROOM_MAX + 1];
	char path[PATH_MAX_ROOM];      /* of its folder below the data folder */
	char id[STORED_ID + 1];        /* of its log, by which read marks know it */
	char topic[TOPIC_MAX + 1];     /* under names, as are all that follow */
	char topic_by[SOURCE_MAX + 1]; /* NICK!USER@HOST */
	uint64_t topic_at;             /* seconds since 1970 */
	/* the other lines of its file "state", as are those that follow; they do not change while
	 * somebody is in it */
	char modes[MODES_MAX];
	char flags[FLAGS_MAX + 1];     /* letters of modes that have no parameter */
	char key[KEY_MAX + 1];
	unsigned limit;                /* of members; 0: none */
	bool ranked, banning;          /* somebody has a rank; somebody is banned */
	bool too_long;                 /* the file: it is not written again */
	struct log_shared log;
	_Atomic uint32_t members[SESSIONS_MAX / 32]; /* a bit a session; changed under names */
};

/*
 * How a session ends: SEND has sent what there was and says so, RECV writes down how far that is, then SEND closes
 * the connection. So who comes back when the connection has ended is shown what it missed, and nothing else.
 */
enum ending { GOING_ON, ALL_SENT, MARKS_SAVED };

/* A client. Its number is its place in the table. These lie close together: to go through them all
 * is cheap. */
struct session {
	_Atomic bool live;             /* from before its processes are forked until both are reaped */
	_Atomic bool closing;          /* SEND is gone, or about to: RECV ends too */
	_Atomic bool slow;             /* its mailbox was full: SEND ends it */
	_Atomic unsigned caps;
	_Atomic unsigned news;         /* 1: there is something that SEND has not seen */
	sem_t wake;
	_Atomic unsigned ending;       /* enum ending */
	/* under names, as are all that follow; left: its rooms know that it is gone */
	bool registered, left;
	char nick[NICK_MAX + 1], user[USER_MAX + 2];
	char host[HOST_MAX + 1];       /* as others see it */
	char address[HOST_MAX + 1];    /* where it comes from */
	char network[HOST_MAX + 1];    /* and the network that it is counted under */
	char account[NICK_MAX + 1], device[DEVICE_MAX + 1];
	/* why it is ended from outside, for its rooms; "" when it is not */
	char ended[ENDED_MAX + 1];
};

/* What only a client's own processes, and who tells it something, touch. */
struct box {
	struct mail mail;
	/* by SEND: how far a room's log was sent; 0: it does not follow it yet */
	_Atomic uint64_t sent[ROOMS_MAX];
};

struct table {
	struct lock names;
	/* one topic is set at a time, in its log and its state alike; taken before names */
	struct lock topics;
	_Atomic bool stop;
	/* posted when a client has come: the keeper sleeps while there is none */
	sem_t came;
	struct session sessions[SESSIONS_MAX];
	struct room rooms[ROOMS_MAX];
	struct guesses guesses;        /* under names */
	struct box boxes[SESSIONS_MAX];
};

/* Called once, before any fork. */
struct table *table_make(unsigned sessions);

/* By the parent: takes a free place for a client from an address, -1 when there is none; gives it
 * back. */
int session_claim(struct table *t, const char *address);
void session_free(struct table *t, unsigned number);

/* How many sessions there may be: the lowest numbers. */
unsigned table_sessions(void);

void names_take(struct table *t);
void names_release(struct table *t);

/* Tells SEND that there is something new; costs a system call only when it was not told already. */
void session_wake(struct session *s);

/* SEND waits for it: whatever was there before the wake is seen after. */
void session_sleep(struct session *s);

/* Wakes all members of a room; lock-free. */
void room_wake(struct table *t, const struct room *r);

/* Makes a session a member, whose SEND is to be told to follow the room's log. Under names. */
void room_seat(struct table *t, unsigned room, unsigned session);

bool room_has(const struct room *r, unsigned session);
void room_set(struct room *r, unsigned session, bool member);
bool room_empty(const struct room *r);

/* Whether no session before this one is the same user in the room; how many users are in it. Under
 * names. */
bool room_first(const struct table *t, const struct room *r, unsigned session);
unsigned room_members(const struct table *t, const struct room *r);

/* The number of a room that somebody is in, -1 when there is none. Under names. */
int room_find(const struct table *t, struct slice name);

/* Tells a session something without waiting; one whose mailbox is full is ended as too slow. */
void session_tell(struct table *t, unsigned number, const struct mail_item *item, struct slice text);

/* Whether another session than number has this nick in the room (any where room is NULL). Under
 * names. */
bool nick_elsewhere(const struct table *t, const struct room *room, unsigned number);

/* Says QUIT for a session to all who share a room with it, and takes it out of them. Idempotent. */
void session_leave(struct table *t, unsigned number, struct slice reason);

#endif
