package netsim

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// flooded is a listening host with a small backlog, and a peer. An attacker on the peer's link
// sends SYNs from many addresses.
type flooded struct {
	family
	peer, host *tcpip.Stack
	wire       link.Link
	listener   net.Listener
}

const backlog = 32

func newFlooded(t *testing.T, of family) *flooded {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{Depth: 10_000})
	f := &flooded{family: of, peer: stack(t, la, of.peer, tcp.Config{}), wire: la}
	var err error
	f.host, err = tcpip.New(tcpip.Config{Link: lb, Addrs: []netip.Prefix{netip.MustParsePrefix(of.host)}, Backlog: backlog,
		Routes: []ip.Route{{To: netip.MustParsePrefix(of.all), Via: addrOf(of.peer)}}})
	if err != nil {
		t.Fatal(err)
	}
	if f.listener, err = f.host.Listen("tcp", ":80"); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *flooded) close() {
	f.peer.Close()
	f.host.Close()
}

// flood sends SYNs, one every 100 us.
func (f *flooded) flood(from, n int) {
	for i := from; i < from+n; i++ {
		src, t := netip.AddrFrom4([4]byte{byte(11 + i>>16), byte(i >> 8), byte(i), 9}), wire.TypeIPv4
		if dst := addrOf(f.family.host); dst.Is6() {
			src, t = netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}), wire.TypeIPv6
		}
		s := wire.TCPFields{Src: netip.AddrPortFrom(src, 7777), Dst: netip.MustParseAddrPort(f.address()), Seq: wire.Seq(i), Flags: wire.SYN, Window: 65535}
		b := wire.AppendEthernet(nil, wire.MAC{2, 0, 0, 0, 0, 2}, f.wire.Caps().MAC, t)
		if src.Is4() {
			b = wire.AppendIPv4(b, &wire.IPv4Fields{TTL: 64, Protocol: wire.TCPProtocol, Src: src, Dst: s.Dst.Addr(), Payload: wire.TCPHeader})
		} else {
			b = wire.AppendIPv6(b, &wire.IPv6Fields{HopLimit: 64, NextHeader: wire.TCPProtocol, Src: src, Dst: s.Dst.Addr(), Payload: wire.TCPHeader})
		}
		f.wire.Queue(0).Write(&link.Parts{Head: wire.AppendTCP(b, &s)})
		time.Sleep(100 * time.Microsecond)
	}
}

// Other clients can connect during a SYN flood, with all TCP options. The backlog limits the memory
// of half-open connections.
func TestClientsConnectDuringASYNFlood(t *testing.T) {
	ofBoth(t, func(t *testing.T, of family) {
		f := newFlooded(t, of)
		defer f.close()
		f.flood(0, 5000)
		if n := len(f.host.Connections()); n > 2*backlog {
			t.Errorf("got %d handshakes, want at most the backlog, %d", n, backlog)
		}
		ended := make(chan error, 1) // the clients' result; one
		go func() { ended <- f.clients(20) }()
		go func() {
			for i := range 20 {
				f.flood(5000+100*i, 100)
			}
		}()
		for range 20 {
			c, err := f.listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				io.Copy(c, c) //nolint:errcheck // the client looks at what comes back
				c.Close()
			}()
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if given, taken := f.host.Cookies(); taken != 20 || given < 4000 {
			t.Errorf("got %d SYN cookies and %d connections from them, want at least 4000 and 20", given, taken)
		}
		// half-open connections time out, and make room again
		time.Sleep(5 * time.Minute)
		if n := len(f.host.Connections()); n != 0 {
			t.Errorf("%d connections are left, want none", n)
		}
		given, _ := f.host.Cookies()
		c, err := f.peer.Dial("tcp", f.address())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if now, _ := f.host.Cookies(); now != given {
			t.Error("a SYN cookie was sent with room in the backlog, want none")
		}
	})
}

// clients connect one after the other, and check that data is echoed.
func (f *flooded) clients(n int) error {
	for range n {
		c, err := f.peer.Dial("tcp", f.address())
		if err != nil {
			return err
		}
		// more than a window without scaling: the SYN cookie has the window scale
		data := make([]byte, 100_000)
		go c.Write(data) //nolint:errcheck // who reads sees it
		back := make([]byte, len(data))
		if _, err := io.ReadFull(c, back); err != nil || !bytes.Equal(back, data) {
			return fmt.Errorf("the echo: got error %v or other bytes, want the %d bytes that were sent", err, len(data))
		}
		c.Close()
	}
	return nil
}

// Connections that are not accepted wait up to the backlog. Other handshakes complete once Accept
// is called, and then all clients are served.
func TestAFullAcceptQueueDelaysHandshakes(t *testing.T) {
	ofBoth(t, func(t *testing.T, of family) {
		f := newFlooded(t, of)
		defer f.close()
		const clients = backlog + 20
		answers := make(chan error, clients) // of all clients
		for range clients {
			go func() {
				c, err := f.peer.Dial("tcp", f.address())
				if err == nil {
					_, err = c.Read(make([]byte, 1))
					c.Close()
				}
				answers <- err
			}()
		}
		time.Sleep(10 * time.Second)
		for range clients {
			c, err := f.listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			c.Write([]byte{1}) //nolint:errcheck // the client sees it
			c.Close()
		}
		for range clients {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	})
}
