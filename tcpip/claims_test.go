package tcpip

import (
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/neigh"
	"weir/wire"
)

// A host that is probed for its address keeps it, and the new stack does not start.
func TestNewFailsIfAnotherHostUsesTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24", "10.0.0.2/24")})
		began := time.Now()
		_, err := New(Config{Link: lb, Addrs: prefixes("10.0.0.3/24", "10.0.0.2/24"), ProbeAddrs: true})
		if err == nil || !strings.Contains(err.Error(), "10.0.0.2 is in use by 02:00:00:00:00:01") {
			t.Errorf("New with an address of another host: got error %v, want one that names 10.0.0.2 and its MAC address", err)
		}
		// the answer to the first probe suffices
		if took := time.Since(began); took > time.Second {
			t.Errorf("New took %v, want it to fail at the first answer", took)
		}
	})
}

func TestAFreeAddressIsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		a := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")})
		began := time.Now()
		b := stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.3/24", "10.0.0.2/24"), ProbeAddrs: true})
		if took := time.Since(began); took < 4*time.Second || took > 7*time.Second {
			t.Errorf("probing took %v, want 4 to 7 s", took)
		}
		for _, dst := range b.ifaces[0].configured() {
			if _, err := a.Ping(t.Context(), dst.Addr(), 8); err != nil {
				t.Errorf("pinging the probed address %v: got error %v, want a reply", dst, err)
			}
		}
	})
}

// If two hosts have one address, the one with the yielding policy loses it and its connections. The
// other one's OnConflict is called.
func TestAConflictMovesTheAddressToOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		// the conflicts that each stack reports; room for all
		kept, lost := make(chan Conflict, 100), make(chan Conflict, 100)
		b := stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.1/24", "10.0.0.2/24"), ConflictPolicy: neigh.Yield, OnConflict: func(c Conflict) { lost <- c }})
		l := listen(t, b, ":80")
		c := dial(t, b, "tcp", "10.0.0.1:80") // over the loopback, but from and to the address
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		// drain the frames before the second host
		for frames := make([]link.Frame, 32); ; {
			if n, _ := la.Queue(0).Read(frames, 0); n == 0 {
				break
			}
		}
		stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24"), OnConflict: func(c Conflict) { kept <- c }})
		if got := <-lost; got != (Conflict{netip.MustParseAddr("10.0.0.1"), wire.MAC{2, 0, 0, 0, 0, 1}, true}) {
			t.Errorf("the lost address: got the conflict %+v, want 10.0.0.1, its other host and lost (RFC 5227, section 2.4)", got)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNABORTED) {
			t.Errorf("reading from a connection of the lost address: %v, want ECONNABORTED", err)
		}
		if _, err := b.ListenPacket("udp", "10.0.0.1:53"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("listening at the lost address: %v, want EADDRNOTAVAIL", err)
		}
		if got := b.Addrs(); len(got) != 3 || got[0].Addr().String() != "10.0.0.2" {
			t.Errorf("the stack has the addresses %v, want 10.0.0.2 and the loopback's", got)
		}
		if _, err := b.Ping(t.Context(), netip.MustParseAddr("10.0.0.1"), 8); err != nil {
			t.Errorf("pinging the host that kept the address: got error %v, want a reply", err)
		}
		if n := len(kept); n != 0 {
			t.Errorf("the host that keeps the address reported %d conflicts, want 1", n)
		}
	})
}

// A neighbour with new hardware announces it, and connections use its new address.
func TestConnectionsFollowANewMACAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		a := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")})
		defer lb.Close()
		q, first, second := lb.Queue(0), wire.MAC{2, 0, 0, 0, 1, 1}, wire.MAC{2, 0, 0, 0, 1, 2}
		host, us := netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("10.0.0.1")
		say := func(op wire.ARPOperation, mac wire.MAC, target netip.Addr) {
			q.Write(&link.Parts{Head: wire.AppendARP(wire.AppendEthernet(nil, wire.Broadcast, mac, wire.TypeARP), op, mac, host, wire.MAC{}, target)})
		}
		done := make(chan error, 1) // the dial's end
		go func() { _, err := a.Dial("tcp", "10.0.0.9:80"); done <- err }()
		var to []wire.MAC // of SYNs
		for frames := make([]link.Frame, 1); len(to) < 3; {
			if _, err := q.Read(frames, -1); err != nil {
				t.Fatal(err)
			}
			e, _ := wire.ParseEthernet(frames[0].Bytes)
			switch m, _ := wire.ParseARP(e.Payload()); {
			case e.Type() == wire.TypeARP && m.Target() == host:
				say(wire.ARPReply, first, us)
			case e.Type() == wire.TypeIPv4:
				if to = append(to, e.Dst()); len(to) == 2 {
					say(wire.ARPRequest, second, host)
				}
			}
		}
		if to[0] != first || to[1] != first || to[2] != second {
			t.Errorf("SYNs went to %v, want two to %v and, after it announced a new MAC address, one to %v", to, first, second)
		}
		a.Close()
		<-done
	})
}
