package tcpip

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Of several addresses one that is silent has its share of the time, and one that nobody has is given up by the network; the error of the first says what was wrong.
func TestAddressesAreTriedInTurn(t *testing.T) {
	silent, absent, here := netip.MustParseAddrPort("10.0.0.9:80"), netip.MustParseAddrPort("10.0.0.77:80"), netip.MustParseAddrPort("127.0.0.1:80")
	for _, c := range []struct {
		name    string
		remotes []netip.AddrPort
		took    time.Duration
		want    error // nil: connected
	}{
		{"the first", []netip.AddrPort{here, silent}, 0, nil},
		{"a silent one before it", []netip.AddrPort{silent, here}, 10 * time.Second, nil},
		{"one that nobody has before it", []netip.AddrPort{absent, here}, 3 * time.Second, nil},
		{"two silent ones", []netip.AddrPort{silent, silent}, 20 * time.Second, syscall.ETIMEDOUT},
		{"none", []netip.AddrPort{absent, silent}, 20 * time.Second, syscall.EHOSTUNREACH},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := bare(t, Config{})
				listen(t, s, "127.0.0.1:80")
				over := make(chan struct{}) // closed when the host is no longer asked
				go func() {
					defer close(over)
					for range 10_000 { // it says where it is, and nothing else
						h.next(10 * time.Millisecond)
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				began := time.Now()
				conn, err := dialEach(ctx, "tcp", s.dialTCP, c.remotes)
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("it took %v, want %v", took, c.took)
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
