#include "segment.h"

#include "slice.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

enum { BLOCK = 16384 };

static bool
parse_name(const char *name, uint64_t *base)
{
	unsigned long long n;

	if (strlen(name) != SEGMENT_NAME || strcmp(name + 20, ".log") != 0 ||
	    !slice_number((struct slice){ name, 20 }, INT64_MAX, &n))
		return false;
	*base = n;
	return true;
}

static bool
fits(uint64_t base, uint64_t offset, enum segment_where where)
{
	return where == SEGMENT_AT_OR_BEFORE ? base <= offset : base > offset;
}

static bool
nearer(uint64_t base, uint64_t best, enum segment_where where)
{
	return where == SEGMENT_AT_OR_BEFORE ? base > best : base < best;
}

bool
segment_find(int dir, uint64_t offset, enum segment_where where, uint64_t *base)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;
	struct dirent *file;

	if (list == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((file = readdir(list)) != NULL) {
		uint64_t b;

		if (parse_name(file->d_name, &b) && fits(b, offset, where) && (!found || nearer(b, *base, where))) {
			*base = b;
			found = true;
		}
	}
	closedir(list);
	return found;
}

static void
name_of(uint64_t base, char name[SEGMENT_NAME + 1])
{
	snprintf(name, SEGMENT_NAME + 1, "%020" PRIu64 ".log", base);
}

int
segment_open(int dir, uint64_t base, int flags)
{
	char name[SEGMENT_NAME + 1];

	name_of(base, name);
	return openat(dir, name, flags | O_CLOEXEC, 0600);
}

int
segment_make(int dir, uint64_t base)
{
	int fd = segment_open(dir, base, O_RDWR | O_CREAT);

	if (fd >= 0 && fsync(dir) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Mode 0700 differs from that of a segment in use, so no process appends to it meanwhile. */
int
segment_reopen(int dir, uint64_t base)
{
	char name[SEGMENT_NAME + 1];

	name_of(base, name);
	return fchmodat(dir, name, 0700, 0) != 0 ? -1 : segment_open(dir, base, O_RDWR);
}

bool
segment_finish(int fd)
{
	return fchmod(fd, 0400) == 0;
}

bool
segment_use(int fd)
{
	return fchmod(fd, 0600) == 0;
}

bool
segment_remove(int dir, uint64_t base)
{
	char name[SEGMENT_NAME + 1];

	name_of(base, name);
	return unlinkat(dir, name, 0) == 0;
}

/* The state of an open file. */
struct state {
	uint64_t size, links;
	unsigned mode;
};

static bool
by_fstat(int fd, struct state *state)
{
	struct stat s;

	if (fstat(fd, &s) != 0)
		return false;
	*state = (struct state){ (uint64_t)s.st_size, (uint64_t)s.st_nlink, s.st_mode };
	return true;
}

#if defined(__linux__) && defined(SYS_statx)

/* The kernel's interface (statx(2)). Not all C libraries have it. */
struct statx_result {
	uint32_t mask, block_size;
	uint64_t attributes;
	uint32_t links, uid, gid;
	uint16_t mode, unused;
	uint64_t inode, size;
	uint64_t rest[26];
};

enum { EMPTY_PATH = 0x1000, MODE_LINKS_SIZE = 0x206 };

/*
 * Asks for no times. After fstat(2) the next write changes them, also within a tick of the clock,
 * and fdatasync of ext4 then writes the inode (Linux 6.13, multigrain timestamps).
 */
static bool
get_state(int fd, struct state *state)
{
	struct statx_result s;

	if (syscall(SYS_statx, fd, "", EMPTY_PATH, MODE_LINKS_SIZE, &s) != 0)
		return by_fstat(fd, state);
	*state = (struct state){ s.size, s.links, s.mode };
	return true;
}

#else

static bool
get_state(int fd, struct state *state)
{
	return by_fstat(fd, state);
}

#endif

bool
segment_size(int fd, uint64_t *size)
{
	struct state s;

	if (!get_state(fd, &s))
		return false;
	*size = s.size;
	return true;
}

bool
segment_in_use(int fd, uint64_t *size)
{
	struct state s;

	if (!get_state(fd, &s))
		return false;
	*size = s.size;
	return s.links > 0 && (s.mode & S_IWUSR) && !(s.mode & S_IXUSR);
}

bool
segment_data_size(int fd, uint64_t *size)
{
	char block[BLOCK];

	if (!segment_size(fd, size))
		return false;
	while (*size > 0) {
		size_t n = *size < BLOCK ? (size_t)*size : BLOCK, used = n;

		if (pread(fd, block, n, (off_t)(*size - n)) != (ssize_t)n)
			return false;
		while (used > 0 && block[used - 1] == '\0')
			used--;
		*size -= n - used;
		if (used > 0)
			return true;
	}
	return true;
}

bool
segment_cut_padding(int fd, uint64_t *size)
{
	uint64_t file;

	return segment_size(fd, &file) && segment_data_size(fd, size) && (file == *size || ftruncate(fd, (off_t)*size) == 0);
}
