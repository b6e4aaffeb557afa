#include "client.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ANSWER_MAX = 1024 };

/* Writes to the mail, and waits while it is full; SEND reads it or has ended. */
static void
put_mail(struct client *c, const struct mail_item *item, struct slice text)
{
	for (;;) {
		uint64_t read = mail_read(c->mail);

		if (mail_write(c->mail, item, text, MAIL_BYTES) || atomic_load(&c->me->closing) || atomic_load(&c->t->stop))
			return;
		session_wake(c->me);
		mail_wait(c->mail, read);
	}
}

void
wait_for_send(struct client *c)
{
	uint64_t told = mail_written(c->mail);

	for (;;) {
		uint64_t read = mail_read(c->mail);

		if (read >= told || atomic_load(&c->me->closing) || atomic_load(&c->t->stop))
			return;
		session_wake(c->me);
		mail_wait(c->mail, read);
	}
}

/* Makes SEND send what the client wrote before the replies that follow. */
static void
put_marks(struct client *c)
{
	for (int i = 0; i < MY_ROOMS_MAX; i++) {
		struct joined *j = &c->joined[i];

		if (!j->used || !j->unmarked)
			continue;
		put_mail(c, &(struct mail_item){ .type = MAIL_MARK, .room = (uint16_t)j->room, .end = j->end }, (struct slice){ "", 0 });
		j->unmarked = false;
	}
}

void
answers_flush(struct client *c)
{
	if (c->answers.length == 0)
		return;
	put_marks(c);
	put_mail(c, &(struct mail_item){ .type = MAIL_TEXT, .room = MAIL_NO_ROOM }, buffer_slice(&c->answers));
	c->answers.length = 0;
	session_wake(c->me);
}

void
answers_now(struct client *c)
{
	struct mail_item item = { .type = MAIL_TEXT, .room = MAIL_NO_ROOM };

	if (mail_write(c->mail, &item, buffer_slice(&c->answers), MAIL_BYTES))
		c->answers.length = 0;
	session_wake(c->me);
}

void
mail_self(struct client *c, const struct mail_item *item, struct slice text)
{
	answers_flush(c);
	put_mail(c, item, text);
	session_wake(c->me);
}

/* Adds one line, cut to the length limit at a character boundary. */
static void
add_line(struct client *c, char *text, int length)
{
	size_t n = length < 0 ? 0 : (size_t)length < ANSWER_MAX - 3 ? (size_t)length : ANSWER_MAX - 3;

	if (n > LINE_REST_MAX - 2) {
		n = LINE_REST_MAX - 2;
		while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
			n--;
	}
	memcpy(text + n, "\r\n", 2);
	if (c->answers.capacity - c->answers.length < n + 2)
		answers_flush(c);
	buffer_add(&c->answers, (struct slice){ text, n + 2 });
}

void
answer(struct client *c, const char *format, ...)
{
	char text[ANSWER_MAX];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof text - 2, format, args);
	va_end(args);
	add_line(c, text, n);
}

void
numeric(struct client *c, int number, const char *format, ...)
{
	char text[ANSWER_MAX];
	int n = snprintf(text, sizeof text, ":%s %03d %s ", c->o->name, number, c->me->nick[0] != '\0' ? c->me->nick : "*");
	va_list args;

	va_start(args, format);
	n += vsnprintf(text + n, sizeof text - 2 - (size_t)n, format, args);
	va_end(args);
	add_line(c, text, n);
}

void
fail(struct client *c, const char *command, const char *code, const char *text)
{
	answer(c, ":%s FAIL %s %s :%s", c->o->name, command, code, text);
}

void
close_client(struct client *c, const char *reason)
{
	char text[ANSWER_MAX];
	int n;

	if (c->quitting)
		return;
	n = snprintf(text, sizeof text, "ERROR :Closing link: %s\r\n", reason);
	answers_flush(c);
	put_marks(c);
	put_mail(c, &(struct mail_item){ .type = MAIL_CLOSE, .room = MAIL_NO_ROOM },
	    (struct slice){ text, n > 0 && (size_t)n < sizeof text ? (size_t)n : 0 });
	session_wake(c->me);
	c->quitting = true;
}
