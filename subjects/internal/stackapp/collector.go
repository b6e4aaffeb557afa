package stackapp

import (
	"math"
	"runtime/metrics"
)

// Collector holds the costs of Go's memory management so far: one line of JSON at SIGUSR1, and a
// part of the inside report.
type Collector struct {
	// bytes of objects, including unreachable ones that are not swept yet
	HeapBytes   uint64 `json:"heap_bytes"`
	StackBytes  uint64 `json:"stack_bytes"` // bytes of goroutine stacks
	Pauses      Pauses `json:"pauses_ns"`
	Collections uint64 `json:"collections"`
	Goroutines  uint64 `json:"goroutines"`
}

// Pauses of the whole program by the garbage collector, in ns, since its start. They are upper
// bounds of the runtime's own buckets.
type Pauses struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// ReadCollector reads the runtime's metrics.
func ReadCollector() Collector {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/sched/goroutines:goroutines"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(samples)
	pauses := samples[4].Value.Float64Histogram()
	return Collector{HeapBytes: samples[0].Value.Uint64(), StackBytes: samples[1].Value.Uint64(), Collections: samples[2].Value.Uint64(),
		Goroutines: samples[3].Value.Uint64(), Pauses: Pauses{P50: upper(pauses, 0.5), P99: upper(pauses, 0.99), Max: upper(pauses, 1)}}
}

// upper returns the upper bound, in ns, of the bucket with the q-th quantile of all values.
func upper(h *metrics.Float64Histogram, q float64) int64 {
	var all uint64
	for _, n := range h.Counts {
		all += n
	}
	left := int64(math.Ceil(q * float64(all)))
	for i, n := range h.Counts {
		if left -= int64(n); n == 0 || left > 0 {
			continue
		}
		if bound := h.Buckets[i+1]; !math.IsInf(bound, 1) {
			return int64(bound * 1e9)
		}
		return int64(h.Buckets[i] * 1e9)
	}
	return 0
}
