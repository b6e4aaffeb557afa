/* Reads the file "accounts" of a data directory (docs/protocol.md). It is read at each call, so
 * changes take effect at once. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include "names.h"
#include "scram.h"

#include <stdbool.h>

struct account {
	char name[NICK_MAX + 1]; /* in the spelling of the file */
	bool usable;             /* neither removed nor damaged */
	bool has_password;       /* verifier is valid and not "-" */
	struct verifier verifier;
};

/* Finds an account. Returns false if there is none, it was removed, or its line is damaged. */
bool account_find(int data, struct slice name, struct account *a);

/* Splits NAME or NAME@DEVICE and checks both. device gets at most device_size bytes: the folded
 * name, "" if there is none. */
bool account_login(struct slice login, struct slice *name, char *device, size_t device_size);

/* Reports whether a password can be checked. Without the tables of SASLprep, only printable ASCII
 * is accepted, which SASLprep does not change. */
bool account_checkable(struct slice password);

/* Makes the verifier of an unknown name. It is always the same for a name, so that repeated
 * requests reveal nothing. secret is the server's. */
void account_decoy(struct slice secret, struct slice name, struct verifier *v);

#endif
