package contract

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"weir/lab/internal/network"
	"weir/lab/subject"
	"weir/wire"
)

// stackChecks are the contract of a TCP/IP stack under test: of the services that stand on it.
var stackChecks = []check{
	{name: "ping", shares: true, run: stacked(answersPings)},
	{name: "echo", shares: true, run: stacked(stackEchoes)},
	{name: "discard", shares: true, run: stacked(stackDiscards)},
	{name: "source", shares: true, run: stacked(stackSends)},
	{name: "100 clients", shares: true, run: stacked(hundredClients)},
	{name: "SIGUSR1", shares: true, run: stacked(tellsOfItsCollector)},
	{name: "SIGTERM while busy", full: true, run: stacked(endsWhileBusy)},
	{name: "bad flags", full: true, own: true, alone: badStackFlags},
}

// stacked makes a check of one that minds no output: a stack says that it is ready, and what its
// collector has done.
func stacked(run func(*bench) error) func(*bench) (verify, error) {
	return func(b *bench) (verify, error) { return func([]byte) error { return nil }, run(b) }
}

// The services of a stack.
const (
	echoPort    = 7
	discardPort = 9
	sourcePort  = 19
)

// wires counts networks: each has a name of its own.
var wires atomic.Int64

// wired makes a network for the stack.
func wired(s *subject.Subject) (*network.Network, error) {
	kind := network.Tap
	if s.Network == "veth" {
		kind = network.Cable
	}
	return kind(fmt.Sprintf("wc%d-%d", os.Getpid(), wires.Add(1)))
}

// nowhere says why there is no place for a subject to listen at host.
func nowhere(s *subject.Subject, host string) string {
	if s.IsStack() {
		n, err := wired(s)
		if err != nil {
			return fmt.Sprintf("this machine can make no network for it, which takes Linux, root and /dev/net/tun: %v", err)
		}
		if err := n.Close(); err != nil {
			return err.Error()
		}
		return ""
	}
	if _, err := subject.FreePort(host); err != nil {
		return fmt.Sprintf("this machine has no %s: %v", host, err)
	}
	return deafTo(s, host)
}

// seat finds a place for the server: a port, or a network for a stack, which undo takes away again.
func (b *bench) seat() (undo func() error, err error) {
	if !b.subject.IsStack() {
		b.params.Port, err = subject.FreePort(b.params.Host)
		return func() error { return nil }, err
	}
	if b.network, err = wired(b.subject); err != nil {
		return nil, err
	}
	b.params.Host, b.params.Port, b.params.Tap, b.params.Net = b.network.Host(), echoPort, b.network.Tap, b.network.Addr.String()
	return b.network.Close, nil
}

// reach connects to a service of the stack, by the kernel on the other side.
func (b *bench) reach(port int) (c *net.TCPConn, err error) {
	err = network.In(b.network.Peer, func() error {
		made, err := net.DialTimeout("tcp4", net.JoinHostPort(b.params.Host, strconv.Itoa(port)), b.patience)
		if err == nil {
			c = made.(*net.TCPConn)
			err = c.SetDeadline(time.Now().Add(b.patience))
		}
		return err
	})
	return c, err
}

// answersPings: the stack answers echo requests by themselves, with what is in them.
func answersPings(b *bench) error {
	return network.In(b.network.Peer, func() error {
		c, err := net.ListenPacket("ip4:icmp", "0.0.0.0")
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(b.patience)); err != nil {
			return err
		}
		for n, size := range []int{0, 56, 1472, 3000} {
			if err := pings(c, b.params.Host, uint16(n), size); err != nil {
				return fmt.Errorf("an echo request with %d bytes: %w", size, err)
			}
		}
		return nil
	})
}

// pings sends one request and waits for its answer.
func pings(c net.PacketConn, host string, number uint16, size int) error {
	const request, id = 8, 0x7765
	message := make([]byte, 8+size)
	message[0] = request
	binary.BigEndian.PutUint16(message[4:], id)
	binary.BigEndian.PutUint16(message[6:], number)
	for i := range size {
		message[8+i] = byte(i)
	}
	binary.BigEndian.PutUint16(message[2:], wire.Sum{}.Add(message).Checksum())
	if _, err := c.WriteTo(message, &net.IPAddr{IP: net.ParseIP(host)}); err != nil {
		return err
	}
	for answer := make([]byte, 65536); ; {
		n, from, err := c.ReadFrom(answer)
		switch {
		case err != nil:
			return fmt.Errorf("expected an answer: %w", err)
		case n < 8 || answer[0] != 0 || from.String() != host || !bytes.Equal(answer[4:8], message[4:8]):
		case !bytes.Equal(answer[8:n], message[8:]):
			return fmt.Errorf("expected its %d bytes back, saw %d other ones", size, n-8)
		default:
			return nil
		}
	}
}

// stackEchoes: what a client sends comes back, all of it and in order, a byte at once; after its
// end comes the stack's.
func stackEchoes(b *bench) error {
	c, err := b.reach(echoPort)
	if err != nil {
		return err
	}
	defer c.Close()
	var one [1]byte
	for n := range byte(10) {
		if _, err := c.Write([]byte{n}); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, one[:]); err != nil || one[0] != n {
			return fmt.Errorf("expected the byte %d back, saw %d, %v", n, one[0], err)
		}
	}
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(i * 7 >> 3)
	}
	failed := make(chan error, 1) // one answer, from the goroutine below
	go func() {
		_, err := c.Write(sent)
		failed <- errors.Join(err, c.CloseWrite())
	}()
	got, err := io.ReadAll(c)
	if err := errors.Join(err, <-failed); err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("expected %d bytes back as they were sent, saw %d", len(sent), len(got))
	}
	return nil
}

// discards sends so much, and sees the stack's end after its own.
func (b *bench) discards(size int) error {
	c, err := b.reach(discardPort)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(make([]byte, size)); err != nil {
		return err
	}
	if err := c.CloseWrite(); err != nil {
		return err
	}
	if got, err := io.ReadAll(c); err != nil || len(got) > 0 {
		return fmt.Errorf("expected nothing but the end of the connection after %d bytes, saw %d bytes, %v", size, len(got), err)
	}
	return nil
}

func stackDiscards(b *bench) error {
	for _, size := range []int{0, 4096, 4 << 20} {
		if err := b.discards(size); err != nil {
			return err
		}
	}
	return nil
}

// hundredClients come at once, as the experiment's do.
func hundredClients(b *bench) error {
	return together(100, func(int) error { return b.discards(4096) })
}

// stackSends: bytes come until the client has enough of them.
func stackSends(b *bench) error {
	c, err := b.reach(sourcePort)
	if err != nil {
		return err
	}
	defer c.Close()
	if n, err := io.CopyN(io.Discard, c, 8<<20); err != nil {
		return fmt.Errorf("expected bytes without end, saw %d: %w", n, err)
	}
	return nil
}

// tellsOfItsCollector: who has a collector answers SIGUSR1 with a line of JSON on standard output;
// the others are not asked.
func tellsOfItsCollector(b *bench) error {
	if b.subject.Language != "Go" {
		return nil
	}
	if err := syscall.Kill(b.process.PID(), syscall.SIGUSR1); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < b.patience; time.Sleep(aMoment / 20) {
		output, err := b.output()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(output)) {
			var told map[string]any
			if strings.HasSuffix(line, "}\n") && json.Unmarshal([]byte(line), &told) == nil {
				if told["heap_bytes"] == nil || told["pauses_ns"] == nil {
					return fmt.Errorf("expected heap_bytes and pauses_ns in what SIGUSR1 has it print, saw %s", line)
				}
				return nil
			}
		}
	}
	return errors.New("expected a line of JSON on standard output after SIGUSR1, saw none")
}

// endsWhileBusy: SIGTERM comes while connections are open, one is sent to and one sends. The stack
// exits with status 0 and leaves nothing.
func endsWhileBusy(b *bench) error {
	for _, port := range []int{echoPort, discardPort, sourcePort} {
		c, err := b.reach(port)
		if err != nil {
			return err
		}
		defer c.Close()
		if port == sourcePort {
			if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
				return err
			}
		}
	}
	if err := b.stop(); err != nil {
		return err
	}
	if exit := b.process.Exit(); !exit.Success() {
		return fmt.Errorf("after SIGTERM: expected exit status 0, saw %s", exit)
	}
	return nil
}

// badStackFlags: what cannot be meant is refused at once, in one line, with status 2.
func badStackFlags(b *bench) error {
	p := b.params
	p.Net = "nowhere"
	if err := b.refuses(b.subject.Command(p), 2); err != nil {
		return fmt.Errorf("an address that is none: %w", err)
	}
	if err := b.refuses(append(slices.Clone(b.subject.Command(b.params)), "--no-such-flag"), 2); err != nil {
		return fmt.Errorf("an unknown flag: %w", err)
	}
	return nil
}
