package netsim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// blackHoleMTU is the size of the largest IP packet that a path with a black hole takes.
const blackHoleMTU = 1400

// blackHole returns two stacks, with addresses of both families, and a path between them that
// drops larger packets without a Packet Too Big.
func blackHole(t *testing.T, superframes bool) (hosts [2]*tcpip.Stack) {
	pair := link.PairConfig{Depth: 10_000}
	if superframes {
		pair.Superframe, pair.Checksum = 65535, true
	}
	a, b := link.Pair(pair)
	for i, l := range []link.Link{a, b} {
		impaired, err := link.Impair(l, link.ImpairConfig{Out: link.Impairment{Delay: 10 * time.Millisecond, Rate: 100e6, MaxFrame: blackHoleMTU + wire.EthernetHeader}})
		if err != nil {
			t.Fatal(err)
		}
		addrs := []netip.Prefix{netip.MustParsePrefix([]string{"10.0.0.1/24", "10.0.0.2/24"}[i]), netip.MustParsePrefix([]string{"fd00::1/64", "fd00::2/64"}[i])}
		if hosts[i], err = tcpip.New(tcpip.Config{Link: impaired, Addrs: addrs}); err != nil {
			t.Fatal(err)
		}
	}
	return hosts
}

// exchanged sends data both ways over a connection, and returns the path MTUs that its ends have
// found.
func exchanged(hosts [2]*tcpip.Stack, addr string, mode tcp.MTUProbing, data []byte) (mtus [2]int, err error) {
	configure := func(c *tcp.Config) { c.MTUProbing = mode }
	l, err := (&tcpip.ListenConfig{Stack: hosts[1], Configure: configure}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return mtus, err
	}
	defer l.Close()
	results := make(chan error, 2) // the ends -> here: one of each
	both := func(i int, c net.Conn, err error) {
		if err == nil {
			mtus[i], err = exchange(c.(*tcpip.Conn), data)
		}
		results <- err
	}
	go func() {
		c, err := (&tcpip.Dialer{Stack: hosts[0], Configure: configure}).Dial("tcp", addr)
		both(0, c, err)
	}()
	go func() {
		c, err := l.Accept()
		both(1, c, err)
	}()
	return mtus, errors.Join(<-results, <-results)
}

// exchange writes and reads data, and returns the path MTU afterwards.
func exchange(c *tcpip.Conn, data []byte) (mtu int, err error) {
	defer c.Close()
	written := make(chan error, 1) // the writer -> here
	go func() {
		_, err := c.Write(data)
		written <- errors.Join(err, c.CloseWrite())
	}()
	got, err := io.ReadAll(c)
	if err == nil && !bytes.Equal(got, data) {
		err = errors.New("other data arrived than was sent")
	}
	err = errors.Join(err, <-written)
	return c.Info().PathMTU, err
}

// A connection over a path that silently drops large packets delivers everything, and ends with
// packets within 8 bytes of what the path takes (RFC 4821, sections 7.3 and 7.7), in both families.
func TestConnectionsFindTheirWayAroundABlackHole(t *testing.T) {
	skipRaced(t)
	for _, c := range []struct {
		name        string
		addr        string
		superframes bool
		mode        tcp.MTUProbing
	}{
		{"IPv4", "10.0.0.2:80", false, tcp.ProbeOnBlackHole},
		{"IPv6", "[fd00::2]:80", false, tcp.ProbeOnBlackHole},
		{"IPv4, superframes", "10.0.0.2:80", true, tcp.ProbeOnBlackHole},
		{"IPv6, superframes", "[fd00::2]:80", true, tcp.ProbeOnBlackHole},
		{"IPv4, always probing", "10.0.0.2:80", true, tcp.ProbeAlways},
		{"IPv6, always probing", "[fd00::2]:80", true, tcp.ProbeAlways},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hosts := blackHole(t, c.superframes)
				begun := time.Now()
				mtus, err := exchanged(hosts, c.addr, c.mode, make([]byte, 10<<20))
				if err != nil {
					t.Fatal(err)
				}
				for i, mtu := range mtus {
					if mtu > blackHoleMTU || mtu <= blackHoleMTU-8 {
						t.Errorf("end %d: got packets of at most %d bytes, want %d or up to 7 less (RFC 4821, 7.3)", i, mtu, blackHoleMTU)
					}
				}
				if took := time.Since(begun); took > 10*time.Second {
					t.Errorf("20 MB at 100 Mbit/s took %v, want at most 10 s", took)
				}
				for _, s := range hosts {
					s.Close()
				}
			})
		})
	}
}
