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
func work(b *bench) {
	const messages = 200
	c := b.first()
	began := time.Now()
	c.exchange(messages * b.Params.Size)
	contract.During(fmt.Sprintf("%d messages of %d us of work each", messages, workUS), func() {
		b.tookAtLeast(began, messages*workUS*time.Microsecond, c.sent)
	})
	b.awaitAll(c)
}

// tookAtLeast checks that the server needed at least a time for all messages. A sink sends no
// echoes, so for a sink it first waits until total bytes are on the standard output.
func (b *bench) tookAtLeast(began time.Time, least time.Duration, total int) {
	if !b.echoes() {
		b.AwaitOutput(total, b.Timeout)
	}
	took := time.Since(began)
	contract.Expect(took >= least, "expected %v at least, saw it done after %v", least, took.Round(time.Millisecond))
}

// waiting checks that a slow connection does not delay others. The server waits 100 ms for each of
// its 20 messages, and for the one message of each other connection. The check compares the order
// of completion, not the speed. It uses three others, one after the other, since the server may
// serve the first before it has read from the slow one at all.
func waiting(b *bench) {
	const messages, others = 20, 3
	const least = messages * waitMS * time.Millisecond
	slow := b.first()
	clients := []*client{slow}
	began := time.Now()
	slow.send(messages * b.Params.Size)
	for i, number := range b.numbers()[1 : 1+others] {
		quick := b.dial(number)[0]
		contract.During("beside a connection on which the server waits", func() { quick.exchange(b.Params.Size) })
		b.notServed(slow, i+1, began, least)
		clients = append(clients, quick)
	}
	slow.exchange() // all its messages are sent
	contract.During(fmt.Sprintf("%d messages of %d ms of waiting each", messages, waitMS), func() {
		b.tookAtLeast(began, least, (messages+others)*b.Params.Size)
	})
	b.awaitAll(clients...)
}

// notServed checks that the slow connection is not served yet, which started to send at began and
// must not be served before least has passed. Quick is how many quick connections were served.
func (b *bench) notServed(slow *client, quick int, began time.Time, least time.Duration) {
	served := b.servedSlow(slow, quick*b.Params.Size)
	switch took := time.Since(began); {
	case served && took < least:
		contract.Failf("expected the messages of a connection to be served after %v of waiting, saw one served after %v", least, took.Round(time.Millisecond))
	case served:
		contract.Failf("a connection with %v of waiting delayed one with %d ms of waiting: expected the latter to be served first", least, waitMS)
	}
}

// servedSlow reports whether output of the slow connection has appeared. For a sink it first waits
// for quickBytes bytes of output, which are those of the quick connections.
func (b *bench) servedSlow(slow *client, quickBytes int) bool {
	if b.echoes() {
		contract.Must(slow.SetReadDeadline(time.Now().Add(4 * contract.PollInterval)))
		n, _ := slow.Read(make([]byte, 1))
		b.Extend(slow)
		return n > 0
	}
	b.AwaitOutput(quickBytes, b.Timeout)
	// The high half of a byte is the number of its connection.
	return slices.ContainsFunc(b.ReadOutput(), func(x byte) bool { return int(x>>4) == slow.number })
}

// slowReader checks a client that does not read its echoes: the server stops reading from it
// (backpressure), other connections are not delayed, and it receives everything in order once it
// reads.
func slowReader(b *bench) {
	slow := b.first()
	b.fillBuffers(slow)
	other := b.dial(b.numbers()[1])[0]
	contract.During("with a connection that does not read", func() { other.exchange(writeSizes(other.number)...) })
	contract.Must(slow.SetDeadline(time.Now().Add(2 * b.Timeout)))
	// One more write, of one byte more than a usual read of a server.
	contract.During("after a time without reading", func() { slow.exchange(4097) })
}

// fillBuffers sends until the server accepts nothing for 300 ms. This must happen when all socket
// buffers on the path are full.
func (b *bench) fillBuffers(c *client) {
	const piece, stuck = 64 << 10, 300 * time.Millisecond
	limit := 4*socketBuffers() + 8<<20
	contract.Must(c.SetWriteBuffer(piece))
	for c.sent < limit {
		contract.Must(c.SetWriteDeadline(time.Now().Add(stuck)))
		before := c.sent
		if err := contract.Try(func() { c.send(piece) }); err != nil && c.sent == before {
			if errors.Is(err, contract.ErrTimeout) {
				b.Extend(c)
				return
			}
			contract.Must(err)
		}
	}
	contract.Failf("expected the server to stop reading from a client that reads no echoes, saw it take %d MiB", limit>>20)
}

// socketBuffers returns the maximum that the kernel buffers for one socket in both directions, in
// bytes.
func socketBuffers() (total int) {
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
