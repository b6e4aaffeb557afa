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

// client is one connection to the server. Its methods belong to one goroutine, but receive may run
// concurrently with send.
type client struct {
	*net.TCPConn
	number int
	sent   int
	echoes bool
}

// dial connects with a deadline of the bench's timeout. The end of the check closes the connection.
func (b *bench) dial(number int) (*client, error) {
	d := net.Dialer{Timeout: b.timeout}
	c, err := d.DialContext(b.ctx, "tcp", b.addr())
	if err != nil {
		return nil, fmt.Errorf("connection %d: expected to be accepted at %s: %w", number, b.addr(), err)
	}
	if err := c.SetDeadline(time.Now().Add(b.timeout)); err != nil {
		c.Close()
		return nil, err
	}
	context.AfterFunc(b.ctx, func() { c.Close() })
	return &client{TCPConn: c.(*net.TCPConn), number: number, echoes: b.echoes()}, nil
}

// send writes the next bytes of the connection's pattern, in writes of the given sizes.
func (c *client) send(cuts ...int) error {
	for _, n := range cuts {
		m, err := c.Write(pattern(c.number, c.sent, n))
		c.sent += m
		if err != nil {
			return fmt.Errorf("connection %d: expected the server to take byte %d: %w", c.number, c.sent, describeError(err))
		}
	}
	return nil
}

// receive reads to the end of the stream.
func (c *client) receive() ([]byte, error) {
	got, err := io.ReadAll(c)
	if err != nil {
		return got, fmt.Errorf("connection %d: expected the end of the stream, saw after %d bytes: %w", c.number, len(got), describeError(err))
	}
	return got, nil
}

// exchange sends writes of the given sizes, half-closes, and checks that everything is echoed
// (echo) or nothing is sent (sink), followed by the end of the stream. Without sizes it sends
// nothing more, and checks what was sent before.
func (c *client) exchange(cuts ...int) error {
	type reply struct {
		got []byte
		err error
	}
	back := make(chan reply, 1) // one result, from the reading goroutine
	go func() {
		got, err := c.receive()
		back <- reply{got, err}
	}()
	err := c.send(cuts...)
	if err == nil {
		err = c.endOfSending()
	}
	if err != nil {
		c.Close() // ends the reader, whose error is then ignored
	}
	r := <-back
	if err == nil {
		err = r.err
	}
	if err != nil {
		return err
	}
	return c.checkReceived(r.got)
}

func (c *client) endOfSending() error {
	if err := c.CloseWrite(); err != nil {
		return fmt.Errorf("connection %d: expected it to be open after %d bytes: %w", c.number, c.sent, describeError(err))
	}
	return nil
}

// checkReceived checks what was received on the connection.
func (c *client) checkReceived(got []byte) error {
	if !c.echoes {
		if len(got) > 0 {
			return fmt.Errorf("connection %d: expected no bytes from a sink, saw %d", c.number, len(got))
		}
		return nil
	}
	if err := judge(c.number, got, c.sent, c.sent); err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	return nil
}

// expect reads n bytes of echo, starting at position from of what was sent.
func (c *client) expect(from, n int) error {
	got := make([]byte, n)
	m, err := io.ReadFull(c, got)
	if err != nil {
		return fmt.Errorf("echo: connection %d: expected %d bytes, saw %d: %w", c.number, n, m, describeError(err))
	}
	for i, x := range got {
		if x != at(c.number, from+i) {
			return fmt.Errorf("echo: connection %d: expected 0x%02x as byte %d, saw 0x%02x", c.number, at(c.number, from+i), from+i, x)
		}
	}
	return nil
}

var (
	errReset   = errors.New("the server reset the connection")
	errEnded   = errors.New("the server closed the connection")
	errTimeout = errors.New("nothing more within the time allowed")
)

// describeError replaces common network errors by plain descriptions.
func describeError(err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ENOTCONN):
		return errReset
	case errors.As(err, &timeout) && timeout.Timeout():
		return errTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errEnded
	}
	return err
}

// inParallel runs f for 0 to n-1 concurrently, waits for all, and returns the first error by
// number.
func inParallel(n int, f func(i int) error) error {
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

// numbers returns the connection numbers used for the subject.
func (b *bench) numbers() []int {
	if b.subject.Contract == "published" {
		return []int{3, 4, 5, 6, 7} // printable bytes
	}
	all := make([]int, 16)
	for i := range all {
		all[i] = i
	}
	return all
}
