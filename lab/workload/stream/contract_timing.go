package stream

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"weir/lab/contract"
)

const (
	workUS = 500 // microseconds of computing per message in the check of work
	waitMS = 100 // milliseconds of waiting per message in the check of waiting
)

// work checks that the server computes for at least the configured time on each message.
func work(b *bench) (verify, error) {
	const messages = 200
	c, err := b.dial(b.numbers()[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	began := time.Now()
	if err := c.exchange(messages * b.Params.Size); err != nil {
		return nil, err
	}
	if err := b.tookAtLeast(began, messages*workUS*time.Microsecond, c.sent); err != nil {
		return nil, fmt.Errorf("%d messages of %d us of work each: %w", messages, workUS, err)
	}
	return b.awaitAmounts(sentAmounts([]*client{c}))
}

// tookAtLeast checks that the server needed at least a time for all messages. A sink sends no
// echoes, so for a sink it first waits until total bytes are on the standard output.
func (b *bench) tookAtLeast(began time.Time, least time.Duration, total int) error {
	if !b.echoes() {
		if err := b.AwaitOutput(total, b.Timeout); err != nil {
			return err
		}
	}
	if took := time.Since(began); took < least {
		return fmt.Errorf("expected %v at least, saw it done after %v", least, took.Round(time.Millisecond))
	}
	return nil
}

// waiting checks that a slow connection does not delay others. The server waits 100 ms for each of
// its 20 messages, and for the one message of each other connection. The check compares the order
// of completion, not the speed. It uses three others, one after the other, since the server may
// serve the first before it has read from the slow one at all.
func waiting(b *bench) (verify, error) {
	const messages, others = 20, 3
	const least = messages * waitMS * time.Millisecond
	numbers := b.numbers()
	slow, err := b.dial(numbers[0])
	if err != nil {
		return nil, err
	}
	defer slow.Close()
	amounts := []amount{{number: slow.number, least: messages * b.Params.Size, most: messages * b.Params.Size}}
	began := time.Now()
	if err := slow.send(messages * b.Params.Size); err != nil {
		return nil, err
	}
	for i, number := range numbers[1 : 1+others] {
		if err := b.waitBeside(slow, number, i, began, least); err != nil {
			return nil, err
		}
		amounts = append(amounts, amount{number: number, least: b.Params.Size, most: b.Params.Size})
	}
	if err := slow.exchange(); err != nil { // all its messages are sent
		return nil, err
	}
	if err := b.tookAtLeast(began, least, (messages+others)*b.Params.Size); err != nil {
		return nil, fmt.Errorf("%d messages of %d ms of waiting each: %w", messages, waitMS, err)
	}
	return b.awaitAmounts(amounts)
}

// waitBeside sends one message on a quick connection. It must be served before the slow connection,
// which started to send at began and must not be served before least has passed. quickBefore is how
// many quick connections were served before.
func (b *bench) waitBeside(slow *client, number, quickBefore int, began time.Time, least time.Duration) error {
	quick, err := b.dial(number)
	if err != nil {
		return err
	}
	defer quick.Close()
	if err := quick.exchange(b.Params.Size); err != nil {
		return fmt.Errorf("beside a connection on which the server waits: %w", err)
	}
	served, err := b.servedSlow(slow, (quickBefore+1)*b.Params.Size)
	took := time.Since(began)
	switch {
	case err != nil:
		return err
	case served && took < least:
		return fmt.Errorf("expected the messages of a connection to be served after %v of waiting, saw one served after %v", least, took.Round(time.Millisecond))
	case served:
		return fmt.Errorf("a connection with %v of waiting delayed one with %d ms of waiting: expected the latter to be served first", least, waitMS)
	}
	return nil
}

// servedSlow reports whether output of the slow connection has appeared. For a sink it first waits
// for quickBytes bytes of output, which are those of the quick connections.
func (b *bench) servedSlow(slow *client, quickBytes int) (bool, error) {
	if b.echoes() {
		if err := slow.SetReadDeadline(time.Now().Add(4 * contract.PollInterval)); err != nil {
			return false, err
		}
		n, _ := slow.Read(make([]byte, 1))
		return n > 0, slow.SetReadDeadline(time.Now().Add(b.Timeout))
	}
	if err := b.AwaitOutput(quickBytes, b.Timeout); err != nil {
		return false, err
	}
	output, err := b.ReadOutput()
	// The high half of a byte is the number of its connection.
	return slices.ContainsFunc(output, func(x byte) bool { return int(x>>4) == slow.number }), err
}

// slowReader checks a client that does not read its echoes: the server stops reading from it
// (backpressure), other connections are not delayed, and it receives everything in order once it
// reads.
func slowReader(b *bench) (verify, error) {
	slow, err := b.dial(b.numbers()[0])
	if err != nil {
		return nil, err
	}
	defer slow.Close()
	if err := b.fillBuffers(slow); err != nil {
		return nil, err
	}
	other, err := b.dial(b.numbers()[1])
	if err != nil {
		return nil, err
	}
	defer other.Close()
	if err := other.exchange(writeSizes(other.number)...); err != nil {
		return nil, fmt.Errorf("with a connection that does not read: %w", err)
	}
	if err := slow.SetDeadline(time.Now().Add(2 * b.Timeout)); err != nil {
		return nil, err
	}
	// One more write, of one byte more than a usual read of a server.
	if err := slow.exchange(4097); err != nil {
		return nil, fmt.Errorf("after a time without reading: %w", err)
	}
	return noOutput, nil
}

// fillBuffers sends until the server accepts nothing for 300 ms. This must happen when all socket
// buffers on the path are full.
func (b *bench) fillBuffers(c *client) error {
	const piece, stuck = 64 << 10, 300 * time.Millisecond
	limit := 4*socketBuffers() + 8<<20
	if err := c.SetWriteBuffer(piece); err != nil {
		return err
	}
	for c.sent < limit {
		if err := c.SetWriteDeadline(time.Now().Add(stuck)); err != nil {
			return err
		}
		before := c.sent
		if err := c.send(piece); err != nil && c.sent == before {
			if errors.Is(err, contract.ErrTimeout) {
				return c.SetDeadline(time.Now().Add(b.Timeout))
			}
			return err
		}
	}
	return fmt.Errorf("expected the server to stop reading from a client that reads no echoes, saw it take %d MiB", limit>>20)
}

// socketBuffers returns the maximum that the kernel buffers for one socket in both directions, in
// bytes.
func socketBuffers() int {
	total := 0
	for _, file := range []string{"/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"} {
		text, _ := os.ReadFile(file)
		most := 8 << 20
		if f := strings.Fields(string(text)); len(f) == 3 {
			if n, err := strconv.Atoi(f[2]); err == nil {
				most = n
			}
		}
		total += most
	}
	return total
}
