#include "marks.h"

#include "buffer.h"
#include "clock.h"
#include "log.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 65536, NAME_MAX_BYTES = FOLDER_MAX + 16, SEEN_TEXT = 20, DEVICES_MAX = 32 };

static char bytes[FILE_MAX], again[FILE_MAX]; /* use memory only as far as they are written */

static bool
file_of(struct slice account, char *to, size_t capacity)
{
	char folder[FOLDER_MAX + 1];

	return name_folder(account, folder, sizeof folder) && (size_t)snprintf(to, capacity, "marks/%s", folder) < capacity;
}

static struct slice
read_all(int data, const char *name)
{
	int fd = openat(data, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return (struct slice){ bytes, 0 };
	n = read(fd, bytes, sizeof bytes);
	close(fd);
	return (struct slice){ bytes, n > 0 ? (size_t)n : 0 };
}

/* Reports whether a was seen later than b: times of the same format, compared as text. */
static bool
later(struct slice a, struct slice b)
{
	size_t n = a.length < b.length ? a.length : b.length;

	return n > 0 && memcmp(a.at, b.at, n) > 0;
}

static struct slice
device_word(struct slice device)
{
	return device.length > 0 ? device : slice_of("-");
}

/* Reports whether a line of the file, "ROOM DEVICE OFFSET seen=TIME", is of the device and the
 * room. */
static bool
is_mark(struct slice line, struct slice device, const char *id, uint64_t *offset)
{
	struct slice room = slice_cut(&line, ' '), whose = slice_cut(&line, ' ');
	unsigned long long n;

	if (!slice_equal(room, slice_of(id)) || !slice_equal(whose, device_word(device)) || !slice_number(slice_cut(&line, ' '), INT64_MAX, &n))
		return false;
	*offset = n;
	return true;
}

bool
mark_read(int data, struct slice account, struct slice device, const char *id, uint64_t *offset)
{
	char name[NAME_MAX_BYTES];
	struct slice rest;

	if (!file_of(account, name, sizeof name))
		return false;
	rest = read_all(data, name);
	while (rest.length > 0)
		if (is_mark(slice_cut(&rest, '\n'), device, id, offset))
			return true;
	return false;
}

/* Counts the devices with markers, and gets the one that was not seen for longest. */
static unsigned
count_devices(struct slice all, struct slice *oldest)
{
	struct slice devices[DEVICES_MAX + 1], seen[DEVICES_MAX + 1];
	unsigned count = 0, first = 0;

	while (all.length > 0) {
		struct slice line = slice_cut(&all, '\n'), room = slice_cut(&line, ' '), device = slice_cut(&line, ' ');
		unsigned i = 0;

		(void)room;
		slice_cut(&line, ' ');
		while (i < count && !slice_equal(devices[i], device))
			i++;
		if (i == count && device.length > 0 && count <= DEVICES_MAX) {
			devices[count] = device;
			seen[count++] = line;
		} else if (i < count && later(line, seen[i])) {
			seen[i] = line;
		}
	}
	for (unsigned i = 1; i < count; i++)
		if (later(seen[first], seen[i]))
			first = i;
	*oldest = count > 0 ? devices[first] : (struct slice){ "", 0 };
	return count;
}

static bool
has_device(struct slice all, struct slice device)
{
	while (all.length > 0) {
		struct slice line = slice_cut(&all, '\n');

		slice_cut(&line, ' ');
		if (slice_equal(slice_cut(&line, ' '), device))
			return true;
	}
	return false;
}

static bool
is_of(struct slice line, struct slice device)
{
	slice_cut(&line, ' ');
	return device.length > 0 && slice_equal(slice_cut(&line, ' '), device);
}

/* Returns the newer marker for a line, NULL if there is none. */
static const struct mark *
newer(struct slice line, struct slice device, const struct mark *marks, unsigned count, uint64_t *before)
{
	for (unsigned i = 0; i < count; i++)
		if (is_mark(line, device, marks[i].id, before))
			return &marks[i];
	return NULL;
}

/* Returns the file's other lines, and then the markers, none lower than before. */
static struct buffer
with_marks(struct slice rest, struct slice device, const struct mark *marks, unsigned count)
{
	struct buffer b = BUFFER_IN(again);
	struct slice whose = device_word(device), forgotten = { "", 0 };
	uint64_t offsets[MY_FEEDS_MAX], before;
	char time[CLOCK_TEXT + 1];

	for (unsigned i = 0; i < count; i++)
		offsets[i] = marks[i].offset;
	if (!has_device(rest, whose) && count_devices(rest, &forgotten) < DEVICES_MAX)
		forgotten.length = 0;
	while (rest.length > 0) {
		struct slice line = slice_cut(&rest, '\n');
		const struct mark *m = newer(line, device, marks, count, &before);

		if (is_of(line, forgotten))
			continue;
		if (m != NULL && before > m->offset)
			offsets[m - marks] = before;
		if (m != NULL)
			continue;
		buffer_add(&b, line);
		buffer_text(&b, "\n");
	}
	clock_text(clock_now(), time);
	memcpy(time + SEEN_TEXT - 1, "Z", 2); /* to the second */
	for (unsigned i = 0; i < count; i++)
		if (offsets[i] > 0)
			buffer_format(&b, "%s %.*s %" PRIu64 " seen=%s\n", marks[i].id, (int)whose.length, whose.at, offsets[i], time);
	return b;
}

static bool
write_locked(int data, struct slice account, struct slice device, const struct mark *marks, unsigned count)
{
	char name[NAME_MAX_BYTES], new_name[] = "marks/.chatd.tmp";
	struct slice old;
	struct buffer b;
	bool fine;
	int fd;

	if (!file_of(account, name, sizeof name))
		return false;
	old = read_all(data, name);
	b = with_marks(old, device, marks, count);
	if (b.full)
		return false;
	fd = openat(data, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	fine = write(fd, b.at, b.length) == (ssize_t)b.length;
	/* The marker "*" is acknowledged, and must not be lost with a file that is not synced. */
	if (has_device(old, (struct slice){ "*", 1 }))
		fine = fine && fsync(fd) == 0;
	close(fd);
	return fine && renameat(data, new_name, data, name) == 0;
}

bool
marks_write(int data, struct slice account, struct slice device, const struct mark *marks, unsigned count)
{
	bool fine;
	int lock;

	if (count == 0)
		return true;
	if (mkdirat(data, "marks", 0700) != 0 && errno != EEXIST)
		return false;
	lock = openat(data, "marks/.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0)
		return false;
	fine = log_flock(lock) && write_locked(data, account, device, marks, count);
	close(lock);
	return fine;
}

unsigned
marks_collect(const struct table *t, unsigned number, struct mark *marks)
{
	unsigned count = 0;

	for (unsigned i = 0; i < ROOMS_MAX && count < MY_FEEDS_MAX; i++) {
		if (!room_has(&t->rooms[i], number))
			continue;
		marks[count].room = i;
		memcpy(marks[count].id, t->rooms[i].id, sizeof marks[count].id);
		marks[count++].offset = atomic_load((_Atomic uint64_t *)(uintptr_t)&t->boxes[number].acked[i]);
	}
	return count;
}
