package contract

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	workUS = 500 // work for each message in the check of work
	waitMS = 100 // waiting for each message in the check of waiting
)

// work: the server spends at least the time that it was told on each message.
func work(b *bench) (verify, error) {
	const messages = 200
	c, err := b.dial(b.numbers()[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	began := time.Now()
	if err := c.exchange(messages * b.params.Size); err != nil {
		return nil, err
	}
	if err := b.tookAtLeast(began, messages*workUS*time.Microsecond, c.sent); err != nil {
		return nil, fmt.Errorf("%d messages of %d us of work each: %w", messages, workUS, err)
	}
	return b.settle(exact([]*client{c}))
}

// tookAtLeast waits for the output of a sink, and sees that it did not come too early.
func (b *bench) tookAtLeast(began time.Time, least time.Duration, total int) error {
	if !b.echoes() {
		if err := b.written(total, b.patience); err != nil {
			return err
		}
	}
	if took := time.Since(began); took < least {
		return fmt.Errorf("expected %v at least, saw it done after %v", least, took.Round(time.Millisecond))
	}
	return nil
}

// waiting: a connection that waits for its twenty messages (two seconds) does not hold up others
// that wait for one. Which of them is first is a matter of order, not of speed. There are three
// others, one after the other, since the first may be served before the slow one has even been
// read.
func waiting(b *bench) (verify, error) {
	const messages, others = 20, 3
	const least = messages * waitMS * time.Millisecond
	numbers := b.numbers()
	slow, err := b.dial(numbers[0])
	if err != nil {
		return nil, err
	}
	defer slow.Close()
	amounts := []amount{{slow.number, messages * b.params.Size, messages * b.params.Size}}
	began := time.Now()
	if err := slow.send(messages * b.params.Size); err != nil {
		return nil, err
	}
	for _, number := range numbers[1 : 1+others] {
		if err := b.waitBeside(slow, number, began, least); err != nil {
			return nil, err
		}
		amounts = append(amounts, amount{number, b.params.Size, b.params.Size})
	}
	if err := slow.exchange(); err != nil {
		return nil, err
	}
	if err := b.tookAtLeast(began, least, (messages+others)*b.params.Size); err != nil {
		return nil, fmt.Errorf("%d messages of %d ms of waiting each: %w", messages, waitMS, err)
	}
	return b.settle(amounts)
}

// waitBeside sends one message on a connection of its own, which must be served before the slow
// one, which began to send earlier and must not be served before its time.
func (b *bench) waitBeside(slow *client, number int, began time.Time, least time.Duration) error {
	quick, err := b.dial(number)
	if err != nil {
		return err
	}
	defer quick.Close()
	if err := quick.exchange(b.params.Size); err != nil {
		return fmt.Errorf("beside a connection that waits: %w", err)
	}
	// the number is also how many of its kind have sent
	served, err := b.served(slow, number*b.params.Size)
	took := time.Since(began)
	switch {
	case err != nil:
		return err
	case served && took < least:
		return fmt.Errorf("expected a connection with much to wait for to be served after %v, saw it served after %v", least, took.Round(time.Millisecond))
	case served:
		return fmt.Errorf("a connection that waits for %v held up one that waits for %d ms: expected the latter to be served first", least, waitMS)
	}
	return nil
}

// served says whether anything of the slow connection has come out, once total bytes of output are
// there.
func (b *bench) served(slow *client, total int) (bool, error) {
	if b.echoes() {
		if err := slow.SetReadDeadline(time.Now().Add(4 * look)); err != nil {
			return false, err
		}
		n, _ := slow.Read(make([]byte, 1))
		return n > 0, slow.SetReadDeadline(time.Now().Add(b.patience))
	}
	if err := b.written(total, b.patience); err != nil {
		return false, err
	}
	output, err := b.output()
	return slices.ContainsFunc(output, func(x byte) bool { return int(x>>4) == slow.number }), err
}

// slowReader: a client that does not read its echoes stops being read from, holds up nobody else,
// and gets everything in order once it reads.
func slowReader(b *bench) (verify, error) {
	slow, err := b.dial(b.numbers()[0])
	if err != nil {
		return nil, err
	}
	defer slow.Close()
	if err := b.fill(slow); err != nil {
		return nil, err
	}
	other, err := b.dial(b.numbers()[1])
	if err != nil {
		return nil, err
	}
	defer other.Close()
	if err := other.exchange(cuts(other.number)...); err != nil {
		return nil, fmt.Errorf("beside a connection that does not read: %w", err)
	}
	if err := slow.SetDeadline(time.Now().Add(2 * b.patience)); err != nil {
		return nil, err
	}
	if err := slow.exchange(4097); err != nil {
		return nil, fmt.Errorf("after not reading for a while: %w", err)
	}
	return nothing, nil
}

// fill sends until the connection takes no more, which must happen when the socket buffers on the
// way are full.
func (b *bench) fill(c *client) error {
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
			if os.IsTimeout(err) || strings.Contains(err.Error(), "time allowed") {
				return c.SetDeadline(time.Now().Add(b.patience))
			}
			return err
		}
	}
	return fmt.Errorf("expected the server to stop reading from a client that reads no echoes, saw it take %d MiB", limit>>20)
}

// socketBuffers is the most that the kernel keeps for one socket in both directions, in bytes.
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
