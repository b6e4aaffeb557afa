package wire

import (
	"bytes"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

var (
	testGroup4 = netip.MustParseAddr("239.1.2.3")
	testGroup6 = netip.MustParseAddr("ff12::1234")
)

// igmpQueries and mldQueries have a query of each version.
var (
	igmpQueries = []GroupQuery{
		{Version: 1, Group: netip.IPv4Unspecified(), MaxResponse: 10 * time.Second},
		{Version: 2, Group: testGroup4, MaxResponse: 25500 * time.Millisecond},
		{Version: 3, Group: netip.IPv4Unspecified(), MaxResponse: 10 * time.Second, Robustness: 2, Interval: 125 * time.Second},
		{Version: 3, Group: testGroup4, MaxResponse: 31744 * 100 * time.Millisecond, Suppress: true, Robustness: 7, Interval: 31744 * time.Second, Sources: NewAddrList(from, to)},
	}
	mldQueries = []GroupQuery{
		{Version: 1, Group: netip.IPv6Unspecified(), MaxResponse: 65535 * time.Millisecond},
		{Version: 2, Group: testGroup6, MaxResponse: 8387584 * time.Millisecond, Suppress: true, Robustness: 1, Interval: 128 * time.Second, Sources: NewAddrList(from6, to6)},
	}
)

func TestGroupQueriesAreReadAsWritten(t *testing.T) {
	for _, q := range igmpQueries {
		m, _ := ParseIGMP(AppendIGMPQuery(nil, &q))
		if got, fault := ParseIGMPQuery(m); fault != OK || !m.ChecksumOK() || m.Type() != MembershipQuery || !sameQuery(got, q) {
			t.Errorf("IGMP: got %+v, fault %v, right checksum %t; want %+v", got, fault, m.ChecksumOK(), q)
		}
	}
	for _, q := range mldQueries {
		m, _ := ParseICMPv6(AppendMLDQuery(nil, from6, to6, &q))
		if got, fault := ParseMLDQuery(m); fault != OK || !m.ChecksumOK(from6, to6) || m.Type() != ListenerQuery || !sameQuery(got, q) {
			t.Errorf("MLD: got %+v, fault %v; want %+v", got, fault, q)
		}
	}
}

// sameQuery reports whether two queries say the same.
func sameQuery(a, b GroupQuery) bool {
	same := a.Sources.Len() == b.Sources.Len()
	for i := 0; same && i < a.Sources.Len(); i++ {
		same = a.Sources.At(i) == b.Sources.At(i)
	}
	a.Sources, b.Sources = AddrList{}, AddrList{}
	return same && reflect.DeepEqual(a, b)
}

// Codes from the highest bit on have an exponent and a mantissa (RFC 3376, section 4.1.1; RFC 3810,
// section 5.1.3).
func TestResponseCodesAreFloats(t *testing.T) {
	for _, c := range []struct{ code, bits, want uint32 }{
		{0, 4, 0}, {127, 4, 127}, {128, 4, 128}, {0x81, 4, 136}, {0x90, 4, 256}, {0xff, 4, 31744}, {32767, 12, 32767}, {0x8000, 12, 32768}, {0xffff, 12, 8387584},
	} {
		if got := decodeFloat(c.code, int(c.bits)); got != c.want {
			t.Errorf("the code %#x: got %d, want %d", c.code, got, c.want)
		}
		if got := encodeFloat(c.want, int(c.bits)); got != c.code {
			t.Errorf("the value %d: got the code %#x, want %#x", c.want, got, c.code)
		}
	}
	if got := encodeFloat(1<<31, 4); got != 0xff {
		t.Errorf("a value above the largest: got the code %#x, want 0xff", got)
	}
}

// igmpReports and mldReports have a report of each version.
var (
	igmpReports = []GroupReport{
		{Version: 1, Group: testGroup4}, {Version: 2, Group: testGroup4}, {Version: 2, Group: testGroup4, Leave: true},
		{Version: 3, Records: []GroupRecord{{Kind: ChangeToExclude, Group: testGroup4}, {Kind: AllowNewSources, Group: testGroup4, Sources: []netip.Addr{from, to}}}},
	}
	mldReports = []GroupReport{
		{Version: 1, Group: testGroup6}, {Version: 1, Group: testGroup6, Leave: true},
		{Version: 2, Records: []GroupRecord{{Kind: ModeIsInclude, Group: testGroup6, Sources: []netip.Addr{from6}}, {Kind: BlockOldSources, Group: testGroup6}}},
	}
)

func TestGroupReportsAreReadAsWritten(t *testing.T) {
	for _, r := range igmpReports {
		m, _ := ParseIGMP(AppendIGMPReport(nil, &r))
		if got, fault := ParseIGMPReport(m); fault != OK || !m.ChecksumOK() || !reflect.DeepEqual(got, r) {
			t.Errorf("IGMP: got %+v, fault %v, right checksum %t; want %+v", got, fault, m.ChecksumOK(), r)
		}
	}
	for _, r := range mldReports {
		m, _ := ParseICMPv6(AppendMLDReport(nil, from6, to6, &r))
		if got, fault := ParseMLDReport(m); fault != OK || !m.ChecksumOK(from6, to6) || !reflect.DeepEqual(got, r) {
			t.Errorf("MLD: got %+v, fault %v; want %+v", got, fault, r)
		}
	}
}

// A record's auxiliary data and unknown kinds are skipped (RFC 3376, section 4.2.11).
func TestUnknownRecordsAreSkipped(t *testing.T) {
	b := AppendIGMPReport(nil, &GroupReport{Version: 3, Records: []GroupRecord{{Kind: 9, Group: testGroup4}, {Kind: ModeIsExclude, Group: testGroup4}}})
	b[9] = 1 // the first record's Aux Data Len
	b = append(b[:16:16], append([]byte{1, 2, 3, 4}, b[16:]...)...)
	r, fault := ParseIGMPReport(IGMP(b))
	if fault != OK || len(r.Records) != 1 || r.Records[0].Kind != ModeIsExclude {
		t.Errorf("got %+v, fault %v; want the second record", r, fault)
	}
}

// The destination of a report depends on its version (RFC 3376, section 4.2.14; RFC 3810, section
// 5.2.14; RFC 2236, section 9; RFC 2710, section 4).
func TestReportsAreSentToTheGroupOfTheirVersion(t *testing.T) {
	for i, want := range []string{"239.1.2.3", "239.1.2.3", "224.0.0.2", "224.0.0.22"} {
		if got := igmpReports[i].IGMPDst(); got.String() != want {
			t.Errorf("IGMP %+v: got the destination %v, want %s", igmpReports[i], got, want)
		}
	}
	for i, want := range []string{"ff12::1234", "ff02::2", "ff02::16"} {
		if got := mldReports[i].MLDDst(); got.String() != want {
			t.Errorf("MLD %+v: got the destination %v, want %s", mldReports[i], got, want)
		}
	}
}

func TestInvalidGroupMessagesAreRejected(t *testing.T) {
	query4, query6 := AppendIGMPQuery(nil, &igmpQueries[3]), AppendMLDQuery(nil, from6, to6, &mldQueries[1])
	changed := func(b []byte, at int, value byte) []byte {
		b = bytes.Clone(b)
		b[at] = value
		return b
	}
	for _, c := range []struct {
		name string
		got  func() Fault
		want Fault
	}{
		{"IGMP of 7 bytes", func() Fault { _, f := ParseIGMP(query4[:7]); return f }, Short},
		{"an IGMP query of 9 bytes", func() Fault { _, f := ParseIGMPQuery(query4[:9]); return f }, WrongLength},
		{"an IGMP query with more sources than bytes", func() Fault { _, f := ParseIGMPQuery(query4[:16]); return f }, Short},
		{"an IGMP query for a host", func() Fault { _, f := ParseIGMPQuery(changed(query4, 4, 10)); return f }, WrongField},
		{"an IGMP report of an unknown type", func() Fault { _, f := ParseIGMPReport(changed(query4, 0, 0x13)); return f }, WrongField},
		{"an IGMPv3 report with more records than bytes", func() Fault {
			_, f := ParseIGMPReport(changed(AppendIGMPReport(nil, &igmpReports[3]), 7, 3))
			return f
		}, Short},
		{"an MLD query of 23 bytes", func() Fault { _, f := ParseMLDQuery(query6[:23]); return f }, Short},
		{"an MLD query of 25 bytes", func() Fault { _, f := ParseMLDQuery(query6[:25]); return f }, WrongLength},
		{"an MLD query with more sources than bytes", func() Fault { _, f := ParseMLDQuery(query6[:40]); return f }, Short},
		{"an MLD query for a host", func() Fault { _, f := ParseMLDQuery(changed(query6, 8, 0xfe)); return f }, WrongField},
		{"an MLD query with a code", func() Fault { _, f := ParseMLDQuery(changed(query6, 1, 1)); return f }, WrongField},
		{"an MLDv1 report without a group", func() Fault { _, f := ParseMLDReport(AppendMLDReport(nil, from6, to6, &mldReports[0])[:20]); return f }, Short},
	} {
		if got := c.got(); got != c.want {
			t.Errorf("%s: got fault %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRouterAlertsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		options []byte
		want    bool
	}{
		"none":                     {nil, false},
		"alone":                    {RouterAlertOption(), true},
		"behind others":            {append([]byte{1, 7, 3, 4}, RouterAlertOption()...), true},
		"behind the end":           {append([]byte{0}, RouterAlertOption()...), false},
		"behind a broken option":   {append([]byte{7, 0}, RouterAlertOption()...), false},
		"behind one that is long":  {[]byte{7, 9, 0x94}, false},
		"another option":           {[]byte{7, 3, 4, 0}, false},
		"an option without length": {[]byte{7}, false},
	} {
		if got := HasRouterAlert(c.options); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
	p, _ := ParseIPv6(append(AppendRouterAlert(AppendIPv6(nil, &IPv6Fields{NextHeader: HopByHop, Src: from6, Dst: to6, Payload: 12}), ICMPv6Protocol), 1, 2, 3, 4))
	if x, fault := ParseExtensions(p); fault != OK || !x.RouterAlert || x.Protocol != ICMPv6Protocol || len(x.Payload) != 4 {
		t.Errorf("the Hop-by-Hop header: got %+v, fault %v; want a Router Alert before ICMPv6 (RFC 2711)", x, fault)
	}
}

func FuzzIGMP(f *testing.F) {
	for _, q := range igmpQueries {
		f.Add(AppendIGMPQuery(nil, &q))
	}
	for _, r := range igmpReports {
		f.Add(AppendIGMPReport(nil, &r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, fault := ParseIGMP(b)
		if fault != OK {
			return
		}
		if q, fault := ParseIGMPQuery(m); fault == OK {
			again, fault := ParseIGMPQuery(AppendIGMPQuery(nil, &q))
			if fault != OK || !sameQuery(again, q) {
				t.Errorf("the query % x, parsed and written again: got %+v, fault %v; want %+v", b, again, fault, q)
			}
		}
		if r, fault := ParseIGMPReport(m); fault == OK {
			again, fault := ParseIGMPReport(AppendIGMPReport(nil, &r))
			if fault != OK || !reflect.DeepEqual(again, r) {
				t.Errorf("the report % x, parsed and written again: got %+v, fault %v; want %+v", b, again, fault, r)
			}
		}
	})
}

func FuzzMLD(f *testing.F) {
	for _, q := range mldQueries {
		f.Add(AppendMLDQuery(nil, from6, to6, &q))
	}
	for _, r := range mldReports {
		f.Add(AppendMLDReport(nil, from6, to6, &r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, fault := ParseICMPv6(b)
		if fault != OK {
			return
		}
		if q, fault := ParseMLDQuery(m); fault == OK {
			again, fault := ParseMLDQuery(AppendMLDQuery(nil, from6, to6, &q))
			if fault != OK || !sameQuery(again, q) {
				t.Errorf("the query % x, parsed and written again: got %+v, fault %v; want %+v", b, again, fault, q)
			}
		}
		if r, fault := ParseMLDReport(m); fault == OK {
			again, fault := ParseMLDReport(AppendMLDReport(nil, from6, to6, &r))
			if fault != OK || !reflect.DeepEqual(again, r) {
				t.Errorf("the report % x, parsed and written again: got %+v, fault %v; want %+v", b, again, fault, r)
			}
		}
	})
}

func FuzzRouterAlert(f *testing.F) {
	f.Add(RouterAlertOption())
	f.Add([]byte{1, 7, 3, 4, 0x94, 4, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if HasRouterAlert(b) && !bytes.Contains(b, []byte{0x94}) {
			t.Errorf("% x: got a Router Alert, want none without its kind", b)
		}
	})
}
