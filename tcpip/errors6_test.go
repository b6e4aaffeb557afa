package tcpip

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/wire"
)

// errors6 are ICMPv6 errors, and what the program gets.
var errors6 = []struct {
	kind wire.ICMPv6Type
	code uint8
	want error
}{
	{wire.Unreachable6, wire.NoRoute6, syscall.ENETUNREACH},
	{wire.Unreachable6, wire.Prohibited6, syscall.EACCES},
	{wire.Unreachable6, wire.BeyondScope6, syscall.EHOSTUNREACH},
	{wire.Unreachable6, wire.AddrUnreachable6, syscall.EHOSTUNREACH},
	{wire.Unreachable6, 99, syscall.EHOSTUNREACH},
	{wire.TimeExceeded6, wire.TransitExceeded, syscall.EHOSTUNREACH},
	{wire.TimeExceeded6, wire.ReassemblyExceeded, syscall.EHOSTUNREACH},
	{wire.TimeExceeded6, 99, syscall.EHOSTUNREACH},
	{wire.ParameterProblem6, uint8(wire.ErroneousField), syscall.EPROTO},
	{wire.ParameterProblem6, uint8(wire.UnknownOption), syscall.EPROTO},
	{wire.ParameterProblem6, uint8(wire.IncompleteChain), syscall.EPROTO},
	{wire.ParameterProblem6, 99, syscall.EPROTO},
	{5, 0, syscall.EPROTO}, {100, 7, syscall.EPROTO}, {127, 0, syscall.EPROTO},
}

// RFC 4443, sections 2.4 (a) and 3.2 to 3.4: all errors about a datagram are returned by the next
// call of its socket, once; those that quote another datagram are dropped (RFC 5927).
func TestIPv6ErrorsReachTheirSocket(t *testing.T) {
	for _, c := range errors6 {
		for name, forge := range map[string]func(wire.IPv6){"": nil, "from another host": func(v wire.IPv6) { v[23]++ }, "to another host": func(v wire.IPv6) { v[39]++ },
			"from another port": func(v wire.IPv6) { v[41]++ }, "to another port": func(v wire.IPv6) { v[43]++ }} {
			synctest.Test(t, func(t *testing.T) {
				s, h := bare6(t, Config{})
				conn := dial(t, s, "udp", "[2001:db8::9]:53")
				conn.Write([]byte("question")) //nolint:errcheck // it is read below
				about := h.next(time.Second)
				want := c.want
				if forge != nil {
					forge(about)
					want = nil
				}
				h.send(wire.MAC{}, wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol}, wire.AppendICMPv6(nil, bareAddr6, stackAddr6, c.kind, c.code, 0, about))
				synctest.Wait()
				if _, err := conn.Write([]byte("again")); !errors.Is(err, want) {
					t.Errorf("type %d, code %d, about a datagram %s: got %v, want %v", c.kind, c.code, name, err, want)
				}
				if _, err := conn.Write([]byte("and again")); err != nil {
					t.Errorf("type %d, code %d: the second call returns %v, want no error", c.kind, c.code, err)
				}
			})
		}
	}
}

// They do not end a connection, and are its error if it times out (RFC 5461, section 4), unless
// they quote what is not in flight (RFC 5927, section 4.1).
func TestIPv6ErrorsAreSoftForConnections(t *testing.T) {
	for _, c := range errors6 {
		for _, forged := range []bool{false, true} {
			t.Run(fmt.Sprintf("type %d, code %d, forged %t", c.kind, c.code, forged), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, h := bare6(t, Config{})
					conn := connected6(t, s, h).(*Conn)
					conn.Write([]byte("data")) //nolint:errcheck // it is read below
					about, want := h.next(time.Second), c.want
					if forged {
						about[44] ^= 0x40 // the sequence number
						want = syscall.ETIMEDOUT
					}
					h.send(wire.MAC{}, wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol}, wire.AppendICMPv6(nil, bareAddr6, stackAddr6, c.kind, c.code, 0, about))
					synctest.Wait()
					if n, err := conn.Write([]byte("more")); n != 4 || err != nil {
						t.Errorf("after the error: got %v, want the connection to go on", err)
					}
					conn.SetUserTimeout(10 * time.Second)
					result := make(chan error, 1) // Read -> the test
					go func() {
						_, err := conn.Read(make([]byte, 1))
						result <- err
					}()
					for range 15 { // the neighbour answers solicitations, but no segment
						h.next(time.Second)
					}
					if err := <-result; !errors.Is(err, want) {
						t.Errorf("after the user timeout: got %v, want %v", err, want)
					}
				})
			})
		}
	}
}
