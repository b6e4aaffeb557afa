package serve

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// acceptPause is how long accepting pauses for want of descriptors, unless it is known before that
// one is free.
const acceptPause = 100 * time.Millisecond

// acceptsPerTurn is how many connections, or errors of one connection, are accepted in a row before
// something else has its turn.
const acceptsPerTurn = 64

// verdict is what to do when accepting has failed.
type verdict int

const (
	acceptAgain  verdict = iota // one connection has failed, and another may be there
	acceptLater                 // for want of descriptors or memory: waiting helps
	acceptFailed                // the listener is of no use any more
)

// errorsOfOne are the errors of accept(2) that belong to one connection: Linux returns the pending
// error of the new socket.
var errorsOfOne = append(ofSystem, syscall.ECONNABORTED, syscall.EPROTO, syscall.EPERM, syscall.ENETDOWN, syscall.ENOPROTOOPT,
	syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.EOPNOTSUPP, syscall.ENETUNREACH, syscall.EINTR)

// judge is what to do when accepting has failed by err.
func judge(err error) verdict {
	if exhausted(err) {
		return acceptLater
	}
	if slices.ContainsFunc(errorsOfOne, func(one syscall.Errno) bool { return errors.Is(err, one) }) {
		return acceptAgain
	}
	return acceptFailed
}

// exhausted reports whether accepting failed for want of descriptors or memory.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}
