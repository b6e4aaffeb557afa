// Package upgrade replaces a running server by another process, usually a newer version of the same
// program, without dropping connections. It starts the new process and passes file descriptors and
// state to it. The caller defines the meaning of both.
//
// The processes exchange these messages over a Unix socket, which is descriptor 3 of the new
// process:
//
//	new -> old   ready     configuration is valid; the version of the state that it understands
//	old -> new   handover  lock, listeners, state; then connections in batches, each acknowledged
//	new -> old   taken     everything is open, nothing has been read or written; or an error
//	old -> new   go        the old process exits
//
// Until it sends go, the old process can cancel: it has kept its own descriptors. To cancel, it
// kills the new process and waits for its exit, so that the two never serve a connection at the
// same time. For this reason the end of the socket also means go: an old process that dies without
// a go has not cancelled. After go, only a failure of the new process itself can interrupt the
// service.
//
// # Limitations
//
// Upgrades work on Linux only; other systems return an error. The new process is a child of the old
// one until the old one exits. Process 1 of a container therefore refuses to upgrade: the container
// ends with it. Connections are passed in batches that stay below the kernel's limit on descriptors
// in flight (unix(7)).
package upgrade
