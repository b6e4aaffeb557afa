#include "log.h"

#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

void
log_shared_init(struct log_shared *s)
{
	lock_init(&s->syncing);
	log_shared_reset(s);
}

void
log_shared_reset(struct log_shared *s)
{
	atomic_store(&s->last_end, 0);
	atomic_store(&s->last_ms, 0);
	s->second = s->second_batches = s->second_bytes = 0;
	atomic_store(&s->broken, false);
}

bool
log_flock(int fd)
{
	int r;

	do
		r = flock(fd, LOCK_EX);
	while (r != 0 && errno == EINTR);
	return r == 0;
}

bool
log_try_flock(int fd)
{
	int r;

	do
		r = flock(fd, LOCK_EX | LOCK_NB);
	while (r != 0 && errno == EINTR);
	return r == 0;
}

void
log_unlock(int fd)
{
	int error = errno;

	flock(fd, LOCK_UN);
	errno = error;
}

static void
use_segment(struct log *l, int fd, uint64_t base)
{
	if (l->segment >= 0)
		close(l->segment);
	l->segment = fd;
	l->base = l->file_end = base;
}

bool
log_take_segment(struct log *l, uint64_t base)
{
	int fd = segment_open(l->dir, base, O_RDWR);

	if (fd < 0)
		return false;
	use_segment(l, fd, base);
	return true;
}

bool
log_next_segment(struct log *l, uint64_t base)
{
	int fd;

	if (!segment_finish(l->segment) || (fd = segment_make(l->dir, base)) < 0)
		return false;
	use_segment(l, fd, base);
	return true;
}

/* Reads the room's id. */
static bool
read_id(int dir, char id[STORED_ID + 1])
{
	int fd = openat(dir, "id", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, id, STORED_ID);
	close(fd);
	id[STORED_ID] = '\0';
	if (n != STORED_ID)
		errno = EINVAL;
	return n == STORED_ID;
}

bool
log_map_ends(struct log *l)
{
	struct stat s;

	if (l->ends != MAP_FAILED)
		return true;
	if (fstat(l->sync, &s) != 0 || s.st_size < (off_t)sizeof *l->ends) {
		errno = EINVAL;
		return false;
	}
	l->ends = mmap(NULL, sizeof *l->ends, PROT_READ | PROT_WRITE, MAP_SHARED, l->sync, 0);
	return l->ends != MAP_FAILED;
}

bool
folder_sync_parent(int at, const char *path)
{
	const char *end = path + strlen(path);
	char parent[PATH_BYTES] = ".";
	int fd;
	bool fine;

	while (end > path && end[-1] == '/') /* the parent of "data/" is ".", not "data" */
		end--;
	while (end > path && end[-1] != '/')
		end--;
	if (end > path && !slice_copy(slice_between(path, end), parent, sizeof parent)) {
		errno = ENAMETOOLONG;
		return false;
	}
	fd = openat(at, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fine = fd >= 0 && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	return fine;
}

bool
folder_make(int at, const char *path)
{
	return (mkdirat(at, path, 0700) == 0 || errno == EEXIST) && folder_sync_parent(at, path);
}

static bool
open_files(struct log *l, int data, const char *path, bool make)
{
	if (make && !folder_make(data, path))
		return false;
	l->dir = openat(data, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir < 0)
		return false;
	l->lock = openat(l->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	l->sync = openat(l->dir, "committed", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return l->lock >= 0 && l->sync >= 0;
}

static bool
recover_locked(struct log *l, struct log_recovery *found)
{
	bool fine = false;

	if (!log_flock(l->sync))
		return false;
	if (log_flock(l->lock)) {
		fine = log_recover(l, found);
		log_unlock(l->lock);
	}
	log_unlock(l->sync);
	return fine;
}

bool
log_open(struct log *l, int data, const char *path, struct log_shared *shared, bool recover, struct log_recovery *found)
{
	memset(found, 0, sizeof *found);
	*l = (struct log){ .dir = -1, .lock = -1, .sync = -1, .segment = -1, .ends = MAP_FAILED, .shared = shared };
	if (!open_files(l, data, path, recover) || (recover && !recover_locked(l, found)) || !read_id(l->dir, l->id) || !log_map_ends(l)) {
		log_close(l);
		return false;
	}
	return true;
}

static void
close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
log_cut_refused(struct log *l)
{
	if (l->ends == MAP_FAILED || !atomic_load(&l->shared->broken) || !log_try_flock(l->sync))
		return;
	if (log_try_flock(l->lock)) {
		if (atomic_load(&l->shared->broken))
			(void)log_discard(l);
		log_unlock(l->lock);
	}
	log_unlock(l->sync);
}

void
log_close(struct log *l)
{
	int error = errno;

	log_cut_refused(l);
	log_cut_own_padding(l);
	if (l->ends != MAP_FAILED)
		munmap(l->ends, sizeof *l->ends);
	l->ends = MAP_FAILED;
	close_one(&l->segment);
	close_one(&l->sync);
	close_one(&l->lock);
	close_one(&l->dir);
	errno = error;
}
