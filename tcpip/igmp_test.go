package tcpip

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// The groups that queries and reports are sent to.
var (
	allHosts4    = netip.MustParseAddr("224.0.0.1")
	igmpQuery    = wire.GroupQuery{Version: 3, Group: netip.IPv4Unspecified(), MaxResponse: time.Second, Robustness: 2, Interval: 125 * time.Second}
	mldQuery     = wire.GroupQuery{Version: 2, Group: netip.IPv6Unspecified(), MaxResponse: time.Second, Robustness: 2, Interval: 125 * time.Second}
	queryRouter6 = netip.MustParseAddr("fe80::9")
)

// nextReport returns the stack's next report of IGMP, with a destination and a header as RFC 3376,
// section 4, wants them; nil if none is sent in time.
func (h *bareHost) nextReport(wait time.Duration) *wire.GroupReport {
	h.t.Helper()
	v := h.next(wait)
	if v == nil {
		return nil
	}
	m, fault := wire.ParseIGMP(v.Payload())
	if v.Protocol() != wire.IGMPProtocol || fault != wire.OK || !m.ChecksumOK() {
		h.t.Fatalf("got the packet % x, want a message of IGMP", []byte(v))
	}
	r, fault := wire.ParseIGMPReport(m)
	if fault != wire.OK || v.Dst() != r.IGMPDst() || v.TTL() != 1 || v.TOS() != 0xc0 || v.Src() != stackAddr || !wire.HasRouterAlert(v.Options()) {
		h.t.Errorf("got the report %+v in the packet % x, want it from %v to %v with TTL 1, TOS 0xc0 and a Router Alert", r, []byte(v), stackAddr, r.IGMPDst())
	}
	return &r
}

// sendQuery sends a query of IGMP.
func (h *bareHost) sendQuery(q *wire.GroupQuery, f wire.IPv4Fields) {
	f.Protocol = wire.IGMPProtocol
	h.sendTo(wire.MAC{1, 0, 0x5e, 0, 0, 1}, f, wire.AppendIGMPQuery(nil, q))
}

func TestIGMPQueriesAreAnsweredIfTheyAreFromTheLink(t *testing.T) {
	alert := wire.RouterAlertOption()
	for _, c := range []struct {
		name    string
		query   wire.GroupQuery
		fields  wire.IPv4Fields
		answers bool
	}{
		{"a general query", igmpQuery, wire.IPv4Fields{Dst: allHosts4, TTL: 1, Options: alert}, true},
		{"a query for the group", wire.GroupQuery{Version: 3, Group: group4}, wire.IPv4Fields{Dst: group4, TTL: 1, Options: alert}, true},
		{"to the host's address (RFC 3376, section 4.1.12)", igmpQuery, wire.IPv4Fields{TTL: 1, Options: alert}, true},
		{"of a switch without an address (RFC 4541, section 2.1.1)", igmpQuery, wire.IPv4Fields{Src: netip.IPv4Unspecified(), Dst: allHosts4, TTL: 1, Options: alert}, true},
		{"version 2", wire.GroupQuery{Version: 2, Group: netip.IPv4Unspecified(), MaxResponse: time.Second}, wire.IPv4Fields{Dst: allHosts4, TTL: 1, Options: alert}, true},
		{"version 1 without a Router Alert", wire.GroupQuery{Version: 1, Group: netip.IPv4Unspecified()}, wire.IPv4Fields{Dst: allHosts4, TTL: 1}, true},
		{"without a Router Alert (section 9.1)", igmpQuery, wire.IPv4Fields{Dst: allHosts4, TTL: 1}, false},
		{"a TTL above 1", igmpQuery, wire.IPv4Fields{Dst: allHosts4, TTL: 2, Options: alert}, false},
		{"from another network", igmpQuery, wire.IPv4Fields{Src: netip.MustParseAddr("192.0.2.1"), Dst: allHosts4, TTL: 1, Options: alert}, false},
		{"a general query to another group (section 9.1)", igmpQuery, wire.IPv4Fields{Dst: group4, TTL: 1, Options: alert}, false},
		{"from no address to the host", igmpQuery, wire.IPv4Fields{Src: netip.IPv4Unspecified(), TTL: 1, Options: alert}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := bare(t, Config{})
				listenGroup(t, s, "", group4, 5000)
				for range 2 {
					if r := h.nextReport(2 * time.Second); r == nil || r.Version != 3 || len(r.Records) != 1 || r.Records[0].Kind != wire.ChangeToExclude || r.Records[0].Group != group4 {
						t.Fatalf("after a join: got the report %+v, want two of the change to exclude (RFC 3376, section 5.1)", r)
					}
				}
				h.sendQuery(&c.query, c.fields)
				switch r := h.nextReport(20 * time.Second); {
				case (r != nil) != c.answers:
					t.Errorf("got the report %+v, want one: %t", r, c.answers)
				case r != nil && (r.Version != c.query.Version || r.Version == 3 && r.Records[0].Kind != wire.ModeIsExclude || r.Version < 3 && r.Group != group4):
					t.Errorf("got the report %+v, want one of version %d about the group", r, c.query.Version)
				}
			})
		})
	}
}

// Closing a socket leaves its groups, and so does closing the stack.
func TestClosedSocketsLeaveTheirGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		first, second := listenGroup(t, s, "", group4, 5000), listenGroup(t, s, "", group4, 5001)
		last := func() (kind wire.RecordKind) {
			for r := h.nextReport(5 * time.Second); r != nil; r = h.nextReport(5 * time.Second) {
				kind = r.Records[0].Kind
			}
			return kind
		}
		last()
		first.Close()
		if kind := last(); kind != 0 {
			t.Errorf("got a record of kind %d while a member is left, want none", kind)
		}
		second.Close()
		if kind := last(); kind != wire.ChangeToInclude {
			t.Errorf("after the last member: got a record of kind %d, want the change to include", kind)
		}
		listenGroup(t, s, "", group4, 5000)
		last()
		s.Close()
		if kind := last(); kind != wire.ChangeToInclude {
			t.Errorf("after the stack is closed: got a record of kind %d, want the change to include", kind)
		}
	})
}

// Without an address, reports have the source 0.0.0.0 (RFC 3376, section 4.2.13).
func TestReportsWithoutAnAddressAreFromZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		s := stack(t, Config{Link: la})
		defer lb.Close()
		listenGroup(t, s, "", group4, 5000)
		v := (&bareHost{t: t, s: s, q: lb.Queue(0)}).next(time.Second)
		if v == nil || v.Src() != netip.IPv4Unspecified() || v.Protocol() != wire.IGMPProtocol {
			t.Errorf("got the packet % x, want a report from 0.0.0.0", []byte(v))
		}
	})
}

// Datagrams for groups have their own TTL; by default they stay on the link (RFC 1112, section
// 6.1).
func TestDatagramsForGroupsHaveATTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{TTL: 99})
		connected, unconnected := dial(t, s, "udp", "239.1.2.3:5000").(*UDPConn), sender(t, s)
		for i, want := range []uint8{1, 9, 255} {
			for _, u := range []*UDPConn{connected, unconnected} {
				u.SetTTL(7)
				if i > 0 {
					u.SetMulticastTTL(want)
				}
				if u == connected {
					u.Write([]byte("x")) //nolint:errcheck // the packet shows it
				} else {
					sendToGroup(t, u, "x", group4, 5000)
				}
				if v := h.next(time.Second); v == nil || v.TTL() != want {
					t.Errorf("got the packet % x, want TTL %d", []byte(v), want)
				}
			}
		}
	})
}

// The filters of several sockets are reported as one (RFC 3376, section 3.2).
func TestTheMergedFilterIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := bare(t, Config{})
		first, second := sender(t, s), sender(t, s)
		sources := manySources(3)
		if err := first.SetSourceFilter("", group4, true, sources[:2]); err != nil {
			t.Fatal(err)
		}
		if err := second.SetSourceFilter("link", group4, false, sources[1:]); err != nil {
			t.Fatal(err)
		}
		h.nextReport(time.Second)
		time.Sleep(5 * time.Second)
		var got *wire.GroupReport
		for r := h.nextReport(time.Second); r != nil; r = h.nextReport(time.Second) {
		}
		h.sendQuery(&igmpQuery, wire.IPv4Fields{Dst: allHosts4, TTL: 1, Options: wire.RouterAlertOption()})
		if got = h.nextReport(5 * time.Second); got == nil || got.Records[0].Kind != wire.ModeIsExclude || !slices.Equal(got.Records[0].Sources, sources[:1]) {
			t.Errorf("got the answer %+v, want a filter that excludes %v", got, sources[:1])
		}
	})
}

// mldHost reads the stack's packets and sends messages of MLD, from a link-local address.
type mldHost struct {
	t *testing.T
	q link.Queue
}

// next returns the stack's next report of MLD with its source, of a header as RFC 3810, section 5,
// wants it; nil if none is sent in time.
func (h *mldHost) next(wait time.Duration) (r *wire.GroupReport, src netip.Addr) {
	h.t.Helper()
	frames, end := make([]link.Frame, 1), time.Now().Add(wait)
	for time.Now().Before(end) {
		if n, err := h.q.Read(frames, time.Until(end)); n == 0 || err != nil {
			continue
		}
		e, _ := wire.ParseEthernet(frames[0].Bytes)
		v, fault := wire.ParseIPv6(slices.Clone(e.Payload()))
		if fault != wire.OK {
			continue
		}
		x, _ := wire.ParseExtensions(v)
		m, fault := wire.ParseICMPv6(x.Payload)
		if x.Protocol != wire.ICMPv6Protocol || fault != wire.OK {
			continue
		}
		if r, fault := wire.ParseMLDReport(m); fault == wire.OK {
			if b := v.Dst().As16(); v.Dst() != r.MLDDst() || v.HopLimit() != 1 || !x.RouterAlert || !m.ChecksumOK(v.Src(), v.Dst()) || e.Dst() != (wire.MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}) {
				h.t.Errorf("got the report %+v in the packet % x to %v, want it to %v with hop limit 1 and a Router Alert", r, []byte(v), e.Dst(), r.MLDDst())
			}
			return &r, v.Src()
		}
	}
	return nil, src
}

// sendQuery sends a query.
func (h *mldHost) sendQuery(q *wire.GroupQuery, src, dst netip.Addr, hops uint8, alert bool) {
	f := wire.IPv6Fields{NextHeader: wire.ICMPv6Protocol, HopLimit: hops, Src: src, Dst: dst}
	var message []byte
	if alert {
		f.NextHeader = wire.HopByHop
		message = wire.AppendRouterAlert(message, wire.ICMPv6Protocol)
	}
	message = wire.AppendMLDQuery(message, src, dst, q)
	f.Payload = len(message)
	h.q.Write(&link.Parts{Head: wire.AppendIPv6(wire.AppendEthernet(nil, wire.MAC{0x33, 0x33, 5: 1}, wire.MAC{2}, wire.TypeIPv6), &f), Body: [2][]byte{message}})
}

// The solicited-node groups of the addresses are reported; queries are answered if they are from
// the link (RFC 3810, section 6.2).
func TestMLDReportsSolicitedNodeGroups(t *testing.T) {
	nodes := allNodes
	for _, c := range []struct {
		name    string
		query   wire.GroupQuery
		src     netip.Addr
		hops    uint8
		alert   bool
		answers int // reports
	}{
		{"version 2", mldQuery, queryRouter6, 1, true, 1},
		{"version 1", wire.GroupQuery{Version: 1, Group: netip.IPv6Unspecified(), MaxResponse: time.Second}, queryRouter6, 1, true, 2},
		{"a hop limit above 1", mldQuery, queryRouter6, 2, true, 0},
		{"without a Router Alert", mldQuery, queryRouter6, 1, false, 0},
		{"from a global address", mldQuery, netip.MustParseAddr("2001:db8::9"), 1, true, 0},
		{"from no address", mldQuery, netip.IPv6Unspecified(), 1, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				la, lb := link.Pair(link.PairConfig{})
				s := stack(t, Config{Link: la, Addrs: prefixes("2001:db8::1/64")})
				defer lb.Close()
				h := &mldHost{t, lb.Queue(0)}
				own := map[netip.Addr]int{solicitedNode(netip.MustParseAddr("2001:db8::1")): 0, solicitedNode(s.Addrs()[1].Addr()): 0}
				var src netip.Addr
				for r, from := h.next(5 * time.Second); r != nil; r, from = h.next(5 * time.Second) {
					for _, one := range r.Records {
						own[one.Group]++
					}
					src = from
				}
				if len(own) != 2 || !src.IsLinkLocalUnicast() {
					t.Errorf("got reports of %v, the last from %v, want two of each solicited-node group, at last from a link-local address", own, src)
				}
				for group, n := range own {
					if n != 2 {
						t.Errorf("got %d reports of %v, want 2 (RFC 3810, section 6.1)", n, group)
					}
				}
				h.sendQuery(&c.query, c.src, nodes, c.hops, c.alert)
				n := 0
				for r, _ := h.next(20 * time.Second); r != nil; r, _ = h.next(20 * time.Second) {
					n++
				}
				if n != c.answers {
					t.Errorf("got %d reports, want %d", n, c.answers)
				}
			})
		})
	}
}

func TestRemovedAddressesLeaveTheirGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		la, lb := link.Pair(link.PairConfig{})
		s := stack(t, Config{Link: la, Addrs: prefixes("2001:db8::1/64")})
		defer lb.Close()
		h := &mldHost{t, lb.Queue(0)}
		for r, _ := h.next(5 * time.Second); r != nil; r, _ = h.next(5 * time.Second) {
		}
		for _, c := range []struct {
			do   func() error
			kind wire.RecordKind
		}{
			{func() error { return s.AddAddr(netip.MustParsePrefix("2001:db8::2/64")) }, wire.ChangeToExclude},
			{func() error { return s.AddAddr(netip.MustParsePrefix("2001:db8:0:1::2/64")) }, 0},
			{func() error { return s.RemoveAddr(netip.MustParseAddr("2001:db8::2")) }, 0},
			{func() error { return s.RemoveAddr(netip.MustParseAddr("2001:db8:0:1::2")) }, wire.ChangeToInclude},
		} {
			if err := c.do(); err != nil {
				t.Fatal(err)
			}
			var kind wire.RecordKind
			for r, _ := h.next(5 * time.Second); r != nil; r, _ = h.next(5 * time.Second) {
				kind = r.Records[0].Kind
			}
			if kind != c.kind {
				t.Errorf("got a record of kind %d, want %d; 0: none", kind, c.kind)
			}
		}
	})
}
