package tcpip

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"weir/tcpip/link"
)

// dnsServer is a DNS server.
type dnsServer struct {
	addresses    map[string][]string // by name without its last dot
	code         dnsmessage.RCode    // response code of all answers
	byUDP, byTCP atomic.Int64        // number of questions
}

// serve answers questions at an address of the stack, by UDP and TCP, until the test is over.
func (n *dnsServer) serve(t *testing.T, s *Stack, address string) *dnsServer {
	t.Helper()
	u, err := s.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, s, address)
	done := make(chan struct{}, 2) // one value when each of the two goroutines has ended
	go func() { n.datagrams(u); done <- struct{}{} }()
	go func() { n.streams(l); done <- struct{}{} }()
	t.Cleanup(func() { u.Close(); l.Close(); <-done; <-done })
	return n
}

func (n *dnsServer) datagrams(u net.PacketConn) {
	p := make([]byte, 4096)
	for {
		length, from, err := u.ReadFrom(p)
		if err != nil {
			return
		}
		n.byUDP.Add(1)
		u.WriteTo(n.answer(p[:length], 512), from) //nolint:errcheck // without an answer the lookup fails
	}
}

func (n *dnsServer) streams(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		n.byTCP.Add(1)
		var length [2]byte
		io.ReadFull(c, length[:]) //nolint:errcheck // without an answer the lookup fails
		p := make([]byte, binary.BigEndian.Uint16(length[:]))
		io.ReadFull(c, p) //nolint:errcheck // without an answer the lookup fails
		a := n.answer(p, 1<<16)
		c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)) //nolint:errcheck // without an answer the lookup fails
		c.Close()
	}
}

// answer returns the answer to a question. If it is longer than most bytes, it is truncated: the TC
// bit is set and the addresses are left out (RFC 2181, section 9).
func (n *dnsServer) answer(p []byte, most int) []byte {
	var m dnsmessage.Message
	if m.Unpack(p) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.RCode, m.Additionals = true, n.code, nil
	q := m.Questions[0]
	addrs, ok := n.addresses[strings.TrimSuffix(q.Name.String(), ".")]
	if !ok && n.code == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60}, Body: &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()}})
	}
	b, _ := m.Pack()
	if len(b) > most {
		m.Truncated, m.Answers = true, nil
		b, _ = m.Pack()
	}
	return b
}

// resolving returns two stacks. The first, 10.0.0.1, resolves names by DNS servers at the given
// addresses; the second is 10.0.0.2. Port 0 in an address is the default, 53.
func resolving(t *testing.T, servers ...string) (a, b *Stack) {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{})
	var at []netip.AddrPort
	for _, s := range servers {
		at = append(at, netip.MustParseAddrPort(s))
	}
	a, b = stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24"), Resolver: at}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
	return a, b
}

func stack(t testing.TB, c Config) *Stack {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func prefixes(all ...string) (ps []netip.Prefix) {
	for _, p := range all {
		ps = append(ps, netip.MustParsePrefix(p))
	}
	return ps
}

func TestNamesAreDialed(t *testing.T) {
	a, b := resolving(t, "10.0.0.2:0")
	many := make([]string, 100)
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}).String()
	}
	n := (&dnsServer{addresses: map[string][]string{"web.test": {"10.0.0.2"}, "two.test": {"127.0.0.1", "10.0.0.2"}, "many.test": many, "down.test": {"127.0.0.1"}}}).serve(t, b, ":53")
	listen(t, b, ":80")
	// two.test: the first of its two addresses refuses connections, so the second is dialed
	for _, name := range []string{"web.test:80", "two.test:http", "web.test.:80"} {
		if c := dial(t, a, "tcp", name); c.RemoteAddr().String() != "10.0.0.2:80" {
			t.Errorf("%s was dialed at %v, want 10.0.0.2:80", name, c.RemoteAddr())
		}
	}
	if c := dial(t, a, "udp", "web.test:53"); c.RemoteAddr().String() != "10.0.0.2:53" {
		t.Errorf("web.test:53 by UDP was dialed at %v, want 10.0.0.2:53", c.RemoteAddr())
	}
	if n.byTCP.Load() != 0 {
		t.Errorf("got %d questions by TCP, want 0: the answers fit in datagrams", n.byTCP.Load())
	}
	got, err := a.Resolver().LookupNetIP(t.Context(), "ip4", "many.test.")
	if err != nil || len(got) != len(many) || n.byTCP.Load() == 0 {
		t.Errorf("an answer larger than a datagram: got %d addresses, %d questions by TCP, error %v; want %d addresses by TCP (RFC 7766)", len(got), n.byTCP.Load(), err, len(many))
	}
	var missing *net.DNSError
	if _, err := a.Dial("tcp", "gone.test:80"); !errors.As(err, &missing) || !missing.IsNotFound {
		t.Errorf("dialing an unknown name: got error %v, want a net.DNSError with IsNotFound", err)
	}
	if _, err := a.Dial("tcp", "down.test:80"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("dialing a closed port: got error %v, want one that says refused", err)
	}
	if _, err := b.Dial("tcp", "web.test:80"); err == nil || !strings.Contains(err.Error(), "Config.Resolver") {
		t.Errorf("dialing a name without a resolver: got error %v, want one that names Config.Resolver", err)
	}
	if _, err := b.Resolver().LookupHost(t.Context(), "web.test."); err == nil {
		t.Error("a stack without DNS servers resolved a name, want an error")
	}
}

// A lookup asks the next DNS server if the port of the first is closed, or if the first answers
// SERVFAIL or REFUSED. After such an answer the next server is asked first from then on.
func TestAFailedDNSServerIsSkipped(t *testing.T) {
	a, b := resolving(t, "10.0.0.2:5301", "10.0.0.2:5302")
	good := (&dnsServer{addresses: map[string][]string{"web.test": {"10.0.0.2"}}}).serve(t, b, ":5302")
	if got, err := a.Resolver().LookupNetIP(t.Context(), "ip4", "web.test."); err != nil || len(got) != 1 {
		t.Fatalf("with the first server's port closed: got %v, error %v; want the second server's address", got, err)
	}
	for _, code := range []dnsmessage.RCode{dnsmessage.RCodeServerFailure, dnsmessage.RCodeRefused} {
		a, b = resolving(t, "10.0.0.2:5301", "10.0.0.2:5302")
		bad := (&dnsServer{code: code}).serve(t, b, ":5301")
		(&dnsServer{addresses: good.addresses}).serve(t, b, ":5302")
		for range 3 {
			if got, err := a.Resolver().LookupNetIP(t.Context(), "ip4", "web.test."); err != nil || len(got) != 1 {
				t.Fatalf("with a first server that answers %v: got %v, error %v; want the second server's address", code, got, err)
			}
		}
		if got := bad.byUDP.Load(); got != 1 {
			t.Errorf("the server that answers %v was asked %d times, want 1: later questions go to the second server first", code, got)
		}
	}
}

func TestInvalidResolversAreRejected(t *testing.T) {
	for _, r := range []string{"0.0.0.0:53", "[::]:53", "224.0.0.1:53"} {
		if _, err := New(Config{Resolver: []netip.AddrPort{netip.MustParseAddrPort(r)}}); err == nil || !strings.Contains(err.Error(), "Resolver") {
			t.Errorf("Resolver %s: got error %v, want one that names Resolver", r, err)
		}
	}
}
