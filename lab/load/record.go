package load

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"weir/lab/result"
)

// distribution collects nanoseconds, to three figures and up to five minutes. Recording allocates nothing.
type distribution struct{ h *hdrhistogram.Histogram }

const distributionMax = int64(5 * time.Minute)

func newDistribution() distribution { return distribution{hdrhistogram.New(1, distributionMax, 3)} }

func (d distribution) record(ns int64) {
	d.h.RecordValue(min(max(ns, 0), distributionMax)) //nolint:errcheck // in range
}

func (d distribution) percentiles() result.Percentiles {
	if d.h.TotalCount() == 0 {
		return result.Percentiles{}
	}
	us := func(q float64) float64 { return float64(d.h.ValueAtPercentile(q)) / 1e3 }
	return result.Percentiles{P01: us(1), P50: us(50), P99: us(99), P999: us(99.9), Max: float64(d.h.Max()) / 1e3}
}

// window is the measured time: what is due at from or later and before to counts. The controller sets it
// before from has come, to first; sender and reader only read it.
type window struct{ from, to atomic.Int64 }

// unset is later than anything.
const unset = math.MaxInt64

func newWindow() *window {
	w := &window{}
	w.from.Store(unset)
	w.to.Store(unset)
	return w
}

func (w *window) holds(at int64) bool { return at >= w.from.Load() && at < w.to.Load() }

// failures counts errors by kind and keeps the first few in full. It has one owner at a time.
type failures struct {
	kinds   map[string]int64
	details []string
}

const detailsKept = 5

func (f *failures) add(kind string, n int64, detail string, args ...any) {
	if f.kinds == nil {
		f.kinds = map[string]int64{}
	}
	f.kinds[kind] += n
	if len(f.details) < detailsKept {
		f.details = append(f.details, fmt.Sprintf(detail, args...))
	}
}

func (f *failures) merge(g failures) {
	for kind, n := range g.kinds {
		if f.kinds == nil {
			f.kinds = map[string]int64{}
		}
		f.kinds[kind] += n
	}
	for _, d := range g.details {
		if len(f.details) < detailsKept {
			f.details = append(f.details, d)
		}
	}
}

// burst measures from the first to the last message of those that were due together.
type burst struct {
	at, first, last int64 // ns
	count           bool  // it is in the window
}

// note adds a message that was due at the given time and begun at now. It is true for a burst's first.
func (b *burst) note(at, now int64, spread distribution) bool {
	begins := at != b.at
	if begins {
		b.end(spread)
		*b = burst{at: at, first: now}
	}
	b.last = now
	return begins
}

// end closes a burst.
func (b *burst) end(spread distribution) {
	if b.count {
		spread.record(b.last - b.first)
	}
	b.count = false
}
