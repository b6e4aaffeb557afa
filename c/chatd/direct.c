#include "direct.h"

#include "marks.h"
#include "reader.h"
#include "segment.h"
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PASTS_MAX = 512, NEWCOMER_LINES = 50, PAIR_MAX = 2 * NICK_MAX + 1 };

/* A conversation of which the client may have missed messages. */
struct past {
	char pair[PAIR_MAX + 1]; /* both account names, folded, with a comma between */
	char id[STORED_ID + 1];
	uint64_t end;            /* end of its log, or where the client's SEND will follow from */
	bool followed;
	unsigned room;           /* number in the table, if it is followed */
};

static struct past pasts[PASTS_MAX]; /* uses memory only as far as it is written */
static unsigned past_count;

static void
pair_of(const struct client *c, struct slice other, char pair[PAIR_MAX + 1])
{
	char mine[NICK_MAX + 1], theirs[NICK_MAX + 1];

	(void)name_fold(slice_of(c->me->account), mine, sizeof mine);
	if (!name_fold(other, theirs, sizeof theirs))
		theirs[0] = '\0';
	if (strcmp(mine, theirs) < 0)
		snprintf(pair, PAIR_MAX + 1, "%s,%s", mine, theirs);
	else
		snprintf(pair, PAIR_MAX + 1, "%s,%s", theirs, mine);
}

/* Makes all sessions of both accounts follow their conversation. The caller holds names. */
static void
seat(struct client *c, unsigned room, const char *other, uint64_t start)
{
	struct room *r = &c->t->rooms[room];

	for (unsigned i = 0; i < table_sessions(); i++) {
		const struct session *s = &c->t->sessions[i];
		bool theirs = name_same(slice_of(s->account), slice_of(other)) || name_same(slice_of(s->account), slice_of(c->me->account));

		if (!s->registered || s->left || s->account[0] == '\0' || !theirs || room_has(r, i))
			continue;
		room_add(c->t, room, i);
		session_mail(c->t, i, &(struct mail_item){ .type = MAIL_FOLLOW, .room = (uint16_t)room, .end = start }, slice_of(r->path));
	}
}

struct joined *
conversation(struct client *c, const char *other)
{
	char name[PAIR_MAX + 1];
	struct joined *j;
	int i;

	pair_of(c, slice_of(other), name);
	names_take(c->t);
	j = joined_find(c, slice_of(name));
	if (j == NULL && (i = room_open(c, slice_of(name), true)) >= 0) {
		j = joined_open(c, (unsigned)i);
		if (j == NULL && room_empty(&c->t->rooms[i]))
			c->t->rooms[i].used = false;
	}
	if (j != NULL)
		seat(c, j->room, other, atomic_load(&j->log.ends->committed));
	names_release(c->t);
	return j;
}

/* Gets the end of a log and its id. Returns false if the log must be recovered first. */
static bool
read_end(int data, const char *path, struct past *p)
{
	uint64_t base, size;
	struct reader r;
	int segment, id;
	bool fine;

	if (!reader_open(&r, data, path, 0))
		return false;
	p->end = reader_committed(&r);
	segment = segment_find(r.dir, UINT64_MAX, SEGMENT_AT_OR_BEFORE, &base) ? segment_open(r.dir, base, O_RDONLY) : -1;
	id = openat(r.dir, "id", O_RDONLY | O_CLOEXEC);
	fine = segment >= 0 && segment_size(segment, &size) && base + size == p->end;
	fine = id >= 0 && read(id, p->id, STORED_ID) == STORED_ID && fine;
	p->id[STORED_ID] = '\0';
	if (segment >= 0)
		close(segment);
	if (id >= 0)
		close(id);
	reader_close(&r);
	return fine;
}

/* The same for an existing conversation, which is recovered if necessary. The caller holds
 * names. */
static bool
look_at(struct client *c, struct past *p)
{
	char path[PATH_MAX_ROOM], folder[FOLDER_MAX + 1];
	int i = room_find(c->t, slice_of(p->pair));

	p->followed = i >= 0;
	if (!name_folder(slice_of(p->pair), folder, sizeof folder))
		return false;
	snprintf(path, sizeof path, "direct/%s", folder);
	if (p->followed) { /* a session has it open: its end is committed or will be */
		(void)read_end(c->data, path, p);
		p->room = (unsigned)i;
		return true;
	}
	if (read_end(c->data, path, p))
		return true;
	i = room_open(c, slice_of(p->pair), true);
	if (i < 0)
		return false;
	c->t->rooms[i].used = false; /* the conversation has no member */
	return read_end(c->data, path, p);
}

bool
conversation_find(struct client *c, struct slice other, char path[PATH_MAX_ROOM], uint64_t *end)
{
	char folder[FOLDER_MAX + 1];
	struct past p;
	struct stat s;
	bool there;

	if (c->me->account[0] == '\0' || !name_is_nick(other))
		return false;
	pair_of(c, other, p.pair);
	if (!name_folder(slice_of(p.pair), folder, sizeof folder))
		return false;
	snprintf(path, PATH_MAX_ROOM, "direct/%s", folder);
	if (fstatat(c->data, path, &s, 0) != 0)
		return false;
	names_take(c->t);
	there = look_at(c, &p);
	names_release(c->t);
	*end = p.end;
	return there;
}

/* The inverse of name_folder. */
static void
unfold(const char *folder, char pair[PAIR_MAX + 1])
{
	size_t n = 0;
	unsigned byte;

	for (; *folder != '\0' && n < PAIR_MAX; folder++) {
		if (*folder == '%' && sscanf(folder + 1, "%2X", &byte) == 1) {
			pair[n++] = (char)byte;
			folder += 2;
		} else {
			pair[n++] = *folder;
		}
	}
	pair[n] = '\0';
}

/* Gets the account of a pair that is not the client's. Returns false if neither is the client's. */
static bool
other_of(const struct client *c, const char *pair, struct slice *other)
{
	struct slice rest = slice_of(pair), first = slice_cut(&rest, ','), me = slice_of(c->me->account);

	*other = name_same(first, me) ? rest : first;
	return name_same(first, me) || name_same(rest, me);
}

/* Follows a conversation that a session has open. Returns whether the client may have missed
 * messages of it. The caller holds names. */
static bool
enter(struct client *c, struct past *p)
{
	uint64_t mark = 0;

	if (!look_at(c, p))
		return false;
	if (p->followed && !room_has(&c->t->rooms[p->room], c->number))
		room_add(c->t, p->room, c->number);
	(void)mark_read(c->data, slice_of(c->me->account), slice_of(c->me->device), p->id, &mark);
	return p->followed || mark < p->end;
}

void
conversations_enter(struct client *c)
{
	int fd = openat(c->data, "direct", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folders = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	struct slice other;

	past_count = 0;
	while (folders != NULL && past_count < PASTS_MAX && (d = readdir(folders)) != NULL) {
		struct past *p = &pasts[past_count];

		unfold(d->d_name, p->pair);
		if (other_of(c, p->pair, &other) && other.length > 0 && enter(c, p))
			past_count++;
	}
	if (folders != NULL)
		closedir(folders);
}

static void
replay(struct client *c, const struct past *p)
{
	uint64_t mark = mark_of(c, p->id);
	char path[PATH_MAX_ROOM], folder[FOLDER_MAX + 1];
	struct slice other;

	(void)name_folder(slice_of(p->pair), folder, sizeof folder); /* it is a valid name */
	(void)other_of(c, p->pair, &other);
	snprintf(path, sizeof path, "direct/%s", folder);
	if (!(c->caps & CAP_CHATHISTORY) && mark < p->end)
		replay_lines(c, path, other, mark, p->end, mark > 0 || c->o->replay < NEWCOMER_LINES ? c->o->replay : NEWCOMER_LINES);
	if (p->followed)
		mail_self(c, &(struct mail_item){ .type = MAIL_FOLLOW, .room = (uint16_t)p->room, .end = p->end }, slice_of(path));
}

void
conversations_replay(struct client *c)
{
	struct box *box = &c->t->boxes[c->number];
	bool passed = false;

	atomic_store(&box->unread, false);
	for (unsigned i = 0; i < past_count; i++) {
		replay(c, &pasts[i]);
		passed = passed || !pasts[i].followed;
	}
	/* a client with chathistory keeps its own read markers */
	if (!passed || (c->caps & CAP_CHATHISTORY))
		return;
	wait_for_send(c);
	if (atomic_load(&box->unread)) /* which one is not known: the others are only replayed again */
		return;
	for (unsigned i = 0; i < past_count && !atomic_load(&c->me->closing); i++)
		if (!pasts[i].followed)
			mark_later(c, pasts[i].id, pasts[i].end);
}
