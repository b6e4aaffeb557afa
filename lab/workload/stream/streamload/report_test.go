package streamload

import (
	"strings"
	"testing"

	"weir/lab/internal/tally"
	"weir/lab/load"
	"weir/lab/result"
)

const wantText = `127.0.0.1:7000: 64 connections x 125/s x 1000 bytes, together, 10 idle
  offered      8000.0 messages/s for 10 s: 80000, 99.99 % of it achieved
  lateness     p1 1.5 us, p50 150 us, p99 1.250 ms, p99.9 2.00 s, max 3.00 s
  behind       20 found their connection full or busy
  messages     79990, 79.99 MB in 79900 writes; 10 never sent
  gaps         p1 0.0 us, p50 8.000 ms, p99 0.0 us, p99.9 0.0 us, max 0.0 us
  spread       p1 0.0 us, p50 0.0 us, p99 0.0 us, p99.9 0.0 us, max 300 us  (first to last of a burst)
  latency      p1 0.0 us, p50 0.0 us, p99 0.0 us, p99.9 0.0 us, max 99.0 us  (5 echoes, from the due time)
  churn        3 of 4 short connections, 1 started late
               p1 0.0 us, p50 10.0 us, p99 0.0 us, p99.9 0.0 us, max 0.0 us
  discarded    12 bytes of unexpected replies
  own CPU      0.150 of a core, waited 0.010 for one; 18.75 us for each message
  errors       closed early (1), wrong byte (2)
               connection 3: closed early when 7 messages had been sent on all
`

func TestReportIsWrittenAsText(t *testing.T) {
	r := Report{Target: "127.0.0.1:7000", Connections: 64, Idle: 10, Pattern: load.Together, Rate: 125, Size: 1000, Writes: 79900, Owed: 10, Echoed: 5,
		Report: load.Report{OfferedRate: 8000, AchievedRatio: 79990.0 / 80000, Offered: 80000, Messages: 79990, Bytes: 79_990_000, Behind: 20,
			LatenessUS: result.Percentiles{P01: 1.5, P50: 150, P99: 1250, P999: 2e6, Max: 3e6},
			GapUS:      result.Percentiles{P50: 8000}, SpreadUS: result.Percentiles{Max: 300}, LatencyUS: result.Percentiles{Max: 99},
			Errors: map[string]int64{"wrong byte": 2, "closed early": 1}, Details: []string{"connection 3: closed early when 7 messages had been sent on all"},
			CPUNS: 1_500_000_000, RunQueueNS: 100_000_000, WindowNS: 10_000_000_000},
		Discarded: 12, Churn: &ChurnReport{Offered: 4, Done: 3, Behind: 1, DurationUS: result.Percentiles{P50: 10}}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || b.String() != wantText {
		t.Errorf("error %v, got\n%swant\n%s", err, b.String(), wantText)
	}
}

func TestBurstsAreMeasuredFromFirstToLast(t *testing.T) {
	spread := tally.NewDistribution()
	var b burst
	for _, m := range []struct{ at, now int64 }{{1, 5}, {1, 10}, {1, 105}, {1000, 1001}, {2000, 2000}, {2000, 2300}} {
		if b.add(m.at, m.now, spread) {
			b.inWindow = m.at < 2000 // the last burst is outside the window
		}
	}
	b.end(spread)
	if n, p := spread.Count(), spread.Percentiles(); n != 2 || p.Max != 0.1 || p.P01 != 0 {
		t.Errorf("got %d bursts with spreads of %+v us, want 2 from 0 to 100 ns", n, p)
	}
}
