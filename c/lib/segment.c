#include "segment.h"

#include "slice.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
segment_remove(int dir, uint64_t base)
{
	char name[SEGMENT_NAME + 1];

	name_of(base, name);
	return unlinkat(dir, name, 0) == 0;
}

bool
segment_size(int fd, uint64_t *size)
{
	struct stat s;

	if (fstat(fd, &s) != 0)
		return false;
	*size = (uint64_t)s.st_size;
	return true;
}

bool
segment_in_use(int fd, uint64_t *size)
{
	struct stat s;

	if (fstat(fd, &s) != 0)
		return false;
	*size = (uint64_t)s.st_size;
	return s.st_nlink > 0 && (s.st_mode & S_IWUSR) && !(s.st_mode & S_IXUSR);
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
