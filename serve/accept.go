package serve

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// acceptPause is how long accepting pauses for want of descriptors, unless one becomes free
// earlier.
const acceptPause = 100 * time.Millisecond

// acceptsPerTurn is how many connections, or errors of one connection, are accepted in a row before
// other work has its turn.
const acceptsPerTurn = 64

// acceptAction is the reaction to an error of accept(2).
type acceptAction int

const (
	acceptAgain  acceptAction = iota // the error belongs to one connection: try again
	acceptLater                      // descriptors or memory ran out: wait, then try again
	acceptFailed                     // the listener is unusable: end Run
)

// connectionErrors are the errors of accept(2) that belong to one connection: Linux returns the
// pending error of the new socket.
var connectionErrors = append(systemAcceptErrors, syscall.ECONNABORTED, syscall.EPROTO, syscall.EPERM, syscall.ENETDOWN, syscall.ENOPROTOOPT,
	syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.EOPNOTSUPP, syscall.ENETUNREACH, syscall.EINTR)

// classifyAcceptError returns how to react to an error of accept(2).
func classifyAcceptError(err error) acceptAction {
	if exhausted(err) {
		return acceptLater
	}
	if slices.ContainsFunc(connectionErrors, func(one syscall.Errno) bool { return errors.Is(err, one) }) {
		return acceptAgain
	}
	return acceptFailed
}

// exhausted reports whether a system call failed for want of descriptors or memory.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}
