package tcpip

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
)

// An address that does not answer delays the next one by a quarter of a second (RFC 8305, section
// 5). The first error that occurs is returned.
func TestAddressesAreTriedInTurn(t *testing.T) {
	silent, absent, here := netip.MustParseAddrPort("10.0.0.9:80"), netip.MustParseAddrPort("10.0.0.77:80"), netip.MustParseAddrPort("127.0.0.1:80")
	for _, c := range []struct {
		name    string
		remotes []netip.AddrPort
		took    time.Duration
		want    error // nil: connected
	}{
		{"the first", []netip.AddrPort{here, silent}, 0, nil},
		{"a silent one before it", []netip.AddrPort{silent, here}, attemptDelay, nil},
		{"an address without a host before it", []netip.AddrPort{absent, here}, attemptDelay, nil},
		{"two silent ones", []netip.AddrPort{silent, silent}, 20 * time.Second, context.DeadlineExceeded},
		{"none", []netip.AddrPort{absent, silent}, 20 * time.Second, syscall.EHOSTUNREACH},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := bare(t, Config{})
				listen(t, s, "127.0.0.1:80")
				over := make(chan struct{}) // closed when the host need not answer any more
				go func() {
					defer close(over)
					for range 10_000 { // it answers ARP only
						h.next(10 * time.Millisecond)
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				began := time.Now()
				conn, err := dialFastest(ctx, "tcp", (&Dialer{Stack: s}).dialTCP, c.remotes)
				if took := time.Since(began); took < c.took || took > c.took+time.Millisecond {
					t.Errorf("Dial took %v, want %v", took, c.took)
				}
				if !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if conn != nil {
					conn.Close()
				}
				<-over
			})
		})
	}
}

// A Dialer chooses the local address and port.
func TestADialerUsesItsLocalAddr(t *testing.T) {
	for _, c := range []struct {
		name, network, local, to string
		from                     string // as the other end sees it; without a port: any port
		want                     error
	}{
		{"the defaults", "tcp", "", "10.0.0.2:80", "10.0.0.1", nil},
		{"an address", "tcp", "10.0.0.3:0", "10.0.0.2:80", "10.0.0.3", nil},
		{"a port", "tcp", "0.0.0.0:4000", "10.0.0.2:80", "10.0.0.1:4000", nil},
		{"both", "tcp", "10.0.0.3:4000", "10.0.0.2:80", "10.0.0.3:4000", nil},
		{"to this host", "tcp", "10.0.0.3:4000", "10.0.0.1:80", "10.0.0.3:4000", nil},
		{"from the loopback to this host", "tcp", "127.0.0.7:4000", "10.0.0.1:80", "127.0.0.7:4000", nil},
		{"from the loopback to another", "tcp", "127.0.0.1:0", "10.0.0.2:80", "", syscall.EADDRNOTAVAIL},
		{"from another's", "tcp", "10.0.0.2:0", "10.0.0.2:80", "", syscall.EADDRNOTAVAIL},
		{"datagrams", "udp", "10.0.0.3:4000", "10.0.0.2:53", "10.0.0.3:4000", nil},
		{"datagrams from another's", "udp", "10.0.0.9:4000", "10.0.0.2:53", "", syscall.EADDRNOTAVAIL},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				la, lb := link.Pair(link.PairConfig{})
				s := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "10.0.0.3/24")})
				peer := stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
				from := make(chan net.Addr, 3) // the servers -> the test: at most one each
				seen(t, from, s, peer)
				d := Dialer{Stack: s}
				if c.local != "" {
					d.LocalAddr = netip.MustParseAddrPort(c.local)
				}
				conn, err := d.Dial(c.network, c.to)
				if !errors.Is(err, c.want) {
					t.Fatalf("%v, want %v", err, c.want)
				}
				if err != nil {
					return
				}
				defer conn.Close()
				conn.Write([]byte("x")) //nolint:errcheck // the other end sees it
				if got := (<-from).String(); got != c.from && !strings.HasPrefix(got, c.from+":") || got != conn.LocalAddr().String() {
					t.Errorf("the connection comes from %s, want %s; its LocalAddr is %v", got, c.from, conn.LocalAddr())
				}
			})
		})
	}
}

// seen returns the sources that connect or send to ports 80 of two stacks, and 53 of the second.
func seen(t *testing.T, from chan<- net.Addr, s, peer *Stack) {
	for _, l := range []net.Listener{listen(t, s, ":80"), listen(t, peer, ":80")} {
		go func() {
			if c, err := l.Accept(); err == nil {
				from <- c.RemoteAddr()
				c.Close()
			}
		}()
	}
	u, err := peer.ListenPacket("udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	go func() {
		if _, a, err := u.ReadFrom(make([]byte, 1)); err == nil {
			from <- a
		}
	}()
}

// A tuple is in use while it has a connection, and for a second longer.
func TestATupleInUseIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		s := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")})
		l := listen(t, stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")}), ":80")
		d := Dialer{Stack: s, LocalAddr: netip.MustParseAddrPort("0.0.0.0:4000")}
		refused := func(when string) {
			t.Helper()
			if _, err := d.Dial("tcp", "10.0.0.2:80"); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("%s: got error %v, want EADDRINUSE", when, err)
			}
		}
		for range 2 {
			c, err := d.Dial("tcp", "10.0.0.2:80")
			if err != nil {
				t.Fatal(err)
			}
			refused("a second connection with the tuple")
			other, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			synctest.Wait()
			other.Close()
			synctest.Wait()
			refused("the tuple right after its connection closed")
			time.Sleep(1100 * time.Millisecond)
		}
	})
}
