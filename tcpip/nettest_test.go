package tcpip

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"weir/tcpip/link"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

// ways runs a test for each concurrency model.
func ways(t *testing.T, test func(*testing.T, Run)) {
	for _, run := range []Run{RunChain, RunNetwork} {
		t.Run(string(run), func(t *testing.T) { test(t, run) })
	}
}

// hosts returns two stacks with a link between them.
func hosts(t testing.TB, c link.PairConfig) (a, b *Stack) {
	t.Helper()
	return hostsBy(t, RunChain, c)
}

func hostsBy(t testing.TB, run Run, c link.PairConfig) (a, b *Stack) {
	t.Helper()
	la, lb := link.Pair(c)
	a, err := New(Config{Run: run, Link: la, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	if err != nil {
		t.Fatal(err)
	}
	b, err = New(Config{Run: run, Link: lb, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestConnsAreThoseOfNet(t *testing.T) { ways(t, testConnsAreThoseOfNet) }

func testConnsAreThoseOfNet(t *testing.T, run Run) {
	for name, c := range map[string]link.PairConfig{"segments": {}, "superframes": {Superframe: 65535, Checksum: true}} {
		t.Run(name, func(t *testing.T) {
			a, b := hostsBy(t, run, c)
			l, err := b.Listen("tcp", "10.0.0.2:80")
			if err != nil {
				t.Fatal(err)
			}
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				c1, err = a.DialContext(context.Background(), "tcp", "10.0.0.2:80")
				if err != nil {
					return nil, nil, nil, err
				}
				c2, err = l.Accept()
				return c1, c2, func() { c1.Close(); c2.Close() }, err
			})
		})
	}
}
