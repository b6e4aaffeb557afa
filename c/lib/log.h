/*
 * The log of one room, as one process writes it (docs/protocol.md, "The log").
 *
 * Several processes may write and read at the same time, of this program and others. Each opens
 * its own descriptors, so that flock excludes them. No descriptor may be used by two processes
 * after a fork. Readers take no lock: they stop at COMMITTED (reader.h).
 */
#ifndef LOG_H
#define LOG_H

#include "lock.h"
#include "stored.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file "committed", mapped by all processes that have the room open. Both are offsets of the
 * room's whole history. */
struct log_ends {
	_Atomic uint64_t committed; /* readers stop here; everything before it is on disk */
	_Atomic uint64_t end;       /* offset of the next line; changed under the write lock */
};

/* State that the writers of this program share, in memory allocated before they are forked. */
struct log_shared {
	/* serializes syncing, so that waiters do not compete for the file lock */
	struct lock syncing;
	/* end of the last line that this program wrote; changed under the write lock */
	_Atomic uint64_t last_end;
	_Atomic uint64_t last_ms;   /* time of that line; changed under the write lock */
	/* How busy the room is; used under the write lock: the start of the current second, and the
	 * number of batches and their bytes since then. */
	uint64_t second, second_batches, second_bytes;
	/* batches that a failed sync refused are still to be discarded: the next process that writes,
	 * syncs or closes the log does so first */
	_Atomic bool broken;
};

struct log {
	/* descriptors of this process: sync is "committed"; segment is -1 before the first append */
	int dir, lock, sync, segment;
	uint64_t base;                /* base of the open segment */
	uint64_t file_end;            /* end of its file, with padding, when last checked: an offset */
	bool padded;                  /* this process has written padding */
	struct log_ends *ends;
	struct log_shared *shared;
	char id[STORED_ID + 1];
};

/* The result of recovering a log whose last writer died, or that was damaged. */
struct log_recovery {
	uint64_t cut;     /* bytes of a torn tail that were cut */
	uint64_t bad;     /* damaged lines, which stay and are skipped */
	uint64_t missing; /* acknowledged bytes that are missing */
};

/* log_shared_init is called once, before the first use; log_shared_reset before another log uses
 * it, while no process does. */
void log_shared_init(struct log_shared *s);
void log_shared_reset(struct log_shared *s);

/*
 * folder_make creates a folder, if it does not exist, and syncs its parent, so that the name
 * survives a power failure. folder_sync_parent syncs the parent only. Both return false and set
 * errno after an error.
 */
bool folder_make(int at, const char *path);
bool folder_sync_parent(int at, const char *path);

/*
 * Opens the log in the folder path below data. With recover set, it creates the folder if it
 * does not exist, and recovers the log: the first process of a server does that. Without
 * recover, the log must exist: a process does that while others have the log open. Returns false
 * and sets errno after an error.
 */
bool log_open(struct log *l, int data, const char *path, struct log_shared *shared, bool recover, struct log_recovery *found);
/* Removes the folder path below data after log_open could not create the log in it, unless it has
 * messages or other files. No process has the log open. Keeps errno. */
void log_remove_unused(int data, const char *path);
/* log_close closes the log. Before that it does what log_cut_refused does. */
void log_close(struct log *l);

/* Discards batches that were refused and are still in the log, unless another process holds a lock:
 * that process does so. A process calls it before others may recover the log. */
void log_cut_refused(struct log *l);

/*
 * Writes entries as one batch at [*first, *end). They are neither durable nor readable before
 * log_commit, which must follow. The lines are encoded in scratch. written, unless NULL, is called
 * with their place before other processes can read them. Returns false and sets errno if nothing
 * was written (EMSGSIZE: a line or the batch is too long).
 */
struct log_batch {
	const struct entry *entries;
	size_t count;
	uint64_t now_ms; /* time of the lines, or that of the line before if it is later */
	char *scratch;
	size_t capacity;
	void (*written)(void *context, uint64_t first, uint64_t end);
	void *context;
};
bool log_append(struct log *l, const struct log_batch *b, uint64_t *first, uint64_t *end);

enum log_commit {
	LOG_COMMITTED,    /* by another process, which wakes the readers */
	LOG_COMMITTED_US, /* by this call: the caller wakes the readers */
	LOG_LOST,         /* the disk refused: the last batches are not stored */
};

/* Waits until everything that log_append wrote up to end is on disk, synced by this process or
 * another. */
enum log_commit log_commit(struct log *l, uint64_t end);

/* Used between the files of the log. */
bool log_flock(int fd);
void log_unlock(int fd);
/* log_try_flock takes a lock if it is free. */
bool log_try_flock(int fd);
/* Discards all uncommitted batches, and sets broken to whether that is still to be done. The caller
 * holds both locks. */
bool log_discard(struct log *l);
/* Reports whether the open segment is the last one and its lines end at END: there is no byte
 * behind it, or padding. A writer that was killed has left a prefix of its batch, so one byte
 * tells. The caller holds the write lock. */
bool log_in_order(struct log *l);
/* Counts a batch of n bytes that was written up to end, at the time ms. If it made the segment of a
 * busy room longer, zeros are written behind it. The caller holds the write lock. */
void log_pad(struct log *l, size_t n, uint64_t ms, uint64_t end);
/* Cuts the padding before the log is closed. It leaves it where another process uses the room. */
void log_cut_own_padding(struct log *l);
/* Opens an existing segment as the current one. */
bool log_take_segment(struct log *l, uint64_t base);
/* Finishes the open segment and creates one with this base as the current one. The caller holds
 * the write lock. */
bool log_next_segment(struct log *l, uint64_t base);
/* Maps the file "committed", which has its content already. */
bool log_map_ends(struct log *l);
/* Recovers the log, and maps ends if they are not mapped yet. The caller holds both locks. */
bool log_recover(struct log *l, struct log_recovery *found);

#endif
