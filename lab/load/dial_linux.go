package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dialWorkers = 64               // connections being made at once
	dialTimeout = 10 * time.Second // for one connection
	otherFiles  = 64               // descriptors beside the connections: standard streams, epoll, the runtime's
)

// raiseFileLimit makes sure that n connections can be open at once.
func raiseFileLimit(n int) error {
	need := uint64(n + 2*dialWorkers + otherFiles)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= need {
		return nil //nolint:nilerr // an unknown limit shows when it is met
	}
	if limit.Max >= need {
		limit.Cur = limit.Max
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	}
	return fmt.Errorf("load: %d connections need %d open files and this process may have %d: raise the hard limit (as root: ulimit -Hn %d) or ask for fewer",
		n, need, limit.Max, need)
}

func newDialer() *net.Dialer { return &net.Dialer{Timeout: dialTimeout, KeepAlive: -1} }

// dialAll opens n connections to target and returns their descriptors, which don't block, are watched by
// nobody and belong to the caller, and the address that answered: a name is resolved once.
func dialAll(ctx context.Context, target string, n int) (fds []int32, addr string, err error) {
	first, addr, err := dialOne(ctx, target)
	if err != nil {
		return nil, "", dialError(target, err)
	}
	fds = make([]int32, n)
	for i := range fds {
		fds[i] = -1
	}
	fds[0] = first
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int) // this goroutine -> workers; unbuffered; closed here
	var workers sync.WaitGroup
	for range min(dialWorkers, n-1) {
		workers.Go(func() {
			for i := range next {
				fd, _, err := dialOne(ctx, addr)
				if err != nil {
					cancel(err)
				}
				fds[i] = fd
			}
		})
	}
	for i := 1; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		closeAll(fds)
		return nil, "", dialError(target, context.Cause(ctx))
	}
	return fds, addr, nil
}

// dialOne connects and gives the socket a descriptor of ours, apart from the runtime's poller, which must
// not be woken by what arrives.
func dialOne(ctx context.Context, target string) (int32, string, error) {
	c, err := newDialer().DialContext(ctx, "tcp", target)
	if err != nil {
		return -1, "", err
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return -1, "", err
	}
	fd, dupErr := -1, error(nil)
	if err := raw.Control(func(own uintptr) { fd, dupErr = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, "", err
	}
	return int32(fd), c.RemoteAddr().String(), dupErr
}

func closeAll(fds []int32) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // nothing is lost
		}
	}
}

// dialError says in one sentence why target can't be reached and what to do.
func dialError(target string, err error) error {
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
		why = fmt.Sprintf("no answer within %v: check the address, the server's backlog and firewalls", dialTimeout)
	default:
		return fmt.Errorf("load: can't connect to %s: %w", target, err)
	}
	return fmt.Errorf("load: can't connect to %s: %s (%w)", target, why, err)
}
