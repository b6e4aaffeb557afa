/*
 * The memory that all processes of the server share. The parent allocates it before it forks. It
 * has the clients, the rooms with their members, and the mail to each SEND process.
 *
 * The lock "names" guards the fields marked with it. Fields that are read without it are never seen
 * half written: names are filled in before the flag that shows them, and a membership is one bit.
 * The holder of the lock never waits, not even for a full mailbox. So a client that stops reading
 * blocks only itself.
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
	ROOMS_MAX = 256,   /* with members, direct conversations included */
	MY_ROOMS_MAX = 64, /* limit of rooms and conversations that one client writes to */
	MY_FEEDS_MAX = 128, /* limit of logs that one client is sent */
	HOST_MAX = 63,
	TOPIC_MAX = 390,
	KEY_MAX = 32,
	ENDED_MAX = 320,
	DEVICE_MAX = 32,
	SOURCE_MAX = NICK_MAX + USER_MAX + HOST_MAX + 3, /* NICK!~USER@HOST */
	MODES_MAX = 32768, /* bytes of a room's MODE lines */
	FLAGS_MAX = 12,
	PATH_MAX_ROOM = FOLDER_MAX + 16,
};

struct room {
	bool used;                     /* under names */
	bool direct;                   /* a direct conversation of two accounts; its name is "a,b" */
	/* in the spelling of its creator */
	char name[2 * NICK_MAX + 2 > ROOM_MAX + 1 ? 2 * NICK_MAX + 2 : ROOM_MAX + 1];
	char path[PATH_MAX_ROOM];      /* path of its folder in the data directory */
	char id[STORED_ID + 1];        /* id of its log, which identifies it in read markers */
	char topic[TOPIC_MAX + 1];     /* under names, like all fields below */
	char topic_by[SOURCE_MAX + 1]; /* NICK!USER@HOST */
	uint64_t topic_at;             /* seconds since 1970 */
	/* other lines of its file "state"; like the fields below they do not change while the room has
	 * members */
	char modes[MODES_MAX];
	char flags[FLAGS_MAX + 1];     /* letters of the modes without a parameter */
	char key[KEY_MAX + 1];
	unsigned limit;                /* limit of members; 0: none */
	bool ranked, banning;          /* an account has a rank; the room has bans */
	bool too_long;                 /* the file is too long, and is never rewritten */
	struct log_shared log;
	_Atomic uint32_t members[SESSIONS_MAX / 32]; /* one bit for each session; changed under names */
};

/*
 * How a session ends: SEND sends everything and reports that, RECV stores the read markers, and
 * then SEND closes the connection. So a client that reconnects after that is replayed what it
 * missed.
 */
enum ending { GOING_ON, ALL_SENT, MARKS_SAVED };

/* A client. Its number is its index in the table. Sessions are stored contiguously, so iterating
 * over them is cheap. */
struct session {
	_Atomic bool live;             /* from before its processes are forked until both are reaped */
	/* SEND has ended or is about to, or RECV has failed: the other one ends, too */
	_Atomic bool closing;
	_Atomic bool slow;             /* its mailbox was full: SEND disconnects it */
	_Atomic unsigned caps;
	_Atomic unsigned news;         /* 1: there is mail or a commit that SEND has not seen */
	sem_t wake;
	_Atomic unsigned ending;       /* enum ending */
	/* another session of the device waits until SEND has brought acked up to date */
	_Atomic bool asked;
	/* under names, like all fields below; left: its rooms have received its QUIT */
	bool registered, left;
	char nick[NICK_MAX + 1], user[USER_MAX + 2];
	char host[HOST_MAX + 1];       /* hostname that others see */
	char address[HOST_MAX + 1];    /* remote address */
	char network[HOST_MAX + 1];    /* network under which the address is counted */
	char account[NICK_MAX + 1], device[DEVICE_MAX + 1];
	/* reason of a disconnection by another process, for its rooms; "": none */
	char ended[ENDED_MAX + 1];
};

/* Memory that only the client's own processes, and senders of mail, touch. */
struct box {
	struct mail mail;
	/* The rest is written by SEND. sent is how far a room's log was written to the connection,
	 * acked how far the client's system is known to have acknowledged it; 0: not followed yet. */
	_Atomic uint64_t sent[ROOMS_MAX], acked[ROOMS_MAX];
	_Atomic uint64_t written; /* bytes that were written to the connection */
	_Atomic bool unread; /* a replay could not be read; RECV clears it */
};

struct table {
	struct lock names;
	/* serializes changes of topics, in log and state; taken before names */
	struct lock topics;
	_Atomic bool stop;
	/* posted for each new client: KEEPER sleeps while there is none */
	sem_t came;
	struct session sessions[SESSIONS_MAX];
	struct room rooms[ROOMS_MAX];
	struct guesses guesses;        /* under names */
	struct box boxes[SESSIONS_MAX];
};

/* Called once, before any fork. */
struct table *table_make(unsigned sessions);

/* Called by the parent. session_claim takes a free session for a client, -1 if there is none;
 * session_free frees it. */
int session_claim(struct table *t, const char *address);
void session_free(struct table *t, unsigned number);

/* Returns the number of sessions in use: those with the lowest numbers. */
unsigned table_sessions(void);

void names_take(struct table *t);
void names_release(struct table *t);

/* Wakes SEND. It costs a system call only if SEND was not woken already. */
void session_wake(struct session *s);

/* The same after a process has died. If that was just waking SEND, session_wake would believe that
 * SEND is awake. */
void session_wake_again(struct session *s);

/* Waits for a wake-up, at most so many milliseconds; 0: no limit. SEND then sees everything that
 * was written before it. */
void session_sleep(struct session *s, unsigned ms);

/* Wakes SEND of all members of a room; lock-free. */
void room_wake(struct table *t, const struct room *r);

/* Adds a session to a room. Its SEND must then receive MAIL_FOLLOW. The caller holds names. */
void room_add(struct table *t, unsigned room, unsigned session);

bool room_has(const struct room *r, unsigned session);
void room_set(struct room *r, unsigned session, bool member);
bool room_empty(const struct room *r);

/* room_first reports whether no session before this one has the same nick in the room. room_members
 * counts the nicks in it. The caller holds names. */
bool room_first(const struct table *t, const struct room *r, unsigned session);
unsigned room_members(const struct table *t, const struct room *r);

/* Returns the number of a room with members, -1 if there is none. The caller holds names. */
int room_find(const struct table *t, struct slice name);

/* Sends mail to a session without waiting. A session whose mailbox is full is disconnected as too
 * slow. */
void session_mail(struct table *t, unsigned number, const struct mail_item *item, struct slice text);

/* Reports whether another session than number has this nick in the room (in any if room is NULL).
 * The caller holds names. */
bool nick_elsewhere(const struct table *t, const struct room *room, unsigned number);

/* Sends the QUIT of a session to all members of its rooms, and removes it from them. Idempotent. */
void session_leave(struct table *t, unsigned number, struct slice reason);

#endif
