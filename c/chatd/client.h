/*
 * The state of a client's RECV process, and the functions of its commands. One process serves one
 * client. Only the table is shared with other processes.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "buffer.h"
#include "line.h"
#include "marks.h"
#include "options.h"
#include "scram.h"
#include "table.h"

#include <stdbool.h>

enum {
	ANSWERS_BYTES = MAIL_TEXT_MAX,
	BATCH_MAX = 64,          /* messages of one batch */
	BATCH_TEXT = 32768,      /* bytes of their sources, tags and texts */
	BATCH_BYTES = 65536,     /* bytes of their lines in the log */
	SASL_MAX = 1024,         /* length limit of a decoded SASL message, in bytes */
};

/* A room that the client is in, or a conversation that it writes to. */
struct joined {
	bool used;
	/* the client wrote since the last reply: SEND must send that before the next reply */
	bool unmarked;
	unsigned room;    /* number in the table */
	struct log log;
	uint64_t end;     /* end of what the client wrote last */
};

/* Messages for one room that are going to be written together. */
struct batch {
	struct joined *to; /* NULL: the batch is empty */
	size_t count;
	struct entry entries[BATCH_MAX];
	char target[ROOM_MAX + 1];
	struct buffer text; /* memory of the entries */
	char bytes[BATCH_TEXT];
};

/* Read markers of logs that SEND does not follow, of rooms that the client has left and of
 * conversations that were only replayed to it. They are stored when the client has acknowledged the
 * first so many bytes of the connection. */
struct later_marks {
	struct mark marks[MY_FEEDS_MAX];
	unsigned count;
	uint64_t after;
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
	char wanted[NICK_MAX + 1]; /* nick to take at registration, "" if none was sent */
	unsigned caps;
	char pass[SASL_MAX];
	unsigned failures;  /* failed logins */
	struct login trying; /* account and network of a login attempt */
	unsigned wait;      /* seconds until the next login attempt is allowed; 0: not throttled */
	char reason[LINE_REST_MAX]; /* reason of the QUIT that its rooms receive */
	bool quit;          /* the client has sent QUIT */
	bool input_ended;   /* the client has closed its side of the connection */
	struct later_marks later;

	enum sasl_how how;
	struct scram scram;
	/* account and device if the proof is right; "": unknown account */
	char scram_name[NICK_MAX + 1], scram_device[DEVICE_MAX + 1];
	char sasl_text[2 * SASL_MAX]; /* base64, of the parts so far */
	size_t sasl_length;

	struct joined joined[MY_ROOMS_MAX];
	struct batch batch;
	/* the messages of the batch are also sent to the client itself, even without echo-message */
	bool show_own;
	struct buffer answers;
	char answers_bytes[ANSWERS_BYTES];
};

/* answer.c: replies to the client. They are sent together, when the input is processed or something
 * else must follow. */
void answer(struct client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sends ":SERVER NUMERIC NICK rest". */
void numeric(struct client *c, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Sends "FAIL COMMAND CODE :text" (IRCv3 standard replies). */
void fail(struct client *c, const char *command, const char *code, const char *text);
void answers_flush(struct client *c);
/* The same without waiting: while the mailbox has no room, the replies stay. No own message may be
 * waiting for them: answers_flush was called before. */
void answers_now(struct client *c);
/* Appends an item to the client's own mail after the replies so far; waits while it is full. */
void mail_self(struct client *c, const struct mail_item *item, struct slice text);
/* Waits until SEND has processed all mail. */
void wait_for_send(struct client *c);
/* Sends the last line and closes the connection. */
void close_client(struct client *c, const char *reason);

/* register.c, sasl.c */
/* Called by the parent before it forks: reads or creates the key for decoy verifiers. */
void sasl_init(int data);
void command_cap(struct client *c, const struct line *l);
void command_nick(struct client *c, const struct line *l);
void command_user(struct client *c, const struct line *l);
void command_pass(struct client *c, const struct line *l);
void command_authenticate(struct client *c, const struct line *l);
void try_register(struct client *c);
/* Sets the hostname that others see, unless the client has an account. */
void cloak(struct client *c);
/* Checks NAME[@DEVICE] and a password, and logs the client in if they are right. */
bool log_in_plain(struct client *c, struct slice login, struct slice password);
/* Reports whether the client may send a password in clear text. */
bool plain_allowed(const struct client *c);

/* rooms.c, names_list.c */
void command_join(struct client *c, const struct line *l);
void command_part(struct client *c, const struct line *l);
void command_topic(struct client *c, const struct line *l);
void command_names(struct client *c, const struct line *l);
void command_list(struct client *c, const struct line *l);
void command_mode(struct client *c, const struct line *l);
void command_who(struct client *c, const struct line *l);
/* Sends the names of a room's members. */
void names_of(struct client *c, struct slice room);
/* Removes the client from a room. */
void part(struct client *c, struct joined *j, struct slice reason);
/* Returns the number of a room, and recovers its log if it had no member; -1 and errno after an
 * error. The caller holds the lock "names". A caller that adds no member clears the room's flag
 * "used". */
int room_open(struct client *c, struct slice name, bool direct);
struct joined *joined_find(struct client *c, struct slice name);
struct joined *joined_open(struct client *c, unsigned room);
void joined_close(struct joined *j);

/* message.c */
void command_message(struct client *c, const struct line *l);
/* Writes the batch and waits until it is on disk. */
void batch_flush(struct client *c);
/* Waits until the client's own mail has room for MAIL_OWN, so that storing a batch does not wait
 * for the client. */
void make_room(struct client *c);
/* Appends a topic to the log. Returns false if the disk refuses. */
bool store_topic(struct client *c, struct joined *j, struct slice text);

/* history.c */
void command_history(struct client *c, const struct line *l);
void replay_missed(struct client *c, struct joined *j, uint64_t end);
/* Makes SEND replay the newest count lines in [from, end) of the log in the folder path, as those
 * of the room or nick name. */
void replay_lines(struct client *c, const char *path, struct slice name, uint64_t from, uint64_t end, unsigned count);

/* device_marks.c: the read markers of the client's device */
/* Returns how far the device has read the room with this id, in all of its sessions. Waits for the
 * others, altogether at most two seconds. */
uint64_t mark_of(struct client *c, const char *id);
/* Stores a read marker when the client has acknowledged everything that was written so far. */
void mark_later(struct client *c, const char *id, uint64_t offset);
/* The same for a room that SEND has just been sent MAIL_LEAVE for. */
void mark_left(struct client *c, const struct joined *j);
/* Stores the markers of mark_later if it is time. */
void marks_check(struct client *c);
/* Collects how far the client has received its rooms; the caller holds names. */
void marks_begin_end(struct client *c);
/* Stores that, when SEND has sent everything or has failed. */
void marks_end(struct client *c);

/* command.c: runs a client's line. */
void command_run(struct client *c, struct slice line);

#endif
