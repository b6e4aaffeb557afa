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

// dial opens one connection per number.
func (b *bench) dial(numbers ...int) (clients []*client) {
	for _, n := range numbers {
		contract.During(fmt.Sprintf("connection %d", n), func() { clients = append(clients, &client{b.Dial(), n, 0, b.echoes()}) })
	}
	return clients
}

// first opens the first connection.
func (b *bench) first() *client { return b.dial(b.numbers()[0])[0] }

// send writes the next bytes of the connection's pattern, in writes of the given sizes.
func (c *client) send(cuts ...int) {
	for _, n := range cuts {
		m, err := c.Write(pattern(c.number, c.sent, n))
		c.sent += m
		contract.Expect(err == nil, "connection %d: expected the server to take byte %d: %w", c.number, c.sent, contract.DescribeError(err))
	}
}

// receive reads to the end of the stream.
func (c *client) receive() ([]byte, error) {
	got, err := io.ReadAll(c)
	if err != nil {
		err = fmt.Errorf("connection %d: expected the end of the stream, saw after %d bytes: %w", c.number, len(got), contract.DescribeError(err))
	}
	return got, err
}

// exchange sends writes of the given sizes, half-closes, and checks that everything is echoed
// (echo) or nothing is sent (sink), followed by the end of the stream. Without sizes it sends
// nothing more, and checks what was sent before.
func (c *client) exchange(cuts ...int) {
	var got []byte
	contract.InParallel(2, func(i int) {
		var err error
		if i == 1 {
			got, err = c.receive()
		} else if err = contract.Try(func() { c.sendLast(cuts...) }); err != nil {
			c.Close() // ends the reader, whose error is then ignored
		}
		contract.Must(err)
	})
	c.checkReceived(got)
}

// sendLast sends writes of the given sizes and half-closes.
func (c *client) sendLast(cuts ...int) {
	c.send(cuts...)
	err := c.CloseWrite()
	contract.Expect(err == nil, "connection %d: expected it to be open after %d bytes: %w", c.number, c.sent, contract.DescribeError(err))
}

// checkReceived checks what was received on the connection.
func (c *client) checkReceived(got []byte) {
	switch {
	case c.echoes:
		contract.During("echo", func() { contract.Must(judge(c.number, got, c.sent, c.sent)) })
	case len(got) > 0:
		contract.Failf("connection %d: expected no bytes from a sink, saw %d", c.number, len(got))
	}
}

// expect reads n bytes of echo, starting at position from of what was sent.
func (c *client) expect(from, n int) {
	got := make([]byte, n)
	m, err := io.ReadFull(c, got)
	contract.Expect(err == nil, "echo: connection %d: expected %d bytes, saw %d: %w", c.number, n, m, contract.DescribeError(err))
	for i, x := range got {
		contract.Expect(x == at(c.number, from+i), "echo: connection %d: expected 0x%02x as byte %d, saw 0x%02x", c.number, at(c.number, from+i), from+i, x)
	}
}

// awaitAll waits for the output of everything that the clients sent, and expects it.
func (b *bench) awaitAll(clients ...*client) { b.await(sentAmounts(clients)) }

// await waits for the output of what the connections sent, and expects it; an echo server must
// print nothing. Missing output is no error here: the judgement reports which bytes are missing.
func (b *bench) await(amounts []amount) {
	total := 0
	for _, a := range amounts {
		total += a.least
	}
	if !b.echoes() {
		_ = contract.Try(func() { b.AwaitOutput(total, contract.OutputGrace) })
		b.Output = expectAmounts(amounts)
	}
}
