package host

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// ownAddress is an address of this machine by which it is not local to itself, as a client from
// elsewhere is not.
func ownAddress(t *testing.T) netip.Addr {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr()
		}
	}
	t.Skip("this machine has no address besides 127.0.0.1")
	return netip.Addr{}
}

// closedOf opens n connections to the page, which then wait for the rest of a request, and returns
// how many of them end. It waits until so many as are expected have.
func closedOf(t *testing.T, where string, n, expected int) int {
	t.Helper()
	ended := make(chan struct{}, n) // from each connection that ends -> here; room for all
	for range n {
		conn, err := net.Dial("tcp", where)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("GET / HTTP/1.1\r\n")) // it may be closed already
		go func() {
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				ended <- struct{}{}
			}
		}()
	}
	for i := range expected {
		select {
		case <-ended:
		case <-time.After(waitLimit):
			return i
		}
	}
	select {
	case <-ended:
		return expected + 1
	case <-time.After(20 * time.Millisecond): // no further one does, as far as can be seen
		return expected
	}
}

func TestOneAddressCannotUseUpThePagesConnections(t *testing.T) {
	own := ownAddress(t)
	for _, c := range []struct {
		who     string
		proxies []string
		closed  int
	}{{"an address", nil, 4}, {"a proxy", []string{own.String()}, 0}} {
		config := Config{Web: Web{Listen: []string{netip.AddrPortFrom(own, 0).String()}, Proxies: c.proxies}}
		config.Limits.PerAddress = 2
		r := start(t, config)
		where := r.addrs["web"][0]
		if got := closedOf(t, where, 8, c.closed); got != c.closed {
			t.Errorf("of 8 connections of %s: got %d closed, want %d", c.who, got, c.closed)
		}
		waitFor(t, c.who+" is answered again", func() bool {
			answer, err := http.Get("http://" + where + "/")
			if err == nil {
				answer.Body.Close()
			}
			return err == nil
		})
		r.stop()
	}
}
