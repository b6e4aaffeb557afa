package stack

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"weir/lab/contract"
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
	{Name: "echo", Shares: true, Run: echoes},
	{Name: "discard", Shares: true, Run: discards},
	{Name: "source", Shares: true, Run: source},
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
func answersPings(b *contract.Bench) {
	kind := ping4
	if b.Subject.HasIPv6() {
		kind = ping6
	}
	b.OnPeer(func() {
		c, err := net.ListenPacket(kind.network, kind.any)
		contract.Must(err)
		defer c.Close()
		contract.Must(c.SetDeadline(time.Now().Add(b.Timeout)))
		for n, size := range []int{0, 56, 1452, 1472, 3000} {
			contract.During(fmt.Sprintf("an echo request with %d bytes", size), func() {
				kind.ping(c, b.Params.Host, uint16(n), size)
			})
		}
	})
}

// ping sends one echo request and waits for its reply. The kernel makes the checksum for IPv6,
// which covers the addresses.
func (k pingKind) ping(c net.PacketConn, host string, number uint16, size int) {
	const id = 0x7765
	message := make([]byte, 8+size)
	message[0] = k.request
	binary.BigEndian.PutUint16(message[4:], id)
	binary.BigEndian.PutUint16(message[6:], number)
	for i := range size {
		message[8+i] = byte(i)
	}
	binary.BigEndian.PutUint16(message[2:], wire.Sum{}.Add(message).Checksum())
	_, err := c.WriteTo(message, &net.IPAddr{IP: net.ParseIP(host)})
	contract.Must(err)
	for answer := make([]byte, 65536); ; {
		n, from, err := c.ReadFrom(answer)
		contract.Expect(err == nil, "expected a reply: %w", err)
		if n < 8 || answer[0] != k.reply || from.String() != host || !bytes.Equal(answer[4:8], message[4:8]) {
			continue
		}
		contract.Expect(bytes.Equal(answer[8:n], message[8:]), "expected its %d bytes echoed, saw %d different ones", size, n-8)
		return
	}
}

// echoes checks that all bytes that a client sends are echoed in order, single bytes at once. After
// the client's FIN comes the stack's.
func echoes(b *contract.Bench) {
	c := b.DialPort(echoPort)
	var one [1]byte
	for n := range byte(10) {
		_, err := c.Write([]byte{n})
		contract.Must(err)
		_, err = io.ReadFull(c, one[:])
		contract.Expect(err == nil && one[0] == n, "expected the byte %d back, saw %d, %v", n, one[0], err)
	}
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(i * 7 >> 3)
	}
	var got []byte
	contract.InParallel(2, func(i int) {
		var err error
		if i == 0 {
			got, err = io.ReadAll(c)
		} else if _, err = c.Write(sent); err == nil {
			err = c.CloseWrite()
		}
		contract.Must(err)
	})
	contract.Expect(bytes.Equal(got, sent), "expected %d bytes back as they were sent, saw %d", len(sent), len(got))
}

// discard sends size bytes and a FIN, and expects the stack's FIN.
func discard(b *contract.Bench, size int) {
	c := b.DialPort(discardPort)
	_, err := c.Write(make([]byte, size))
	contract.Must(errors.Join(err, c.CloseWrite()))
	got, err := io.ReadAll(c)
	contract.Expect(err == nil && len(got) == 0, "expected only the end of the connection after %d bytes, saw %d bytes, %v", size, len(got), err)
	c.Close()
}

func discards(b *contract.Bench) {
	for _, size := range []int{0, 4096, 4 << 20} {
		discard(b, size)
	}
}

// hundredClients checks a hundred concurrent clients, as in the experiment.
func hundredClients(b *contract.Bench) {
	contract.InParallel(100, func(int) { discard(b, 4096) })
}

// source checks that the service sends until the client closes the connection.
func source(b *contract.Bench) {
	c := b.DialPort(sourcePort)
	n, err := io.CopyN(io.Discard, c, 8<<20)
	contract.Expect(err == nil, "expected endless bytes, saw %d: %w", n, err)
	c.Close()
}

// reportsGC checks that a stack in Go answers SIGUSR1 with a line of JSON on standard output. Other
// stacks do not receive the signal.
func reportsGC(b *contract.Bench) {
	if b.Subject.Language != "Go" {
		return
	}
	contract.Must(syscall.Kill(b.Process.PID(), syscall.SIGUSR1))
	for begin := time.Now(); time.Since(begin) < b.Timeout; time.Sleep(contract.PollInterval) {
		for line := range strings.Lines(string(b.ReadOutput())) {
			var report map[string]any
			if !strings.HasSuffix(line, "}\n") || json.Unmarshal([]byte(line), &report) != nil {
				continue
			}
			contract.Expect(report["heap_bytes"] != nil && report["pauses_ns"] != nil, "expected heap_bytes and pauses_ns in the report after SIGUSR1, saw %s", line)
			return
		}
	}
	contract.Failf("expected a line of JSON on standard output after SIGUSR1, saw none")
}

// endsWhileBusy checks SIGTERM while connections are open, one of which receives and one sends. The
// stack exits with status 0 and leaves no process.
func endsWhileBusy(b *contract.Bench) {
	b.DialPort(echoPort)
	b.DialPort(discardPort)
	_, err := io.CopyN(io.Discard, b.DialPort(sourcePort), 1<<20)
	contract.Must(err)
	b.Terminate(nil)
}
