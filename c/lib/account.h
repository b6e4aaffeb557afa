/* The file "accounts" of a data folder (docs/protocol.md): who may log in. Read each time, so that
 * changes count at once. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include "names.h"
#include "scram.h"

#include <stdbool.h>

struct account {
	char name[NICK_MAX + 1]; /* as the file spells it */
	bool there;              /* neither removed nor damaged */
	bool has_password;       /* the verifier is one that a password may prove */
	struct verifier verifier;
};

/* Finds an account; false when there is none, it was removed, or its line can't be read. */
bool account_find(int data, struct slice name, struct account *a);

/* Parts NAME or NAME@DEVICE, and checks both; the device in lower case, "" when none is named. */
bool account_login(struct slice login, struct slice *name, char *device, size_t room);

/* Whether a password can be checked: without SASLprep's tables only those that they leave as they
 * are. */
bool account_checkable(struct slice password);

/* A verifier for a name that nobody has, always the same for it: who asks learns nothing. secret is
 * the server's. */
void account_decoy(struct slice secret, struct slice name, struct verifier *v);

#endif
