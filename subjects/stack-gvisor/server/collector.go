package main

import (
	"encoding/json"
	"io"
	"math"
	"runtime/metrics"
)

// collected is what the Go collector has done since the process began.
type collected struct {
	HeapBytes   uint64 `json:"heap_bytes"`
	Pauses      pauses `json:"pauses_ns"`
	Collections uint64 `json:"collections"`
	Goroutines  uint64 `json:"goroutines"`
}

type pauses struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// tell writes a line of JSON.
func tell(w io.Writer) error {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/pauses/total/gc:seconds"}, {Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(s)
	h := s[1].Value.Float64Histogram()
	return json.NewEncoder(w).Encode(collected{HeapBytes: s[0].Value.Uint64(), Collections: s[2].Value.Uint64(), Goroutines: s[3].Value.Uint64(),
		Pauses: pauses{P50: quantile(h, 0.5), P99: quantile(h, 0.99), Max: quantile(h, 1)}})
}

// quantile is the upper end of the bucket that holds the q-th of all values, in nanoseconds.
func quantile(h *metrics.Float64Histogram, q float64) int64 {
	var all, seen uint64
	for _, n := range h.Counts {
		all += n
	}
	for i, n := range h.Counts {
		if seen += n; n > 0 && float64(seen) >= q*float64(all) {
			end := h.Buckets[i+1]
			if math.IsInf(end, 1) {
				end = h.Buckets[i]
			}
			return int64(end * 1e9)
		}
	}
	return 0
}
