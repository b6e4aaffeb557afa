/*
 * The log of one room, as one process writes it (docs/protocol.md, "The log").
 *
 * Several processes may write and read at the same time, of this program and of others. Each opens its own
 * descriptors, so that flock excludes them; none may be used after a fork by both sides. Readers do not lock:
 * they stop at what is committed (reader.h).
 */
#ifndef LOG_H
#define LOG_H

#include "lock.h"
#include "stored.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file "committed", mapped by everybody who has the room open. Offsets of the room's whole
 * history. */
struct log_ends {
	_Atomic uint64_t committed; /* readers stop here: everything before is on the disk */
	_Atomic uint64_t end;       /* where the next line goes; changed under the write lock */
};

/* What the writers of this program share beside the files, in memory made before they are forked. */
struct log_shared {
	/* the queue for the sync lock, which it saves them from fighting for */
	struct lock syncing;
	/* the end of the last line that this program wrote; changed under the write lock, */
	_Atomic uint64_t last_end;
	_Atomic uint64_t last_ms;   /* as is its time */
	/* a failed sync could not be undone: whoever writes next brings the log in order first */
	_Atomic bool broken;
};

struct log {
	/* descriptors, this process's own: sync is "committed", segment -1 before the first append */
	int dir, lock, sync, segment;
	uint64_t base;                /* of the open segment */
	struct log_ends *ends;
	struct log_shared *shared;
	char id[STORED_ID + 1];
};

/* What was found in a log whose last writer died, or that was damaged. */
struct log_recovery {
	uint64_t cut;     /* bytes of a torn tail that were taken away */
	uint64_t bad;     /* damaged lines, which stay, and are passed over */
	uint64_t missing; /* bytes that were acknowledged once and are not there */
};

/* Once, before it is used; for another log, while nobody uses it. */
void log_shared_init(struct log_shared *s);
void log_shared_reset(struct log_shared *s);

/*
 * Makes a folder where it is not there yet, and has the disk keep it: it stands in its parent folder after a loss of
 * power too. False: errno says why. folder_sync_parent does the latter for a folder that was made already.
 */
bool folder_make(int at, const char *path);
bool folder_sync_parent(int at, const char *path);

/*
 * Opens the log in the folder path below the folder data. With recover the folder is made when it is not there
 * and brought in order, which the first of a server's processes does. False: errno says why.
 */
bool log_open(struct log *l, int data, const char *path, struct log_shared *shared, bool recover, struct log_recovery *found);
void log_close(struct log *l);

/*
 * Writes entries as one batch; they are at [*first, *end) then, but neither durable nor readable before
 * log_commit, which must follow. The lines are put together in scratch. Before others can read them, written
 * (where there is one) is told where they are. False: nothing is written, errno says why (EMSGSIZE: a line or
 * the batch is too long).
 */
struct log_batch {
	const struct entry *entries;
	size_t count;
	uint64_t now_ms; /* the time of the lines; that of the line before when that is later */
	char *scratch;
	size_t room;
	void (*written)(void *context, uint64_t first, uint64_t end);
	void *context;
};
bool log_append(struct log *l, const struct log_batch *b, uint64_t *first, uint64_t *end);

enum log_commit {
	LOG_COMMITTED,    /* by somebody else, who tells the readers */
	LOG_COMMITTED_US, /* by this call: the caller tells the readers */
	LOG_LOST,         /* the disk refused: what was written last is not stored */
};

/* Waits until what log_append wrote, up to end, is on the disk, by its own sync or somebody else's. */
enum log_commit log_commit(struct log *l, uint64_t end);

/* Used between the files of this part. */
bool log_flock(int fd);
void log_unlock(int fd);
/* Makes a segment that is there the open one. */
bool log_take_segment(struct log *l, uint64_t base);
/* Finishes the open segment and makes one that begins at base the open one. Under the write lock. */
bool log_next_segment(struct log *l, uint64_t base);
/* Maps the file "committed", which says something. */
bool log_map_ends(struct log *l);
/* Brings the log in order, under both locks; ends may not be mapped yet, and are then. */
bool log_recover(struct log *l, struct log_recovery *found);

#endif
