package load

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"weir/lab/result"
)

// probed is the report of a fake load.
type probed struct{ Report }

func (*probed) WriteText(io.Writer) error { return nil }

// fake returns the search on a server that keeps up with a rate of bears. n counts the probes, of
// which those for which disturbed returns true fail.
func fake(bears float64, disturbed func(n int) bool) (s Search, n *int) {
	n = new(int)
	return Search{Criterion: Criterion{"p99", time.Second}, MinRate: 1e-3, MaxRate: 1_000_000, Run: func(_ context.Context, rate float64) (Reported, error) {
		*n++
		r := &probed{Report{Offered: 1000, Messages: 1000, MessageRate: 800, LatencyUS: result.Percentiles{P99: 1}}}
		if rate > bears || disturbed(*n) {
			r.LatencyUS.P99 = 1e6
		}
		return r, nil
	}}, n
}

func calm(int) bool { return false }

func TestSearchFindsTheKnee(t *testing.T) {
	for _, bears := range []float64{1000, 800, 799, 50, 100_000, 2e6, 0} {
		s, n := fake(bears, calm)
		k, err := FindKnee(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		want := min(bears, s.MaxRate)
		if k.Rate > want || k.Rate < want*0.96 || k.Low > k.Rate || k.High < k.Rate || k.High > want || k.Confirmed != (want > 0) || k.Generator != (bears > s.MaxRate) || len(k.Probes) != *n || *n > 120 {
			t.Errorf("server of %v/s: got %v (%v to %v), confirmed %v, limited by the generator %v, by %d probes; want %v", bears, k.Rate, k.Low, k.High, k.Confirmed, k.Generator, *n, want)
		}
	}
}

// TestSearchToleratesDisturbance: one disturbed probe in five does not change the knee, because a
// rate must fail twice.
func TestSearchToleratesDisturbance(t *testing.T) {
	s, n := fake(1000, func(n int) bool { return n%5 == 0 })
	if k, err := FindKnee(t.Context(), s); err != nil || k.Low < 920 || k.High > 1000 || !k.Confirmed {
		t.Errorf("got error %v and the knee %v, from %v to %v, after %d probes, want one from 920 to 1,000", err, k.Rate, k.Low, k.High, *n)
	}
}

func TestSearchStartsAtTheGivenRate(t *testing.T) {
	s, _ := fake(1000, calm)
	s.From = 10
	if k, err := FindKnee(t.Context(), s); err != nil || k.Probes[0].Rate != 10 || k.Rate < 960 {
		t.Errorf("got error %v, %+v; want a first probe at 10/s, and a knee near 1000/s", err, k)
	}
}

func TestSearchEndsWithAnErrorOfTheLoad(t *testing.T) {
	s, n := fake(1000, calm)
	failed, run := errors.New("no server"), s.Run
	for last := range 12 {
		*n = 0
		s.Run = func(ctx context.Context, rate float64) (Reported, error) {
			if *n == last {
				return nil, failed
			}
			return run(ctx, rate)
		}
		if k, err := FindKnee(t.Context(), s); err != failed || len(k.Probes) != last || k.Confirmed {
			t.Errorf("a load that fails after %d probes: got error %v, %d probes, confirmed %t; want its error", last, err, len(k.Probes), k.Confirmed)
		}
	}
}

func TestVerdictNamesTheLimitThatAStepExceeded(t *testing.T) {
	good := Report{Offered: 1000, Messages: 970, Failed: 10, MessageRate: 97, OfferedRate: 100, LatencyUS: result.Percentiles{P99: 4999}}
	for want, change := range map[string]func(*Report){
		"":                                  func(*Report) {},
		generatorLate:                       func(r *Report) { r.LatenessUS.P99 = 2600 },
		"1.10 % of the messages failed":     func(r *Report) { r.Failed = 11 },
		"p99 5.001 ms":                      func(r *Report) { r.LatencyUS.P99 = 5001 },
		"nothing was answered":              func(r *Report) { *r = Report{} },
		"it fell behind: 95.0/s of 100.0/s": func(r *Report) { r.Messages, r.MessageRate = 950, 95 },
	} {
		r := good
		change(&r)
		if got := (Criterion{"p99", 5 * time.Millisecond}).Verdict(100, &r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestKneeIsReportedAsText(t *testing.T) {
	for _, test := range []struct {
		knee Knee
		want string
	}{
		{Knee{Rate: 900, Low: 890, High: 910, Confirmed: true, Estimates: make([]float64, 5)}, "the knee is at 900.0/s, from 890.0 to 910.0 in 5 searches: less than 1 % failures and p99 < 50ms"},
		{Knee{Rate: 900, Low: 890, Confirmed: true, Generator: true}, "at least 890.0/s"},
		{Knee{}, "no rate had less than 1 % failures"},
	} {
		test.knee.Criterion = "p99 < 50ms"
		test.knee.Probes = []Probe{{Good: true, Report: &probed{}}, {Rate: 2000, Why: "p99 60.000 ms", Report: &probed{}}, {Rate: 900, Good: true, Report: &probed{}}}
		var b strings.Builder
		if err := test.knee.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{test.want, "(closed loop)", "(too high: p99 60.000 ms)"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("got\n%s\nwant %q in it", b.String(), want)
			}
		}
	}
}

func FuzzCriterion(f *testing.F) {
	for _, text := range []string{"p99 < 10ms", "p50<1s", " max < 1m0s ", "p99.9 < 1us", "p98 < 1s", "p99", "p99 < ", "p99 < -1s", "p99 < 9h", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCriterion(text)
		if err != nil {
			if !errors.Is(err, ErrUsage) {
				t.Errorf("%q: got error %v, want one that Is ErrUsage", text, err)
			}
			return
		}
		if again, err := ParseCriterion(c.String()); err != nil || again != c {
			t.Errorf("%q: got %v, and %v, error %v after formatting and parsing again; want the same", text, c, again, err)
		}
	})
}
