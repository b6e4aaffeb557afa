package dhcp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"weir/tcpip"
	"weir/tcpip/link"
)

// testServer is a DHCP server on a stack at 10.0.0.1/24. It gives one address.
type testServer struct {
	stack *tcpip.Stack
	conn  *tcpip.UDPConn

	mu     sync.Mutex
	silent bool                 // it does not answer
	refuse bool                 // it answers requests by DHCPNAK
	addr   net.IP               // that it gives
	lease  time.Duration        // for how long
	extra  []dhcpv4.Modifier    // further options
	got    []dhcpv4.MessageType // messages, in order
	from   []string             // their sources and destinations
}

// network returns a stack without an address, and a server on the other end of its link.
func network(t *testing.T) (*tcpip.Stack, *testServer) {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{})
	newStack := func(c tcpip.Config) *tcpip.Stack {
		s, err := tcpip.New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := &testServer{stack: newStack(tcpip.Config{Link: lb, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}}), addr: net.IPv4(10, 0, 0, 9), lease: time.Hour}
	var err error
	if s.conn, err = s.stack.ListenPacketOn("link", "udp4", ":67"); err != nil {
		t.Fatal(err)
	}
	go s.run() // until the stack is closed
	return newStack(tcpip.Config{Link: la}), s
}

// run answers messages.
func (s *testServer) run() {
	b := make([]byte, 1500)
	for {
		n, from, to, err := s.conn.ReadMsg(b)
		if err != nil {
			return
		}
		if m, err := dhcpv4.FromBytes(b[:n]); err == nil {
			s.answer(m, from, to)
		}
	}
}

// answer answers a message as the server is set.
func (s *testServer) answer(m *dhcpv4.DHCPv4, from netip.AddrPort, to netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got, s.from = append(s.got, m.MessageType()), append(s.from, from.Addr().String()+" "+to.String())
	kind := dhcpv4.MessageTypeAck
	switch {
	case s.silent:
		return
	case m.MessageType() == dhcpv4.MessageTypeDiscover:
		kind = dhcpv4.MessageTypeOffer
	case m.MessageType() != dhcpv4.MessageTypeRequest:
		return
	case s.refuse:
		kind = dhcpv4.MessageTypeNak
	}
	server := net.IPv4(10, 0, 0, 1)
	all := append([]dhcpv4.Modifier{dhcpv4.WithMessageType(kind), dhcpv4.WithYourIP(s.addr), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(server)), dhcpv4.WithNetmask(net.CIDRMask(24, 32)),
		dhcpv4.WithLeaseTime(uint32(s.lease.Seconds())), dhcpv4.WithRouter(server), dhcpv4.WithDNS(net.IPv4(10, 0, 0, 53))}, s.extra...)
	d, err := dhcpv4.NewReplyFromRequest(m, all...)
	if err != nil {
		panic(err)
	}
	back := net.IPv4bcast
	if !m.IsBroadcast() {
		back = m.ClientIPAddr
	}
	s.conn.WriteTo(d.ToBytes(), &net.UDPAddr{IP: back, Port: 68}) //nolint:errcheck // the client asks again
}

// set changes the server.
func (s *testServer) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// messages returns and forgets the messages that the server got.
func (s *testServer) messages() []dhcpv4.MessageType {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// running runs a client until stop is called, or the test ends.
func running(t *testing.T, cfg Config) (c *Client, events chan Event, stop func()) {
	t.Helper()
	events = make(chan Event, 100) // the client -> the test; never closed
	cfg.OnEvent = func(e Event) { events <- e }
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1) // Run's result, one
	go func() { done <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return c, events, stop
}

// want waits for an event of a kind.
func want(t *testing.T, events chan Event, kind EventKind) Event {
	t.Helper()
	select {
	case e := <-events:
		if e.Kind != kind {
			t.Fatalf("got the event %q, want kind %d", e, kind)
		}
		return e
	case <-time.After(48 * time.Hour):
		t.Fatalf("got no event within two days, want kind %d", kind)
	}
	panic("unreachable")
}

// The stack gets an address, a route, a name server and an MTU, and loses them when the client
// stops, which releases the address.
func TestAnAddressIsLeasedAndReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := network(t)
		server.extra = []dhcpv4.Modifier{dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, []byte{5, 0x78})}
		c, events, stop := running(t, Config{Stack: s, HostName: "weir", Release: true})
		e := want(t, events, Obtained)
		own := netip.MustParsePrefix("10.0.0.9/24")
		if e.Lease.Addr != own || !slices.Contains(s.Addrs(), own) {
			t.Errorf("got the lease %v and addresses %v, want %v", &e.Lease, s.Addrs(), own)
		}
		if _, err := s.Ping(t.Context(), netip.MustParseAddr("10.0.0.1"), 8); err != nil {
			t.Errorf("pinging the router: %v", err)
		}
		routes := s.Routes()
		if !slices.ContainsFunc(routes, func(r tcpip.RouteInfo) bool { return r.To.Bits() == 0 && r.Via.String() == "10.0.0.1" }) {
			t.Errorf("got the routes %v, want one by 10.0.0.1", routes)
		}
		if got := s.NameServers(); len(got) != 1 || got[0].String() != "10.0.0.53:53" || s.Interfaces()[0].Caps.MTU != 1400 {
			t.Errorf("got the servers %v and MTU %d, want 10.0.0.53:53 and 1400", got, s.Interfaces()[0].Caps.MTU)
		}
		if got := c.Stats(); got.State != Bound || got.Sent != 2 {
			t.Errorf("got %+v, want BOUND after 2 messages", got)
		}
		stop()
		if e := want(t, events, Lost); e.Reason != Released {
			t.Errorf("got %v, want it released", e)
		}
		synctest.Wait()
		if got := server.messages(); got[len(got)-1] != dhcpv4.MessageTypeRelease || slices.Contains(s.Addrs(), own) || len(s.NameServers()) != 0 || s.Interfaces()[0].Caps.MTU != 1500 {
			t.Errorf("after the end: the server got %v, the stack has %v, servers %v, MTU %d", got, s.Addrs(), s.NameServers(), s.Interfaces()[0].Caps.MTU)
		}
		if from := server.from; from[0] != "0.0.0.0 255.255.255.255" || from[len(from)-1] != "10.0.0.9 10.0.0.1" {
			t.Errorf("messages came from and to %q, want the first from 0.0.0.0 to all, the last by unicast", from)
		}
	})
}

// A lease is renewed at T1 by unicast; connections go on. When the server is silent, others are
// asked, and the address is removed at the end of the lease.
func TestALeaseIsRenewedUntilTheServerIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := network(t)
		_, events, _ := running(t, Config{Stack: s})
		first := want(t, events, Obtained)
		for range 3 {
			before := time.Now()
			e := want(t, events, Renewed)
			if took := time.Since(before); took < 29*time.Minute || took > 31*time.Minute || !e.Lease.ExpiresAt.After(first.Lease.ExpiresAt) {
				t.Errorf("renewed after %v until %v, want 30 m and a later end", took, e.Lease.ExpiresAt)
			}
			first = e
		}
		server.set(func() { server.silent, server.from, server.got = true, nil, nil })
		e := want(t, events, Lost)
		if e.Reason != Expired || !time.Now().Equal(first.Lease.ExpiresAt) || len(s.Addrs()) != 2 {
			t.Errorf("got %v, and the addresses %v, want the loss at the end of the lease", e, s.Addrs())
		}
		server.set(func() {
			if !slices.Contains(server.from, "10.0.0.9 10.0.0.1") || !slices.Contains(server.from, "10.0.0.9 255.255.255.255") {
				t.Errorf("the silent server was asked from and to %q, want unicast and broadcast", server.from)
			}
			server.silent = false
		})
		want(t, events, Obtained)
	})
}

// An address that another host has is declined, and another one is used (RFC 2131, section 3.1, 5;
// RFC 5227).
func TestAnAddressInUseIsDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := network(t)
		if err := server.stack.AddAddr(netip.MustParsePrefix("10.0.0.9/24")); err != nil {
			t.Fatal(err)
		}
		_, events, _ := running(t, Config{Stack: s})
		want(t, events, Failed)
		synctest.Wait()
		if got := server.messages(); got[len(got)-1] != dhcpv4.MessageTypeDecline {
			t.Errorf("the server got %v, want a DHCPDECLINE at last", got)
		}
		server.set(func() { server.addr = net.IPv4(10, 0, 0, 10) })
		before := time.Now()
		if e := want(t, events, Obtained); e.Lease.Addr.String() != "10.0.0.10/24" || time.Since(before) < declineWait {
			t.Errorf("got %v after %v, want 10.0.0.10/24 after 10 s or more", &e.Lease, time.Since(before))
		}
	})
}

// A host that is restarted asks for its address again, and gets it, or begins anew after a DHCPNAK
// (RFC 2131, section 3.2).
func TestAnEarlierLeaseIsAskedForAgain(t *testing.T) {
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, server := network(t)
			last := &Lease{Addr: netip.MustParsePrefix("10.0.0.9/24"), ExpiresAt: time.Now().Add(time.Hour)}
			server.refuse = refused
			_, events, _ := running(t, Config{Stack: s, Last: last, NoProbe: true})
			time.Sleep(time.Second / 2)
			server.set(func() { server.refuse = false })
			e := want(t, events, Obtained)
			first, later := dhcpv4.MessageTypeRequest, dhcpv4.MessageTypeNone
			if refused {
				later = dhcpv4.MessageTypeDiscover
			}
			got := server.messages()
			if e.Lease.Addr != last.Addr || got[0] != first || refused && !slices.Contains(got, later) || !refused && len(got) != 1 {
				t.Errorf("refused %t: got %v after the messages %v", refused, &e.Lease, got)
			}
		})
	}
}

// A client that is refused its renewal loses the address at once, and gets another.
func TestARefusedRenewalRemovesTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := network(t)
		_, events, _ := running(t, Config{Stack: s, NoProbe: true})
		want(t, events, Obtained)
		server.set(func() { server.refuse, server.addr = true, net.IPv4(10, 0, 0, 20) })
		if e := want(t, events, Lost); e.Reason != Refused {
			t.Errorf("got %v, want a refusal", e)
		}
		server.set(func() { server.refuse = false })
		if e := want(t, events, Obtained); e.Lease.Addr.String() != "10.0.0.20/24" {
			t.Errorf("got %v, want 10.0.0.20/24", &e.Lease)
		}
	})
}

// A flood of answers is limited: what finds the queue full is dropped, and the lease is obtained.
func TestAFloodOfAnswersIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := network(t)
		c, events, _ := running(t, Config{Stack: s, NoProbe: true})
		for range 5000 {
			server.conn.WriteTo(make([]byte, 300), &net.UDPAddr{IP: net.IPv4bcast, Port: 68}) //nolint:errcheck // some suffice
		}
		want(t, events, Obtained)
		synctest.Wait()
		if got := c.Stats(); got.Malformed+got.Dropped == 0 || got.State != Bound {
			t.Errorf("got %+v, want BOUND with messages that are malformed or dropped", got)
		}
	})
}

// Stop while an address is probed for leaves none.
func TestStopDuringAProbeLeavesNoAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := network(t)
		c, _, stop := running(t, Config{Stack: s})
		time.Sleep(2 * time.Second)
		if got := c.Stats().State; got != Probing {
			t.Fatalf("got state %v, want PROBING", got)
		}
		stop()
		if all := s.Interfaces()[0].Addrs; len(all) != 0 {
			t.Errorf("the stack has %v, want no address", all)
		}
	})
}

func TestInvalidConfigsAreRejected(t *testing.T) {
	la, _ := link.Pair(link.PairConfig{Medium: link.IP})
	lb, _ := link.Pair(link.PairConfig{})
	s, err := tcpip.New(tcpip.Config{Interfaces: []tcpip.Interface{{Name: "ip", Link: la}, {Name: "eth", Link: lb}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []Config{{Link: "ip"}, {Link: "lo"}, {Link: "none"}, {}, {Link: "eth", ClientID: []byte{1}}, {Link: "eth", HostName: string(make([]byte, 256))}} {
		c.Stack = s
		if _, err := New(c); err == nil {
			t.Errorf("New accepted link %q with ClientID %x, want an error", c.Link, c.ClientID)
		}
	}
	if _, err := NewStateless(StatelessConfig{Stack: s, Link: "ip"}); err == nil {
		t.Error("NewStateless accepted a link without hardware addresses, want an error")
	}
}

// A client whose stack is closed ends, in each state of the client.
func TestRunEndsWithTheStack(t *testing.T) {
	for _, after := range []time.Duration{0, 2 * time.Second, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := network(t)
			c, err := New(Config{Stack: s, Release: true})
			if err != nil {
				t.Fatal(err)
			}
			s6, err := NewStateless(StatelessConfig{Stack: s})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 2) // each Run -> here: its result
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			for _, run := range []func(context.Context) error{c.Run, s6.Run} {
				go func() { ended <- run(ctx) }()
			}
			time.Sleep(after)
			before := time.Now()
			s.Close()
			for range 2 {
				if err := <-ended; !errors.Is(err, net.ErrClosed) || time.Since(before) > time.Second {
					t.Errorf("closed after %v: Run ended with %v after %v, want net.ErrClosed at once", after, err, time.Since(before))
				}
			}
		})
	}
}

// A client that stops leaves an address alone that the stack has without it.
func TestAnAddressOfTheStackIsNotRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := network(t)
		own := netip.MustParsePrefix("10.0.0.9/24")
		if err := s.AddAddr(own); err != nil {
			t.Fatal(err)
		}
		c, err := New(Config{Stack: s, NoProbe: true})
		if err != nil {
			t.Fatal(err)
		}
		c.machine.state, c.machine.lease = Probing, Lease{Addr: own}
		c.probe(c.machine.lease)
		c.stop()
		if !slices.Contains(s.Addrs(), own) {
			t.Errorf("the stack has %v, want %v kept: the client has not added it", s.Addrs(), own)
		}
	})
}
