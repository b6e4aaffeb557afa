package raw

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
	"weir/lab/load"

	"golang.org/x/sys/unix"
)

// DialTimeout bounds the time to open a connection.
const DialTimeout = 10 * time.Second

// descriptors besides the connections: standard streams, epoll, the runtime's, connections being
// opened
const otherFiles = 192

// RaiseFileLimit raises the limit on open files for n connections and the process's other
// descriptors.
func RaiseFileLimit(n int) error {
	need := uint64(n + otherFiles)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= need {
		return nil //nolint:nilerr // an unknown limit is reported when it is reached
	}
	if limit.Max >= need {
		limit.Cur = limit.Max
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	}
	return fmt.Errorf("load: %d connections need %d open files and this process may have %d: raise the hard limit (as root: ulimit -Hn %d) or ask for fewer",
		n, need, limit.Max, need)
}

// NewDialer returns a dialer for connections without keep-alive probes.
func NewDialer() *net.Dialer { return &net.Dialer{Timeout: DialTimeout, KeepAlive: -1} }

// DialError describes in one sentence why target cannot be reached and what to do.
func DialError(target string, err error) error {
	var name *net.DNSError
	var timeout net.Error
	why := ""
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("load: stopped while connecting to %s: %w", target, err)
	case errors.As(err, &name):
		why = fmt.Sprintf("the name %q does not resolve: check it, or give an address", name.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "nothing listens there: start the server or correct the address"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		why = "too many open files: raise the limit (ulimit -n) or ask for fewer connections"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		why = "no local port is free: ask for fewer connections, or wait a minute for old ones to go"
	case errors.As(err, &timeout) && timeout.Timeout():
		why = fmt.Sprintf("no answer within %v: check the address, the server's backlog and firewalls", DialTimeout)
	default:
		return fmt.Errorf(load.CannotConnect+"%s: %w", target, err)
	}
	return fmt.Errorf(load.CannotConnect+"%s: %s (%w)", target, why, err)
}
