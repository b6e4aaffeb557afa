/* Removes the folder of a room that could not be created, as on a full disk. */
#include "log.h"

#include "segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The files of a room without messages. */
static const char *const files[] = { "lock", "committed", "id", "id.tmp", "00000000000000000000.log" };

enum { FILES = sizeof files / sizeof *files };

/* Reports whether a file with this name may be in the folder of a room without messages. */
static bool
is_file(const char *name)
{
	for (int i = 0; i < FILES; i++)
		if (strcmp(name, files[i]) == 0)
			return true;
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool
has_other_files(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *file;
	bool found = list == NULL;

	while (!found && (file = readdir(list)) != NULL)
		found = !is_file(file->d_name);
	if (list != NULL)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	return found;
}

/* Reports whether a message was ever acknowledged, as far as the file "committed" says. */
static bool
has_committed(int dir)
{
	uint64_t ends[2] = { 0, 0 };
	int fd = openat(dir, "committed", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : pread(fd, ends, sizeof ends, 0);

	if (fd >= 0)
		close(fd);
	return n < 0 || ends[0] != 0 || ends[1] != 0 || (fd < 0 && errno != ENOENT);
}

static bool
has_bytes(int dir)
{
	uint64_t size = 0;
	int fd = segment_open(dir, 0, O_RDONLY);
	bool fine = fd < 0 ? errno == ENOENT : segment_size(fd, &size);

	if (fd >= 0)
		close(fd);
	return !fine || size > 0;
}

void
log_remove_unused(int data, const char *path)
{
	int error = errno, dir = openat(data, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir >= 0 && !has_other_files(dir) && !has_committed(dir) && !has_bytes(dir)) {
		for (int i = 0; i < FILES; i++)
			(void)!unlinkat(dir, files[i], 0);
		(void)!unlinkat(data, path, AT_REMOVEDIR);
	}
	if (dir >= 0)
		close(dir);
	errno = error;
}
