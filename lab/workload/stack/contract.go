package stack

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"weir/lab/contract"
	"weir/lab/internal/network"
	"weir/wire"
)

// Contract is the contract of TCP/IP stacks: that of their services. Each stack gets a device and
// an address in a network namespace of its own. Its output is not judged: it is the line that says
// that it is ready, and its garbage collector's report.
var Contract = contract.Kind{
	Workloads: []string{"stack"},
	OwnFlags:  []string{"--addr {net}"},
	Port:      echoPort,
	Checks:    checks,
}

var checks = []contract.Check{
	{Name: "ping", Shares: true, Run: answersPings},
	{Name: "echo", Shares: true, Run: stackEchoes},
	{Name: "discard", Shares: true, Run: stackDiscards},
	{Name: "source", Shares: true, Run: stackSends},
	{Name: "100 clients", Shares: true, Run: hundredClients},
	{Name: "SIGUSR1", Shares: true, Run: reportsGC},
	{Name: "SIGTERM while busy", Full: true, Run: endsWhileBusy},
	contract.BadFlags,
}

// The ports of a stack's services.
const (
	echoPort    = 7
	discardPort = 9
	sourcePort  = 19
)

// dialService connects to a service of the stack from the kernel on the other side.
func dialService(b *contract.Bench, port int) (c *net.TCPConn, err error) {
	err = network.In(b.Network.Peer, func() error {
		made, err := net.DialTimeout("tcp", net.JoinHostPort(b.Params.Host, strconv.Itoa(port)), b.Timeout)
		if err == nil {
			c = made.(*net.TCPConn)
			err = c.SetDeadline(time.Now().Add(b.Timeout))
		}
		return err
	})
	return c, err
}

// pingKind is how pings are sent over a version of IP.
type pingKind struct {
	network, any   string
	request, reply byte // types of ICMP messages
}

var (
	ping4 = pingKind{"ip4:icmp", "0.0.0.0", 8, 0}       // RFC 792
	ping6 = pingKind{"ip6:ipv6-icmp", "::", 0x80, 0x81} // RFC 4443, sections 4.1 and 4.2
)

// answersPings checks that the stack itself answers echo requests with their data (RFC 1122,
// section 3.2.2.6; RFC 4443, section 4.2).
func answersPings(b *contract.Bench) error {
	kind := ping4
	if b.Subject.HasIPv6() {
		kind = ping6
	}
	return network.In(b.Network.Peer, func() error {
		c, err := net.ListenPacket(kind.network, kind.any)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(b.Timeout)); err != nil {
			return err
		}
		for n, size := range []int{0, 56, 1452, 1472, 3000} {
			if err := kind.ping(c, b.Params.Host, uint16(n), size); err != nil {
				return fmt.Errorf("an echo request with %d bytes: %w", size, err)
			}
		}
		return nil
	})
}

// ping sends one echo request and waits for its reply. The kernel makes the checksum for IPv6,
// which covers the addresses.
func (k pingKind) ping(c net.PacketConn, host string, number uint16, size int) error {
	const id = 0x7765
	message := make([]byte, 8+size)
	message[0] = k.request
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
			return fmt.Errorf("expected a reply: %w", err)
		case n < 8 || answer[0] != k.reply || from.String() != host || !bytes.Equal(answer[4:8], message[4:8]):
		case !bytes.Equal(answer[8:n], message[8:]):
			return fmt.Errorf("expected its %d bytes echoed, saw %d different ones", size, n-8)
		default:
			return nil
		}
	}
}

// stackEchoes checks that all bytes that a client sends are echoed in order, single bytes at once.
// After the client's FIN comes the stack's.
func stackEchoes(b *contract.Bench) error {
	c, err := dialService(b, echoPort)
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
	failed := make(chan error, 1) // one result, from the goroutine below
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

// discard sends size bytes and a FIN, and expects the stack's FIN.
func discard(b *contract.Bench, size int) error {
	c, err := dialService(b, discardPort)
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
		return fmt.Errorf("expected only the end of the connection after %d bytes, saw %d bytes, %v", size, len(got), err)
	}
	return nil
}

func stackDiscards(b *contract.Bench) error {
	for _, size := range []int{0, 4096, 4 << 20} {
		if err := discard(b, size); err != nil {
			return err
		}
	}
	return nil
}

// hundredClients checks a hundred concurrent clients, as in the experiment.
func hundredClients(b *contract.Bench) error {
	return contract.InParallel(100, func(int) error { return discard(b, 4096) })
}

// stackSends checks that the service sends until the client closes the connection.
func stackSends(b *contract.Bench) error {
	c, err := dialService(b, sourcePort)
	if err != nil {
		return err
	}
	defer c.Close()
	if n, err := io.CopyN(io.Discard, c, 8<<20); err != nil {
		return fmt.Errorf("expected endless bytes, saw %d: %w", n, err)
	}
	return nil
}

// reportsGC checks that a stack in Go answers SIGUSR1 with a line of JSON on standard output. Other
// stacks do not receive the signal.
func reportsGC(b *contract.Bench) error {
	if b.Subject.Language != "Go" {
		return nil
	}
	if err := syscall.Kill(b.Process.PID(), syscall.SIGUSR1); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < b.Timeout; time.Sleep(contract.ExitNotice / 20) {
		output, err := b.ReadOutput()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(output)) {
			var report map[string]any
			if strings.HasSuffix(line, "}\n") && json.Unmarshal([]byte(line), &report) == nil {
				if report["heap_bytes"] == nil || report["pauses_ns"] == nil {
					return fmt.Errorf("expected heap_bytes and pauses_ns in the report after SIGUSR1, saw %s", line)
				}
				return nil
			}
		}
	}
	return errors.New("expected a line of JSON on standard output after SIGUSR1, saw none")
}

// endsWhileBusy checks SIGTERM while connections are open, one of which receives and one sends. The
// stack exits with status 0 and leaves no process.
func endsWhileBusy(b *contract.Bench) error {
	for _, port := range []int{echoPort, discardPort, sourcePort} {
		c, err := dialService(b, port)
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
	if err := b.Stop(); err != nil {
		return err
	}
	if exit := b.Process.Exit(); !exit.Success() {
		return fmt.Errorf("after SIGTERM: expected exit status 0, saw %s", exit)
	}
	return nil
}
