package httpload

import (
	"math"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
	"weir/lab/result"
)

// fake returns the search on a server that keeps up with a rate of bears, and in confirmations with
// long. n counts the probes.
func fake(bears, long float64) (*search, *int) {
	n := new(int)
	return &search{try: func(rate float64, confirm bool) (Probe, error) {
		*n++
		limit := bears
		if confirm {
			limit = long
		}
		p := Probe{Rate: rate, Confirm: confirm, Good: rate <= limit}
		if p.Report.MessageRate = 800; !p.Good {
			p.Why = "p99"
		}
		return p, nil
	}}, n
}

func TestSearchFindsTheKnee(t *testing.T) {
	for _, test := range []struct{ bears, long, want float64 }{
		{1000, 1000, 1000}, {800, 800, 800}, {799, 799, 799}, {50, 50, 50}, {100_000, 100_000, 100_000}, {1000, 900, 900}, {2e6, 2e6, MaxRate}, {1000, 500, 0}, {0, 0, 0},
	} {
		s, n := fake(test.bears, test.long)
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		k := s.knee
		if k.Rate > test.want || k.Rate < test.want*0.92 || k.Confirmed != (test.want > 0) || len(k.Probes) != *n || *n > 80 {
			t.Errorf("server of %v/s, longer %v/s: got %v, confirmed %v, by %d probes; want %v", test.bears, test.long, k.Rate, k.Confirmed, *n, test.want)
		}
	}
}

// TestSearchToleratesDisturbance checks that one disturbed probe in five does not change the knee,
// because a rate must fail twice.
func TestSearchToleratesDisturbance(t *testing.T) {
	s, n := fake(1000, 1000)
	calm := s.try
	s.try = func(rate float64, confirm bool) (Probe, error) {
		p, err := calm(rate, confirm)
		if *n%5 == 0 {
			p.Good, p.Why = false, "a neighbour"
		}
		return p, err
	}
	if err := s.run(); err != nil || s.knee.Rate < 920 || s.knee.Rate > 1000 || !s.knee.Confirmed {
		t.Errorf("got error %v and the knee %v after %d probes, want one from 920 to 1,000", err, s.knee.Rate, *n)
	}
}

func TestVerdictNamesTheLimitThatAStepExceeded(t *testing.T) {
	good := Report{Rate: 100, Report: load.Report{Offered: 1000, Messages: 970, Failed: 10, MessageRate: 97, OfferedRate: 100, LatencyUS: result.Percentiles{P99: 5000}}}
	for want, change := range map[string]func(*Report){
		"":                                  func(*Report) {},
		generatorLate:                       func(r *Report) { r.LatenessUS.P99 = 2600 },
		"1.10 % of the requests failed":     func(r *Report) { r.Failed = 11 },
		"p99 5.001 ms":                      func(r *Report) { r.LatencyUS.P99 = 5001 },
		"nothing was answered":              func(r *Report) { *r = Report{} },
		"it fell behind: 95.0/s of 100.0/s": func(r *Report) { r.Messages, r.MessageRate = 950, 95 },
	} {
		r := good
		change(&r)
		r.DueUS.Mean = 1000
		if got := verdict(&r, 5*time.Millisecond); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKneeIsReportedAsText(t *testing.T) {
	limit := int64(50 * time.Millisecond)
	for _, test := range []struct {
		knee Knee
		want string
	}{
		{Knee{Rate: 900, Confirmed: true, LimitNS: limit}, "the knee is at 900.0 requests/s: less than 1 % failures and a p99 of at most 50ms, confirmed"},
		{Knee{Rate: 900, Confirmed: true, Generator: true, LimitNS: limit}, "at least 900.0 requests/s"},
		{Knee{LimitNS: limit}, "no rate had less than 1 % failures"},
	} {
		test.knee.Probes = []Probe{{Good: true}, {Rate: 2000, Why: "p99 60.000 ms"}, {Rate: 900, Good: true, Confirm: true}}
		var b strings.Builder
		if err := test.knee.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{test.want, "(closed loop)", "(too high: p99 60.000 ms)", "(confirmed)"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("got\n%s\nwant %q in it", b.String(), want)
			}
		}
	}
}

func TestRampsAreParsedOrRejected(t *testing.T) {
	for text, want := range map[string][]float64{
		"100:300:100": {100, 200, 300}, "100:350:100": {100, 200, 300}, "0.1:0.3:0.1": {0.1, 0.2, 0.3}, "5:5:1": {5},
		"": nil, "100": nil, "1:2": nil, "1:2:3:4": nil, "a:2:1": nil, "3:2:1": nil, "1:2:0": nil, "1:2:-1": nil, "0:2:1": nil, "1:2e6:1e5": nil, "1:2000:1": nil, "NaN:2:1": nil, "1:2:NaN": nil,
	} {
		r, err := ParseRamp(text)
		if (err == nil) != (want != nil) {
			t.Errorf("%q: got the error %v, want one: %v", text, err, want == nil)
		}
		if err != nil {
			continue
		}
		rates := r.Rates()
		if len(rates) != len(want) {
			t.Errorf("%q: %v, want %v", text, rates, want)
			continue
		}
		for i := range want {
			if math.Abs(rates[i]-want[i]) > 1e-9 {
				t.Errorf("%q: %v, want %v", text, rates, want)
			}
		}
	}
}
