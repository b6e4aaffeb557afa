package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// Dial connects to the server with a deadline of the bench's timeout. The end of the round closes
// the connection. It may be called from any goroutine.
func (b *Bench) Dial() (*net.TCPConn, error) {
	d := net.Dialer{Timeout: b.Timeout}
	c, err := d.DialContext(b.Context, "tcp", b.Addr())
	if err != nil {
		return nil, fmt.Errorf("expected to be accepted at %s: %w", b.Addr(), err)
	}
	if err := c.SetDeadline(time.Now().Add(b.Timeout)); err != nil {
		c.Close()
		return nil, err
	}
	context.AfterFunc(b.Context, func() { c.Close() })
	return c.(*net.TCPConn), nil
}

// AwaitArrival waits until the kernel on the server's side has received everything that was sent
// on a connection.
func (b *Bench) AwaitArrival(c *net.TCPConn) error {
	deadline := time.Now().Add(b.Timeout)
	for {
		n, err := unacknowledged(c)
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("expected all bytes to be acknowledged, saw %d that are not", n)
		}
		time.Sleep(PollInterval)
	}
}

// The errors of DescribeError.
var (
	ErrReset   = errors.New("the server reset the connection")
	ErrEnded   = errors.New("the server closed the connection")
	ErrTimeout = errors.New("nothing more within the time allowed")
)

// DescribeError replaces common network errors by plain descriptions.
func DescribeError(err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ENOTCONN):
		return ErrReset
	case errors.As(err, &timeout) && timeout.Timeout():
		return ErrTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrEnded
	}
	return err
}

// InParallel runs f for 0 to n-1 concurrently, waits for all, and returns the first error by
// number.
func InParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
