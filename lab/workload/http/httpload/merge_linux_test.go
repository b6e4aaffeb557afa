package httpload

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
)

// TestMergedReportsHaveTheFiguresOfAllParts: one report merges to itself, and the same report twice
// to twice its counts.
func TestMergedReportsHaveTheFiguresOfAllParts(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"closed loop": func(*Config) {},
		"open loop":   func(c *Config) { c.Rate = 400 },
		"described requests": func(c *Config) {
			c.Expect, c.Mix, c.Rate = nil, []Request{{Path: "/"}, {Path: "/a", Status: "2xx"}}, 400
		},
	} {
		c := lenient(web(t))
		c.Duration, c.Histograms, c.Seed = 200*time.Millisecond, true, 1
		change(&c)
		r, err := Run(t.Context(), c, load.Events{})
		if err != nil || r.Messages == 0 {
			t.Fatalf("%s: got error %v and %+v, want answers", name, err, r)
		}
		for i := range r.Mix {
			r.Mix[i].latencies = 0 // not part of an encoded report
		}
		if one, err := Merge(r); err != nil || !reflect.DeepEqual(rounded(one), rounded(r)) {
			t.Errorf("%s, one report: got error %v and\n%+v, want the same\n%+v", name, err, one, r)
		}
		two, err := Merge(r, r)
		if err != nil || two.Connections != 2*r.Connections || two.Rate != 2*r.Rate || two.Attempted != 2*r.Attempted || two.BodyBytes != 2*r.BodyBytes || two.Messages != 2*r.Messages {
			t.Errorf("%s, two reports: got error %v and\n%+v, want twice the counts of\n%+v", name, err, two, r)
		}
		if two.TotalUS.Max != r.TotalUS.Max || two.WaitUS.Min != r.WaitUS.Min || two.LatencyUS.Max != r.LatencyUS.Max {
			t.Errorf("%s, two reports: got\n%+v, want the extremes of\n%+v", name, two, r)
		}
		for i, m := range two.Mix {
			if m.Answered != 2*r.Mix[i].Answered || math.Abs(m.LatencyMeanUS-r.Mix[i].LatencyMeanUS) > 1e-3 {
				t.Errorf("%s, two reports, request %d: got %+v, want twice %+v", name, i, m, r.Mix[i])
			}
		}
		other := r
		other.Mix = append([]MixReport{{}}, r.Mix...)
		if _, err := Merge(r, other); err == nil {
			t.Errorf("%s: merging reports of different requests: got no error, want one", name)
		}
	}
}

func TestReportsOfTLSMergeIfTheyNegotiatedTheSame(t *testing.T) {
	r := Report{TLS: &TLSReport{Version: "TLS 1.3", Handshakes: 2, Resumed: 1}}
	if all, err := Merge(r, r); err != nil || all.TLS.Handshakes != 4 || all.TLS.Resumed != 2 {
		t.Errorf("got %+v and error %v, want 4 handshakes, 2 of them resumed", all.TLS, err)
	}
	for _, other := range []*TLSReport{nil, {Version: "TLS 1.2"}} {
		if _, err := Merge(r, Report{TLS: other}); err == nil {
			t.Errorf("merging with %+v: got no error, want one", other)
		}
	}
}

// rounded returns r with rounded averages, which merging computes anew.
func rounded(r Report) Report {
	r.LatencyMeanUS, r.AchievedRatio = math.Round(r.LatencyMeanUS), math.Round(1e6*r.AchievedRatio)
	r.Mix = slices.Clone(r.Mix)
	for i := range r.Mix {
		r.Mix[i].LatencyMeanUS = math.Round(r.Mix[i].LatencyMeanUS)
	}
	return r
}

func TestReportsThatNoGeneratorMakesAreNotMerged(t *testing.T) {
	for name, r := range map[string]Report{
		"negative connections":                      {Connections: -1},
		"overflowing bytes":                         {BodyBytes: math.MaxInt64},
		"negative answers":                          {Mix: []MixReport{{Answered: -1}}},
		"endless latency":                           {Mix: []MixReport{{LatencyMeanUS: math.MaxFloat64}}},
		"negative handshakes":                       {TLS: &TLSReport{Handshakes: -1}},
		"a version of TLS that controls a terminal": {TLS: &TLSReport{Version: "\x1b[2J"}},
	} {
		if _, err := Merge(r); err == nil || !strings.Contains(err.Error(), "report 0") {
			t.Errorf("%s: got error %v, want one about report 0", name, err)
		}
	}
}
