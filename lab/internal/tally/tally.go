// Package tally collects the results of a generator's threads: distributions of times, errors by
// kind, and the measured window.
//
// # Limitations
//
// Times over five minutes count as five minutes. Only Window may be shared between goroutines.
package tally

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"weir/lab/result"
)

// Distribution collects nanoseconds, with three significant digits and up to five minutes.
// Recording does not allocate.
type Distribution struct{ h *hdrhistogram.Histogram }

const (
	distributionMax   = int64(5 * time.Minute)
	significantDigits = 3
)

// NewDistribution returns an empty distribution.
func NewDistribution() Distribution {
	return Distribution{hdrhistogram.New(1, distributionMax, significantDigits)}
}

// Record adds a time in ns; a value out of range is clamped.
func (d Distribution) Record(ns int64) {
	d.h.RecordValue(min(max(ns, 0), distributionMax)) //nolint:errcheck // in range
}

// Count returns how many times were recorded.
func (d Distribution) Count() int64 { return d.h.TotalCount() }

// Percentiles returns the percentiles in microseconds; zero if nothing was recorded.
func (d Distribution) Percentiles() result.Percentiles {
	if d.h.TotalCount() == 0 {
		return result.Percentiles{}
	}
	us := func(q float64) float64 { return float64(d.h.ValueAtPercentile(q)) / 1e3 }
	return result.Percentiles{P01: us(1), P50: us(50), P99: us(99), P999: us(99.9), Max: float64(d.h.Max()) / 1e3}
}

// MeanUS returns the mean in microseconds; 0 if nothing was recorded.
func (d Distribution) MeanUS() float64 { return d.h.Mean() / 1e3 }

// Failures counts errors by kind and keeps the first few in full. It has one owner at a time.
type Failures struct {
	Kinds   map[string]int64 // nil while there is none
	Details []string
}

// DetailsKept is the number of errors that are kept in full.
const DetailsKept = 5

// Add counts n errors of a kind. The formatted detail is kept if it is among the first.
func (f *Failures) Add(kind string, n int64, detail string, args ...any) {
	if f.Kinds == nil {
		f.Kinds = map[string]int64{}
	}
	f.Kinds[kind] += n
	if len(f.Details) < DetailsKept {
		f.Details = append(f.Details, fmt.Sprintf(detail, args...))
	}
}

// Merge adds the errors of g.
func (f *Failures) Merge(g Failures) {
	for kind, n := range g.Kinds {
		if f.Kinds == nil {
			f.Kinds = map[string]int64{}
		}
		f.Kinds[kind] += n
	}
	for _, d := range g.Details {
		if len(f.Details) < DetailsKept {
			f.Details = append(f.Details, d)
		}
	}
}

// KindsText returns all errors by kind in one line; empty if there are none.
func KindsText(kinds map[string]int64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, kinds[kind]))
	}
	return strings.Join(parts, ", ")
}
