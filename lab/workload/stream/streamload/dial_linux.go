package streamload

import (
	"context"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"weir/lab/internal/raw"
)

// dialWorkers is the number of concurrent connection attempts.
const dialWorkers = 64

// dialAll opens n connections to target and returns their non-blocking descriptors and the address
// that answered. The descriptors are not in the runtime's poller and belong to the caller. A name
// is resolved only once.
func dialAll(ctx context.Context, target string, n int) (fds []int32, addr string, err error) {
	first, addr, err := dialOne(ctx, target)
	if err != nil {
		return nil, "", raw.DialError(target, err)
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
		return nil, "", raw.DialError(target, context.Cause(ctx))
	}
	return fds, addr, nil
}

// dialOne connects and duplicates the socket's descriptor, outside the runtime's poller, which must
// not be woken by its input.
func dialOne(ctx context.Context, target string) (int32, string, error) {
	c, err := raw.NewDialer().DialContext(ctx, "tcp", target)
	if err != nil {
		return -1, "", err
	}
	defer c.Close()
	control, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return -1, "", err
	}
	fd, dupErr := -1, error(nil)
	if err := control.Control(func(own uintptr) { fd, dupErr = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, "", err
	}
	return int32(fd), c.RemoteAddr().String(), dupErr
}

func closeAll(fds []int32) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(int(fd)) //nolint:errcheck // no data to lose
		}
	}
}
