// Package upgrade has a running program followed by another process, mostly a newer program on the
// same path, without a connection being dropped. It starts the new process and carries descriptors
// and state to it; what these mean is up to the caller.
//
// The two are joined by a Unix socket, the new one's descriptor 3, and say this to each other:
//
//	new -> old   ready     it runs, its configuration is good, and this is the version of the state that it knows
//	old -> new   handed    the lock, the listeners, the state, and all connections, some in a message, each message answered
//	new -> old   taken     all of it is open, and nothing of it was read from or written to; or why not
//	old -> new   go        the end of what the old process has to say: it ends
//
// Until it says go the old process can take everything back: it has kept its own descriptors. It
// kills the new process and waits for its end first, so that nothing is ever served by two. That is
// why the end of the socket means go as well: an old process that dies before it said so has not
// taken anything back. The point of no return is the word go, after which nothing can fail but the
// new process itself.
//
// # Limitations
//
// Linux; other systems refuse. The new process is a child of the old one until that ends: process 1
// of a container, whose end is the container's, refuses. So many connections are on their way at a
// time that the kernel's limit on descriptors in flight is not met.
package upgrade
