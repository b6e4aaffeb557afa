package tcpip

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// errorAbout returns an ICMP error about a packet that the stack has sent, or claims to.
func errorAbout(code uint8, rest uint32, about []byte) []byte {
	return wire.AppendICMP(nil, wire.Unreachable, code, rest, about)
}

// sentBy returns the packet that a socket's Write makes.
func sentBy(t *testing.T, h *bareHost, c net.Conn, p []byte) wire.IPv4 {
	t.Helper()
	if _, err := c.Write(p); err != nil {
		t.Fatal(err)
	}
	v := h.next(time.Second)
	if v == nil {
		t.Fatal("the stack sent no packet, want the datagram")
	}
	return v
}

// An ICMP error about a datagram is returned once, by the next call of the connected socket, and
// only if it quotes a datagram of the socket (RFC 5927).
func TestICMPErrorsAboutDatagramsReachTheirSocket(t *testing.T) {
	changed := func(at int, value byte) func(wire.IPv4) {
		return func(v wire.IPv4) { v[at] = value }
	}
	for _, c := range []struct {
		name   string
		code   uint8
		rest   uint32
		change func(wire.IPv4) // port in the quoted datagram
		want   error           // nil: no error
	}{
		{"port unreachable", wire.PortUnreachable, 0, nil, syscall.ECONNREFUSED},
		{"host unreachable", wire.HostUnreachable, 0, nil, syscall.EHOSTUNREACH},
		{"network unreachable", wire.NetUnreachable, 0, nil, syscall.ENETUNREACH},
		{"an administrator", wire.CommProhibited, 0, nil, syscall.EACCES},
		{"from another port", wire.PortUnreachable, 0, changed(21, 1), nil},
		{"to another port", wire.PortUnreachable, 0, changed(23, 1), nil},
		{"to another host", wire.PortUnreachable, 0, changed(19, 8), nil},
		{"from another host", wire.PortUnreachable, 0, changed(15, 8), nil},
		{"too big, though it had no DF", wire.FragmentationNeeded, 600, nil, nil},
		{"too big, with a DF that only the quoted packet has", wire.FragmentationNeeded, 600, changed(6, 0x40), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := bare(t, Config{})
				conn := dial(t, s, "udp", "10.0.0.9:53")
				about := sentBy(t, h, conn, []byte("question"))
				if c.change != nil {
					c.change(about)
				}
				h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, errorAbout(c.code, c.rest, about))
				synctest.Wait()
				if got := h.drops()[DropICMP]; (got == 0) != (c.want != nil) {
					t.Errorf("got %d dropped ICMP errors, want any: %t, for an error that matches no socket", got, c.want == nil)
				}
				if _, err := conn.Write([]byte("again")); !errors.Is(err, c.want) {
					t.Errorf("Write: got %v, want %v", err, c.want)
				}
				if _, err := conn.Write([]byte("and again")); err != nil {
					t.Errorf("the second call: %v, want no error", err)
				}
			})
		})
	}
}

// Those that are not Destination Unreachable do so too (RFC 1122, sections 3.2.2.4 and 3.2.2.5).
func TestOtherICMPErrorsReachTheirSocket(t *testing.T) {
	for _, c := range []struct {
		kind wire.ICMPType
		code uint8
		want error
	}{
		{wire.TimeExceeded, wire.TransitExceeded, syscall.EHOSTUNREACH},
		{wire.TimeExceeded, wire.ReassemblyExceeded, syscall.EHOSTUNREACH},
		{wire.ParameterProblem, 0, syscall.EPROTO},
		{wire.ParameterProblem, 1, syscall.EPROTO},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, h := bare(t, Config{})
			conn := dial(t, s, "udp", "10.0.0.9:53")
			about := sentBy(t, h, conn, []byte("question"))
			h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, wire.AppendICMP(nil, c.kind, c.code, 0, about))
			synctest.Wait()
			if _, err := conn.Write([]byte("again")); !errors.Is(err, c.want) {
				t.Errorf("type %d, code %d: got %v, want %v", c.kind, c.code, err, c.want)
			}
		})
	}
}

// A socket with DF returns EMSGSIZE after a Packet Too Big. For ten minutes the known path MTU is
// used (RFC 1191).
func TestDatagramsWithDFAreNotFragmented(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		conn := dial(t, s, "udp", "10.0.0.9:53").(*UDPConn)
		conn.SetDontFragment(true)
		if _, err := conn.Write(make([]byte, 1473)); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("a datagram above the link's MTU: got %v, want EMSGSIZE", err)
		}
		about := sentBy(t, h, conn, make([]byte, 1472))
		if !about.DontFragment() {
			t.Error("a datagram was sent without DF, want it set")
		}
		h.send(wire.IPv4Fields{Protocol: wire.ICMPv4Protocol}, errorAbout(wire.FragmentationNeeded, 1280, about[:28]))
		synctest.Wait()
		if _, err := conn.Read(nil); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("after a Packet Too Big: got %v, want EMSGSIZE", err)
		}
		if _, err := conn.Write(make([]byte, 1253)); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("a datagram above the path MTU: got %v, want EMSGSIZE", err)
		}
		if v := sentBy(t, h, conn, make([]byte, 1252)); len(v) != 1280 {
			t.Errorf("a datagram that fits the path MTU: got a packet of %d bytes, want 1280", len(v))
		}
		time.Sleep(10 * time.Minute)
		if v := sentBy(t, h, conn, make([]byte, 1472)); len(v) != 1500 {
			t.Errorf("after ten minutes: got a packet of %d bytes, want the whole datagram", len(v))
		}
		conn.SetDontFragment(false)
		if v := sentBy(t, h, conn, make([]byte, 5000)); !v.MoreFragments() {
			t.Error("a datagram above the path MTU was not fragmented, want fragments without DF")
		}
	})
}

func TestInvalidDatagramsAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bare(t, Config{})
		conn := dial(t, s, "udp", "10.0.0.9:53").(*UDPConn)
		pc, err := s.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		to := func(address string) net.Addr { return net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address)) }
		for _, c := range []struct {
			name string
			err  func() error
			want error
		}{
			{"longer than a datagram can be", func() error { _, err := conn.Write(make([]byte, 65508)); return err }, syscall.EMSGSIZE},
			{"to another than it was dialed to", func() error { _, err := conn.WriteTo(nil, to("10.0.0.9:54")); return err }, net.ErrWriteToConnected},
			{"Write on an unconnected socket", func() error { _, err := pc.(*UDPConn).Write(nil); return err }, syscall.EDESTADDRREQ},
			{"to port 0", func() error { _, err := pc.WriteTo(nil, to("10.0.0.9:0")); return err }, syscall.EINVAL},
			{"to an address of IPv6", func() error { _, err := pc.WriteTo(nil, to("[fd00::1]:5")); return err }, syscall.ENETUNREACH},
			{"to another kind of address", func() error { _, err := pc.WriteTo(nil, &net.TCPAddr{}); return err }, syscall.EINVAL},
			{"by no route", func() error { _, err := pc.WriteTo(nil, to("192.0.2.1:5")); return err }, syscall.ENETUNREACH},
			{"dialing port 0", func() error { _, err := s.Dial("udp", "10.0.0.9:0"); return err }, syscall.EADDRNOTAVAIL},
			{"an address that is taken", func() error { _, err := s.ListenPacket("udp", ":53"); return err }, syscall.EADDRINUSE},
			{"an address of another host", func() error { _, err := s.ListenPacket("udp", "10.0.0.9:53"); return err }, syscall.EADDRNOTAVAIL},
		} {
			if err := c.err(); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		conn.Close()
		if _, err := conn.Write(nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing to a closed socket: got error %v, want net.ErrClosed", err)
		}
	})
}

// A connected socket precedes an unconnected one.
func TestWhichSocketReceivesADatagram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		var said []string
		receive := func(name string, c io.ReadCloser) {
			go func() {
				p := make([]byte, 100)
				for n, err := c.Read(p); err == nil; n, err = c.Read(p) {
					said = append(said, fmt.Sprintf("%s: %s", name, p[:n]))
				}
			}()
			h.send(wire.IPv4Fields{Protocol: wire.UDPProtocol}, datagramTo(53, "hello"))
			synctest.Wait()
		}
		pc, err := s.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		receive("unconnected", pc.(*UDPConn))
		from := netip.AddrPortFrom(bareAddr, wire.UDP(datagramTo(53, "")).SrcPort())
		c, err := (&Dialer{Stack: s, LocalAddr: netip.MustParseAddrPort("10.0.0.1:53")}).Dial("udp", from.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		receive("connected", c)
		if fmt.Sprint(said) != "[unconnected: hello connected: hello]" {
			t.Errorf("got %q, want the first datagram at the only socket, the second at the connected one", said)
		}
	})
}

// A server at all addresses learns the address of each request, answers from it, and sets the TTL
// and TOS of its datagrams.
func TestReadMsgReturnsTheDestinationForWriteMsg(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		server := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "10.0.0.2/24")})
		client := stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.9/24")})
		pc, err := server.ListenPacket("udp", ":53")
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		u, p := pc.(*UDPConn), make([]byte, 100)
		for _, at := range []string{"10.0.0.1", "10.0.0.2"} {
			c := dial(t, client, "udp", at+":53")
			if _, err := c.Write([]byte("where?")); err != nil {
				t.Fatal(err)
			}
			n, from, to, err := u.ReadMsg(p)
			if err != nil || string(p[:n]) != "where?" || from.String() != c.LocalAddr().String() || to.String() != at {
				t.Errorf("ReadMsg: got %q from %v to %v, error %v; want %q from %v to %s", p[:n], from, to, err, "where?", c.LocalAddr(), at)
			}
			if _, err := u.WriteMsg([]byte("here"), from, to); err != nil {
				t.Fatal(err)
			}
			// a connected socket receives datagrams of its peer only
			if n, err := c.Read(p); err != nil || string(p[:n]) != "here" {
				t.Errorf("the answer: got %q, error %v; want %q from the address that was asked", p[:n], err, "here")
			}
		}
		if _, err := u.WriteMsg(nil, netip.MustParseAddrPort("10.0.0.9:9"), bareAddr); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("WriteMsg from an address of another host: got %v, want EADDRNOTAVAIL", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		c := dial(t, s, "udp", "10.0.0.9:53").(*UDPConn)
		c.SetTTL(3)
		c.SetTOS(0xb8)
		if v := sentBy(t, h, c, []byte("x")); v.TTL() != 3 || v.TOS() != 0xb8 {
			t.Errorf("got TTL %d, TOS %#x, want 3, 0xb8", v.TTL(), v.TOS())
		}
	})
}

func TestAConnectedSocketSendsElsewhereByWriteMsg(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := stack(t, Config{}), make([]byte, 10)
		var servers [2]*UDPConn
		for i := range servers {
			l, err := s.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			servers[i] = l.(*UDPConn)
		}
		c := dial(t, s, "udp", servers[0].LocalAddr().String()).(*UDPConn)
		own := c.LocalAddr().(*net.UDPAddr).AddrPort()
		if _, err := c.WriteMsg([]byte("x"), servers[1].LocalAddr().(*net.UDPAddr).AddrPort(), own.Addr()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("y")); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"y", "x"} {
			if n, from, err := servers[i].ReadFromUDPAddrPort(p); err != nil || string(p[:n]) != want || from != own {
				t.Errorf("server %d: got %q from %v, error %v; want %q from %v", i, p[:n], from, err, want, own)
			}
		}
	})
}
