package tcpip

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/wire"
)

// behind returns a client with default routes to a stack that forwards.
func behind(t *testing.T, m link.Medium, f Forwarder) (client, router *Stack) {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{Medium: m})
	all4, all6 := netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")
	client = stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "fd00::1/64"),
		Routes: []ip.Route{{To: all4, Via: netip.MustParseAddr("10.0.0.2")}, {To: all6, Via: netip.MustParseAddr("fd00::2")}}})
	router = stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24", "fd00::2/64")})
	router.Forward(f)
	return client, router
}

// foreign are addresses of neither stack.
var foreign = []string{"192.0.2.7:80", "[2001:db8::7]:80"}

func TestForwardedConnectionsAreAccepted(t *testing.T) {
	for _, m := range []link.Medium{link.Ethernet, link.IP} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := behind(t, m, Forwarder{TCP: func(r *TCPRequest) {
				go func() {
					time.Sleep(time.Second) // as a connection onward may take
					c, err := r.Accept(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					io.WriteString(c, r.From().String()+" "+r.To().String()+" "+c.LocalAddr().String()) //nolint:errcheck // the client checks
					c.Close()
				}()
			}})
			for _, to := range foreign {
				c := dial(t, client, "tcp", to)
				got, err := io.ReadAll(c)
				if want := c.LocalAddr().String() + " " + to + " " + to; err != nil || string(got) != want {
					t.Errorf("connected to %s: got %q, error %v, want %q", to, got, err, want)
				}
			}
		})
	}
}

// The client sees the error that the far end has given.
func TestForwardedConnectionsAreRejectedAsTheFarEndDoes(t *testing.T) {
	for _, c := range []struct {
		err, want error
	}{
		{syscall.ECONNREFUSED, syscall.ECONNREFUSED}, {syscall.EHOSTUNREACH, syscall.EHOSTUNREACH}, {syscall.ENETUNREACH, syscall.ENETUNREACH}, {syscall.EACCES, syscall.EACCES},
		{context.DeadlineExceeded, context.DeadlineExceeded}, {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, syscall.ECONNREFUSED},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := behind(t, link.Ethernet, Forwarder{TCP: func(r *TCPRequest) { r.Reject(c.err) }})
			for _, to := range foreign {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				if _, err := client.DialContext(ctx, "tcp", to); !errors.Is(err, c.want) && !(c.want != syscall.ECONNREFUSED && errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("%v of %s: got %v, want %v", c.err, to, err, c.want)
				}
				cancel()
			}
		})
	}
}

// Retransmitted SYNs of a pending request are not new ones, and a client cannot take all places.
func TestPendingRequestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan *TCPRequest, 100) // the forwarder -> the test: more than Pending
		client, _ := behind(t, link.Ethernet, Forwarder{Pending: 8, TCP: func(r *TCPRequest) { requests <- r }})
		for range 20 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				client.DialContext(ctx, "tcp", foreign[0]) //nolint:errcheck // it is not answered
			}()
		}
		time.Sleep(9 * time.Second)
		if n := len(requests); n != 4 {
			t.Errorf("got %d requests of one client, want 4, half of the 8 places", n)
		}
		r := <-requests
		r.Drop()
		if _, err := r.Accept(t.Context()); err == nil {
			t.Error("a request was accepted after its answer, want an error")
		}
		time.Sleep(20 * time.Second)
	})
}

func TestForwardedDatagramsHaveASocketForEachPair(t *testing.T) {
	client, _ := behind(t, link.Ethernet, Forwarder{UDP: func(r *UDPRequest) {
		go func() {
			u, err := r.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer u.Close()
			b := make([]byte, 100)
			for range 2 {
				n, err := u.Read(b)
				if err != nil {
					t.Error(err)
					return
				}
				u.Write(append(b[:n], '!')) //nolint:errcheck // the client checks
			}
		}()
	}})
	for _, to := range foreign {
		c := dial(t, client, "udp", to)
		for _, text := range []string{"one", "two"} {
			expect(t, c, text, text+"!")
		}
	}
}

func TestForwardedDatagramsAreRejected(t *testing.T) {
	client, _ := behind(t, link.Ethernet, Forwarder{UDP: func(r *UDPRequest) { r.Reject(syscall.ECONNREFUSED) }})
	for _, to := range foreign {
		c := dial(t, client, "udp", to)
		c.Write([]byte("x")) //nolint:errcheck // the answer is an error
		c.SetReadDeadline(time.Now().Add(waitForPeer))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: got %v, want ECONNREFUSED", to, err)
		}
	}
}

// Without a forwarder, and for addresses that no router forwards, packets are dropped as before.
func TestWhatIsNotForwardedIsDropped(t *testing.T) {
	_, s := behind(t, link.Ethernet, Forwarder{TCP: func(*TCPRequest) {}})
	for _, a := range []string{"255.255.255.255", "224.0.0.1", "127.0.0.1", "0.0.0.0", "240.0.0.1", "ff02::1", "fe80::1", "::1", "::"} {
		if s.forwards(netip.MustParseAddr(a)) {
			t.Errorf("packets for %s are forwarded, want them dropped", a)
		}
	}
	s.Forward(Forwarder{})
	if s.forwards(netip.MustParseAddr("192.0.2.1")) {
		t.Error("packets are forwarded without a forwarder, want them dropped")
	}
}

// Echo requests to any address are answered or rejected by the forwarder, by either version of IP.
func TestForwardedEchoRequestsAreAnswered(t *testing.T) {
	for _, m := range []link.Medium{link.Ethernet, link.IP} {
		synctest.Test(t, func(t *testing.T) {
			client, _ := behind(t, m, Forwarder{Echo: func(r *EchoRequest) {
				if last := r.To().AsSlice(); last[len(last)-1] == 8 {
					r.Reject(syscall.EHOSTUNREACH)
					return
				}
				go func() {
					time.Sleep(time.Second) // as the far end may take
					r.Reply()
					r.Reject(syscall.EHOSTUNREACH) // it is answered already
				}()
			}})
			for to, want := range map[string]error{"192.0.2.7": nil, "2001:db8::7": nil, "192.0.2.8": syscall.EHOSTUNREACH, "2001:db8::8": syscall.EHOSTUNREACH} {
				took, err := client.Ping(t.Context(), netip.MustParseAddr(to), 100)
				if !errors.Is(err, want) || err == nil && took < time.Second {
					t.Errorf("%s: got %v after %v, want %v", to, err, took, want)
				}
			}
		})
	}
}

// Without an Echo function, nothing answers.
func TestEchoRequestsAreNotForwardedUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := behind(t, link.Ethernet, Forwarder{TCP: func(r *TCPRequest) { r.Drop() }})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Ping(ctx, netip.MustParseAddr("192.0.2.7"), 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want no answer", err)
		}
	})
}

// "A router MUST NOT forward any packet that the router received as a Link Layer broadcast" (RFC
// 1812, section 5.3.4), and no ICMP error is sent about one (RFC 1122, section 3.2.2).
func TestBroadcastFramesAreNotForwarded(t *testing.T) {
	dst4, dst6 := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8:1::7")
	for _, c := range []struct {
		name string
		to   wire.MAC
		want int32 // packets that are forwarded, of 3
	}{{"the stack", wire.MAC{}, 3}, {"all", wire.Broadcast, 0}, {"a group", wire.MAC{0x33, 0x33, 0, 0, 0, 1}, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var forwarded atomic.Int32
			f := Forwarder{UDP: func(r *UDPRequest) { forwarded.Add(1); r.Reject(syscall.ECONNREFUSED) }, Echo: func(r *EchoRequest) { forwarded.Add(1); r.Reject(syscall.EHOSTUNREACH) }}
			s, h := bare(t, Config{})
			s.Forward(f)
			to := c.to
			if to == (wire.MAC{}) {
				to = h.stack
			}
			h.sendTo(to, wire.IPv4Fields{Protocol: wire.UDPProtocol, Dst: dst4}, wire.AppendUDP(nil, netip.AddrPortFrom(bareAddr, 9), netip.AddrPortFrom(dst4, 9), nil))
			h.sendTo(to, wire.IPv4Fields{Protocol: wire.ICMPv4Protocol, Dst: dst4}, wire.AppendICMP(nil, wire.EchoRequest, 0, 1, nil))
			s6, h6 := bare6(t, Config{})
			s6.Forward(f)
			h6.send(c.to, wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, Dst: dst6}, wire.AppendICMPv6(nil, bareAddr6, dst6, wire.EchoRequest6, 0, 1, nil))
			time.Sleep(time.Second)
			if got := forwarded.Load(); got != c.want {
				t.Errorf("frames to %s: got %d of 3 packets forwarded, want %d", c.name, got, c.want)
			}
			if v := h.next(time.Second); c.want == 0 && v != nil {
				t.Errorf("a frame to %s: got an answer of protocol %d, want none", c.name, v.Protocol())
			}
		})
	}
}
