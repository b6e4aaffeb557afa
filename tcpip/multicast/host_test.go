package multicast

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/wire"
)

// script runs a host through actions at their times, and returns what it sends with the times. Each
// random delay is half of the longest.
type script struct {
	t    testing.TB
	h    *Host
	now  Time
	sent []string
}

func newScript(t testing.TB, ipv6 bool) *script {
	return &script{t: t, h: New(Config{IPv6: ipv6, MaxReport: 1200, Random: func(most time.Duration) time.Duration { return most / 2 }})}
}

// start is the time of the script's beginning: 0 is no time.
const start = Time(time.Hour)

// play performs actions such as "1s exclude 239.1.1.1 10.0.0.1": include, exclude, query and
// report. It ends a while after the last one.
func play(t testing.TB, ipv6 bool, actions ...string) []string {
	t.Helper()
	s := newScript(t, ipv6)
	for _, a := range actions {
		f := strings.Fields(a)
		at, err := time.ParseDuration(f[0])
		if err != nil {
			t.Fatal(err)
		}
		s.runUntil(start + Time(at))
		s.do(f[1], f[2:])
		s.runUntil(s.now)
	}
	s.runUntil(s.now + Time(time.Minute))
	return s.sent
}

// runUntil runs all deadlines up to a time.
func (s *script) runUntil(end Time) {
	s.t.Helper()
	for {
		next := s.h.Tick(s.now, s.send)
		if next != 0 && next <= s.now {
			s.t.Fatalf("Tick at %v: got the next deadline %v, want a later one", s.now, next)
		}
		if next == 0 || next > end {
			break
		}
		s.now = next
	}
	s.now = max(s.now, end)
}

func addrs(texts []string) (all []netip.Addr) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func (s *script) do(action string, f []string) {
	s.t.Helper()
	switch action {
	case "include", "exclude":
		s.h.Set(netip.MustParseAddr(f[0]), Filter{action == "exclude", SortSources(addrs(f[1:]))}, s.now, s.send)
	case "report":
		s.h.ReceiveReport(netip.MustParseAddr(f[0]))
	case "query": // version, Max Response Time, robustness, group, sources
		q := wire.GroupQuery{Version: f[0][0] - '0', Robustness: f[2][0] - '0', Group: netip.IPv4Unspecified()}
		q.MaxResponse, _ = time.ParseDuration(f[1])
		if f[3] != "all" {
			q.Group = netip.MustParseAddr(f[3])
		}
		q.Sources = wire.NewAddrList(addrs(f[4:])...)
		s.h.Receive(&q, s.now)
	default:
		s.t.Fatalf("unknown action %q", action)
	}
}

var kindNames = map[wire.RecordKind]string{wire.ModeIsInclude: "IS_IN", wire.ModeIsExclude: "IS_EX", wire.ChangeToInclude: "TO_IN", wire.ChangeToExclude: "TO_EX", wire.AllowNewSources: "ALLOW", wire.BlockOldSources: "BLOCK"}

func (s *script) send(r *wire.GroupReport) {
	text := fmt.Sprintf("%v v%d", time.Duration(s.now-start).Round(time.Millisecond), r.Version)
	switch {
	case r.Leave:
		text += " leave " + r.Group.String()
	case r.Group.IsValid():
		text += " report " + r.Group.String()
	}
	for _, one := range r.Records {
		text += fmt.Sprint(" ", kindNames[one.Kind], " ", one.Group, " ", one.Sources)
	}
	s.sent = append(s.sent, strings.ReplaceAll(text, " []", ""))
}

// conversation is what a host does and what it sends.
type conversation struct {
	name string
	do   []string
	want []string
}

func playAll(t *testing.T, ipv6 bool, all []conversation) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if got := play(t, ipv6, c.do...); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// RFC 3376, section 5.1: a change is reported at once and again, together with others.
func TestChangesAreReported(t *testing.T) {
	playAll(t, false, []conversation{
		{"a join and a leave", []string{"0s exclude 239.1.1.1", "10s include 239.1.1.1"},
			[]string{"0s v3 TO_EX 239.1.1.1", "500ms v3 TO_EX 239.1.1.1", "10s v3 TO_IN 239.1.1.1", "10.5s v3 TO_IN 239.1.1.1"}},
		{"a leave at once replaces the join", []string{"0s exclude 239.1.1.1", "100ms include 239.1.1.1"},
			[]string{"0s v3 TO_EX 239.1.1.1", "100ms v3 TO_IN 239.1.1.1", "600ms v3 TO_IN 239.1.1.1"}},
		{"sources are added and removed", []string{"0s include 232.1.1.1 10.0.0.2 10.0.0.1", "10s include 232.1.1.1 10.0.0.2 10.0.0.3", "20s include 232.1.1.1"},
			[]string{"0s v3 ALLOW 232.1.1.1 [10.0.0.1 10.0.0.2]", "500ms v3 ALLOW 232.1.1.1 [10.0.0.1 10.0.0.2]",
				"10s v3 ALLOW 232.1.1.1 [10.0.0.3] BLOCK 232.1.1.1 [10.0.0.1]", "10.5s v3 ALLOW 232.1.1.1 [10.0.0.3] BLOCK 232.1.1.1 [10.0.0.1]",
				"20s v3 BLOCK 232.1.1.1 [10.0.0.2 10.0.0.3]", "20.5s v3 BLOCK 232.1.1.1 [10.0.0.2 10.0.0.3]"}},
		{"excluded sources are blocked, and allowed again", []string{"0s exclude 239.1.1.1 10.0.0.1", "10s exclude 239.1.1.1 10.0.0.2"},
			[]string{"0s v3 TO_EX 239.1.1.1 [10.0.0.1]", "500ms v3 TO_EX 239.1.1.1 [10.0.0.1]",
				"10s v3 ALLOW 239.1.1.1 [10.0.0.1] BLOCK 239.1.1.1 [10.0.0.2]", "10.5s v3 ALLOW 239.1.1.1 [10.0.0.1] BLOCK 239.1.1.1 [10.0.0.2]"}},
		{"changes of sources are merged", []string{"0s include 232.1.1.1 10.0.0.1", "100ms include 232.1.1.1 10.0.0.2"},
			[]string{"0s v3 ALLOW 232.1.1.1 [10.0.0.1]", "100ms v3 ALLOW 232.1.1.1 [10.0.0.2] BLOCK 232.1.1.1 [10.0.0.1]", "600ms v3 ALLOW 232.1.1.1 [10.0.0.2] BLOCK 232.1.1.1 [10.0.0.1]"}},
		{"a change of the mode includes those of sources", []string{"0s include 232.1.1.1 10.0.0.1", "100ms exclude 232.1.1.1 10.0.0.2", "200ms exclude 232.1.1.1 10.0.0.2 10.0.0.3"},
			[]string{"0s v3 ALLOW 232.1.1.1 [10.0.0.1]", "100ms v3 TO_EX 232.1.1.1 [10.0.0.2]", "200ms v3 TO_EX 232.1.1.1 [10.0.0.2 10.0.0.3]", "700ms v3 BLOCK 232.1.1.1 [10.0.0.3]"}},
		{"what stays is not reported", []string{"0s exclude 239.1.1.1", "10s exclude 239.1.1.1", "20s include 239.9.9.9"},
			[]string{"0s v3 TO_EX 239.1.1.1", "500ms v3 TO_EX 239.1.1.1"}},
		{"the querier's robustness variable", []string{"0s query 3 10s 3 all", "20s exclude 239.1.1.1", "30s query 3 10s 0 all", "50s include 239.1.1.1"},
			[]string{"20s v3 TO_EX 239.1.1.1", "20.5s v3 TO_EX 239.1.1.1", "21s v3 TO_EX 239.1.1.1", "35s v3 IS_EX 239.1.1.1", "50s v3 TO_IN 239.1.1.1", "50.5s v3 TO_IN 239.1.1.1"}},
		{"the group of all hosts", []string{"0s exclude 224.0.0.1", "10s query 3 1s 2 all"}, nil},
	})
	playAll(t, true, []conversation{
		{"MLD", []string{"0s exclude ff02::1:ff00:1", "10s include ff02::1:ff00:1"},
			[]string{"0s v2 TO_EX ff02::1:ff00:1", "500ms v2 TO_EX ff02::1:ff00:1", "10s v2 TO_IN ff02::1:ff00:1", "10.5s v2 TO_IN ff02::1:ff00:1"}},
		{"groups that are never reported (RFC 3810, section 6)", []string{"0s exclude ff02::1", "0s exclude ff01::5", "0s exclude ff00::5", "10s query 2 1s 2 all"}, nil},
	})
}

// RFC 3376, section 5.2.
func TestQueriesAreAnswered(t *testing.T) {
	joined := func(more ...string) []string {
		return append([]string{"0s exclude 239.1.1.1 10.0.0.9", "0s include 232.1.1.1 10.0.0.1 10.0.0.2"}, more...)
	}
	change := []string{"0s v3 TO_EX 239.1.1.1 [10.0.0.9]", "0s v3 ALLOW 232.1.1.1 [10.0.0.1 10.0.0.2]", "500ms v3 ALLOW 232.1.1.1 [10.0.0.1 10.0.0.2] TO_EX 239.1.1.1 [10.0.0.9]"}
	for name, c := range map[string]struct{ do, want []string }{
		"a general query":                  {[]string{"10s query 3 10s 2 all"}, []string{"15s v3 IS_IN 232.1.1.1 [10.0.0.1 10.0.0.2] IS_EX 239.1.1.1 [10.0.0.9]"}},
		"a query for a group":              {[]string{"10s query 3 1s 2 239.1.1.1"}, []string{"10.5s v3 IS_EX 239.1.1.1 [10.0.0.9]"}},
		"a query for another group":        {[]string{"10s query 3 1s 2 239.1.1.2"}, nil},
		"a query for included sources":     {[]string{"10s query 3 1s 2 232.1.1.1 10.0.0.2 10.0.0.3"}, []string{"10.5s v3 IS_IN 232.1.1.1 [10.0.0.2]"}},
		"a query for sources not included": {[]string{"10s query 3 1s 2 232.1.1.1 10.0.0.3"}, nil},
		"a query for excluded sources":     {[]string{"10s query 3 1s 2 239.1.1.1 10.0.0.9 10.0.0.8"}, []string{"10.5s v3 IS_IN 239.1.1.1 [10.0.0.8]"}},
		"rule 1: a pending answer to a general query comes sooner": {[]string{"10s query 3 2s 2 all", "10s query 3 10s 2 239.1.1.1", "10s query 3 10s 2 all"},
			[]string{"11s v3 IS_IN 232.1.1.1 [10.0.0.1 10.0.0.2] IS_EX 239.1.1.1 [10.0.0.9]"}},
		"rule 2: a later general query is answered sooner": {[]string{"10s query 3 10s 2 all", "11s query 3 2s 2 all"},
			[]string{"12s v3 IS_IN 232.1.1.1 [10.0.0.1 10.0.0.2] IS_EX 239.1.1.1 [10.0.0.9]"}},
		"rule 4: a query for all sources includes those for some": {[]string{"10s query 3 2s 2 239.1.1.1 10.0.0.9", "10s query 3 10s 2 239.1.1.1"}, []string{"11s v3 IS_EX 239.1.1.1 [10.0.0.9]"}},
		"rule 4: and the other way round":                         {[]string{"10s query 3 10s 2 239.1.1.1", "10s query 3 2s 2 239.1.1.1 10.0.0.9"}, []string{"11s v3 IS_EX 239.1.1.1 [10.0.0.9]"}},
		"rule 5: sources are merged":                              {[]string{"10s query 3 2s 2 239.1.1.1 10.0.0.7", "10s query 3 10s 2 239.1.1.1 10.0.0.8 10.0.0.7"}, []string{"11s v3 IS_IN 239.1.1.1 [10.0.0.7 10.0.0.8]"}},
		"a group that is left meanwhile": {[]string{"10s query 3 10s 2 239.1.1.1", "11s include 239.1.1.1"},
			[]string{"11s v3 TO_IN 239.1.1.1", "11.5s v3 TO_IN 239.1.1.1"}},
		"queries without a delay are answered at most every 100 ms": {[]string{"10s query 3 0s 2 239.1.1.1", "10.001s query 3 0s 2 239.1.1.1", "10.002s query 3 0s 2 239.1.1.1"},
			[]string{"10s v3 IS_EX 239.1.1.1 [10.0.0.9]", "10.1s v3 IS_EX 239.1.1.1 [10.0.0.9]"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, false, joined(c.do...)...)
			if want := append(slices.Clone(change), c.want...); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// RFC 3376, section 7; RFC 3810, section 8.
func TestOlderQueriersAreSpokenToInTheirVersion(t *testing.T) {
	playAll(t, false, []conversation{
		{"IGMPv2", []string{"0s query 2 10s 0 all", "1s exclude 239.1.1.1", "20s query 2 1s 0 239.1.1.1", "30s include 239.1.1.1"},
			[]string{"1s v2 report 239.1.1.1", "6s v2 report 239.1.1.1", "20.5s v2 report 239.1.1.1", "30s v2 leave 239.1.1.1"}},
		{"IGMPv1 has no leave", []string{"0s query 1 10s 0 all", "1s exclude 239.1.1.1", "20s query 1 10s 0 all", "30s include 239.1.1.1"},
			[]string{"1s v1 report 239.1.1.1", "6s v1 report 239.1.1.1", "25s v1 report 239.1.1.1"}},
		{"the oldest counts", []string{"0s query 1 10s 0 all", "1s query 2 10s 0 all", "2s query 3 10s 2 all", "3s exclude 239.1.1.1"},
			[]string{"3s v1 report 239.1.1.1", "8s v1 report 239.1.1.1"}},
		{"a change of the version cancels what is pending", []string{"0s exclude 239.1.1.1", "100ms query 2 10s 0 all"},
			[]string{"0s v3 TO_EX 239.1.1.1", "5.1s v2 report 239.1.1.1"}},
		{"a group that was left before is not reported", []string{"0s exclude 239.1.1.1", "10s include 239.1.1.1", "10.1s query 2 10s 0 all"},
			[]string{"0s v3 TO_EX 239.1.1.1", "500ms v3 TO_EX 239.1.1.1", "10s v3 TO_IN 239.1.1.1"}},
		{"a report of another host stands for ours", []string{"0s query 2 10s 0 all", "1s exclude 239.1.1.1", "2s report 239.1.1.1", "20s query 2 10s 0 all", "21s report 239.1.1.1", "30s include 239.1.1.1"},
			[]string{"1s v2 report 239.1.1.1"}},
		{"but not in version 3", []string{"0s exclude 239.1.1.1", "1ms report 239.1.1.1"},
			[]string{"0s v3 TO_EX 239.1.1.1", "500ms v3 TO_EX 239.1.1.1"}},
		{"the older querier is gone after two intervals and a response", []string{"0s query 2 10s 0 all", "259s exclude 239.1.1.1", "261s exclude 239.1.1.2"},
			[]string{"4m19s v2 report 239.1.1.1", "4m21s v3 TO_EX 239.1.1.2", "4m21.5s v3 TO_EX 239.1.1.2"}},
		{"filters have no effect", []string{"0s query 2 10s 0 all", "1s include 239.1.1.1 10.0.0.1", "10s exclude 239.1.1.1", "20s include 239.1.1.1"},
			[]string{"1s v2 report 239.1.1.1", "6s v2 report 239.1.1.1", "20s v2 leave 239.1.1.1"}},
	})
	playAll(t, true, []conversation{
		{"MLDv1", []string{"0s query 1 10s 0 all", "1s exclude ff12::1", "30s include ff12::1"},
			[]string{"1s v1 report ff12::1", "6s v1 report ff12::1", "30s v1 leave ff12::1"}},
	})
}

// A report has at most MaxReport bytes; the records of many groups are in several.
func TestReportsFitInPackets(t *testing.T) {
	s := newScript(t, true)
	group, records := netip.MustParseAddr("ff12::1"), 0
	for range 200 {
		s.h.Set(group, AnySource, s.now, func(*wire.GroupReport) {})
		group = group.Next()
	}
	s.h.Receive(&wire.GroupQuery{Version: 2, Group: netip.IPv6Unspecified()}, s.now)
	largest, reports := 0, 0
	s.h.Tick(s.now+Time(time.Second), func(r *wire.GroupReport) {
		size := len(wire.AppendMLDReport(nil, group, group, r))
		records, largest, reports = records+len(r.Records), max(largest, size), reports+1
	})
	if largest > 1200 || largest < 1100 || records != 400 { // current states and changes
		t.Errorf("got %d records in %d reports, the largest of %d bytes; want 400 in reports of at most 1200 that are full", records, reports, largest)
	}
}

// A query of more sources than MaxSources is answered as one for all.
func TestQueriesOfManySourcesAreForAll(t *testing.T) {
	var sources []string
	for a := netip.MustParseAddr("10.0.0.1"); len(sources) <= MaxSources; a = a.Next() {
		sources = append(sources, a.String())
	}
	for _, do := range [][]string{
		{"10s query 3 1s 2 239.1.1.1 " + strings.Join(sources, " ")},
		{"10s query 3 1s 2 239.1.1.1 " + strings.Join(sources[:40], " "), "10s query 3 1s 2 239.1.1.1 " + strings.Join(sources[40:], " ")},
	} {
		got := play(t, false, append([]string{"0s exclude 239.1.1.1"}, do...)...)
		if want := "10.5s v3 IS_EX 239.1.1.1"; got[len(got)-1] != want {
			t.Errorf("got %q at last, want %q", got[len(got)-1], want)
		}
	}
}
