/* Circular doubly linked lists whose links live in their elements. A list is a link of its own. */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
	struct link *previous;
	struct link *next;
};

/* The element of type that has link l as its member. */
#define list_element(l, type, member) ((type *)(void *)((char *)(l) - offsetof(type, member)))

static inline void
list_init(struct link *list)
{
	list->previous = list;
	list->next = list;
}

static inline bool
list_empty(const struct link *list)
{
	return list->next == list;
}

/* Inserts l after the element (or list head) after. */
static inline void
list_insert(struct link *after, struct link *l)
{
	l->previous = after;
	l->next = after->next;
	after->next->previous = l;
	after->next = l;
}

/* Removes l from its list. */
static inline void
list_remove(struct link *l)
{
	l->previous->next = l->next;
	l->next->previous = l->previous;
}

#endif
