/*
 * What the RECV process of a client knows, and the parts that its commands are made of. One process, one client:
 * nothing here is shared but what lies in the table.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "buffer.h"
#include "line.h"
#include "options.h"
#include "scram.h"
#include "table.h"

#include <stdbool.h>

enum {
	ANSWERS_BYTES = MAIL_TEXT_MAX,
	BATCH_MAX = 64,          /* messages that are written at once */
	BATCH_TEXT = 32768,      /* bytes of their sources, tags and texts */
	BATCH_BYTES = 65536,     /* bytes of their lines in the log */
	SASL_MAX = 1024,         /* bytes of an answer, decoded */
};

/* A room that the client is in, or a conversation that it writes to. */
struct joined {
	bool used;
	/* something was written since the last answer: it has to be sent before the next */
	bool unmarked;
	unsigned room;    /* number in the table */
	struct log log;
	uint64_t end;     /* of what the client wrote last */
};

/* Messages for one room that wait to be written together. */
struct batch {
	struct joined *to; /* NULL: there are none */
	size_t count;
	struct entry entries[BATCH_MAX];
	char target[ROOM_MAX + 1];
	struct buffer text; /* what the entries point into */
	char bytes[BATCH_TEXT];
};

enum sasl_how { SASL_NONE, SASL_PLAIN, SASL_SCRAM };

struct client {
	struct table *t;
	unsigned number;
	struct session *me;
	struct mail *mail;
	const struct options *o;
	int fd, data;
	bool loopback;
	bool registered, quitting;
	bool negotiating;   /* between CAP LS or REQ, and CAP END */
	char wanted[NICK_MAX + 1]; /* the nick to have, once registered; "" while none was given */
	unsigned caps;
	char pass[SASL_MAX];
	unsigned failures;  /* of logging in */
	struct login trying; /* who it says it is */
	unsigned wait;      /* seconds until it may try again; 0 when it was not refused for that */
	char reason[LINE_REST_MAX]; /* why it ends, for the rooms that it was in */

	enum sasl_how how;
	struct scram scram;
	/* who it will be when the proof is right; "": nobody */
	char scram_name[NICK_MAX + 1], scram_device[DEVICE_MAX + 1];
	char sasl_text[2 * SASL_MAX]; /* base 64, of the chunks so far */
	size_t sasl_length;

	struct joined joined[MY_ROOMS_MAX];
	struct batch batch;
	bool show_own;      /* what is written now is sent back to the client, echo-message or not */
	struct buffer answers;
	char answers_bytes[ANSWERS_BYTES];
};

/* answer.c: what the client is told. Answers go out together, when the input is used up or
 * something else must follow. */
void answer(struct client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* ":SERVER NUMERIC NICK rest" */
void numeric(struct client *c, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "FAIL COMMAND CODE :text", as IRCv3's standard replies are. */
void fail(struct client *c, const char *command, const char *code, const char *text);
void answers_flush(struct client *c);
/* Puts an item into the client's own mail after the answers so far; waits while it is full. */
void tell_self(struct client *c, const struct mail_item *item, struct slice text);
/* Waits until SEND has done all that it was told so far. */
void wait_for_send(struct client *c);
/* The last line, and the end of the connection. */
void close_client(struct client *c, const char *reason);

/* register.c, sasl.c */
/* By the parent, before it forks: reads, or makes, what names that nobody has are answered with. */
void sasl_init(int data);
void command_cap(struct client *c, const struct line *l);
void command_nick(struct client *c, const struct line *l);
void command_user(struct client *c, const struct line *l);
void command_pass(struct client *c, const struct line *l);
void command_authenticate(struct client *c, const struct line *l);
void try_register(struct client *c);
/* Gives the client the host that others see, as long as it has no account. */
void cloak(struct client *c);
/* Checks NAME[@DEVICE] and a password; the client is logged in when they are right. */
bool log_in_plain(struct client *c, struct slice login, struct slice password);
/* Whether the client may send a password as it is. */
bool plain_allowed(const struct client *c);

/* rooms.c, names.c */
void command_join(struct client *c, const struct line *l);
void command_part(struct client *c, const struct line *l);
void command_topic(struct client *c, const struct line *l);
void command_names(struct client *c, const struct line *l);
void command_list(struct client *c, const struct line *l);
void command_mode(struct client *c, const struct line *l);
void command_who(struct client *c, const struct line *l);
/* Tells the client who is in a room. */
void names_of(struct client *c, struct slice room);
/* Leaves a room that the client is in. */
void part(struct client *c, struct joined *j, struct slice reason);
/* The number of a room, whose log is checked when nobody was in it; -1, and errno. Under names. Who
 * becomes no member clears its flag "used". */
int room_open(struct client *c, struct slice name, bool direct);
struct joined *joined_find(struct client *c, struct slice name);
struct joined *joined_open(struct client *c, unsigned room);
void joined_close(struct joined *j);

/* message.c */
void command_message(struct client *c, const struct line *l);
/* Writes what waits and waits until it is on the disk. */
void batch_flush(struct client *c);
/* Waits until the client's own mail has room for what is said of its own lines: storing them does
 * not wait for that then. */
void make_room(struct client *c);
/* Stores a change of topic in the log; false when the disk refuses. */
bool store_topic(struct client *c, struct joined *j, struct slice text);

/* history.c */
void command_history(struct client *c, const struct line *l);
void replay_missed(struct client *c, struct joined *j, uint64_t end);
/* Has SEND replay the newest count lines in [from, end) of the log in the folder path, said to be
 * of the room or person name. */
void replay_lines(struct client *c, const char *path, struct slice name, uint64_t from, uint64_t end, unsigned count);
/* How far the client's device has been sent the room with this id, by all of its sessions; waits
 * for one that ends, two seconds at most. */
uint64_t mark_of(struct client *c, const char *id);
/* Writes down how far the client's device has been sent a room. */
void mark_save(struct client *c, const struct joined *j);

/* command.c: what a line asks for. */
void command_run(struct client *c, struct slice line);

#endif
