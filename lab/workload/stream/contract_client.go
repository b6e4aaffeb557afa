package stream

import (
	"fmt"
	"io"
	"net"
	"weir/lab/contract"
)

// client is one connection to the server. Its methods belong to one goroutine, but receive may run
// concurrently with send.
type client struct {
	*net.TCPConn
	number int
	sent   int
	echoes bool
}

// dial connects. The end of the check closes the connection.
func (b *bench) dial(number int) (*client, error) {
	c, err := b.Dial()
	if err != nil {
		return nil, fmt.Errorf("connection %d: %w", number, err)
	}
	return &client{TCPConn: c, number: number, echoes: b.echoes()}, nil
}

// send writes the next bytes of the connection's pattern, in writes of the given sizes.
func (c *client) send(cuts ...int) error {
	for _, n := range cuts {
		m, err := c.Write(pattern(c.number, c.sent, n))
		c.sent += m
		if err != nil {
			return fmt.Errorf("connection %d: expected the server to take byte %d: %w", c.number, c.sent, contract.DescribeError(err))
		}
	}
	return nil
}

// receive reads to the end of the stream.
func (c *client) receive() ([]byte, error) {
	got, err := io.ReadAll(c)
	if err != nil {
		return got, fmt.Errorf("connection %d: expected the end of the stream, saw after %d bytes: %w", c.number, len(got), contract.DescribeError(err))
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
		return fmt.Errorf("connection %d: expected it to be open after %d bytes: %w", c.number, c.sent, contract.DescribeError(err))
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
		return fmt.Errorf("echo: connection %d: expected %d bytes, saw %d: %w", c.number, n, m, contract.DescribeError(err))
	}
	for i, x := range got {
		if x != at(c.number, from+i) {
			return fmt.Errorf("echo: connection %d: expected 0x%02x as byte %d, saw 0x%02x", c.number, at(c.number, from+i), from+i, x)
		}
	}
	return nil
}

// numbers returns the connection numbers used for the subject.
func (b *bench) numbers() []int {
	if b.Subject.Contract == "published" {
		return []int{3, 4, 5, 6, 7} // printable bytes
	}
	all := make([]int, 16)
	for i := range all {
		all[i] = i
	}
	return all
}

// awaitAmounts waits for the output of what the connections sent, and returns the function that
// judges it. An echo server must print nothing. Missing output is no error here: the judgement
// reports which bytes are missing.
func (b *bench) awaitAmounts(amounts []amount) (verify, error) {
	if b.echoes() {
		return noOutput, nil
	}
	total := 0
	for _, a := range amounts {
		total += a.least
	}
	_ = b.AwaitOutput(total, contract.OutputGrace)
	return expectAmounts(amounts), nil
}
