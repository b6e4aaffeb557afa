package stackapp

import (
	"math/bits"
	"time"
)

// A histogram of times: 64 buckets for each power of two nanoseconds, so a bucket is at most 1.6 %
// wide. It has one owner.
type histogram struct {
	count, sum, max int64
	buckets         [58 * 64]int64
}

func bucketOf(ns int64) int {
	if ns < 64 {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - 7 // its seven highest bits are 64 to 127
	return shift<<6 + int(ns>>shift)
}

// lowest returns the smallest time in a bucket.
func lowest(bucket int) int64 {
	if bucket < 128 {
		return int64(bucket)
	}
	shift := bucket>>6 - 1
	return int64(64+bucket&63) << shift
}

func (h *histogram) record(d time.Duration) {
	ns := max(int64(d), 0)
	h.count++
	h.sum += ns
	h.max = max(h.max, ns)
	h.buckets[bucketOf(ns)]++
}

func (h *histogram) add(g *histogram) {
	h.count += g.count
	h.sum += g.sum
	h.max = max(h.max, g.max)
	for i, n := range g.buckets {
		h.buckets[i] += n
	}
}

// percentile returns, in ns, the middle of the bucket with the q-th quantile of all times, q from 0
// to 1; 0 without times.
func (h *histogram) percentile(q float64) int64 {
	left := int64(q*float64(h.count) + 0.5)
	for i, n := range h.buckets {
		if left -= n; n > 0 && left <= 0 {
			return min((lowest(i)+lowest(i+1))/2, h.max)
		}
	}
	return h.max
}

// percentiles returns the percentiles in microseconds.
func (h *histogram) percentiles() Percentiles {
	us := func(q float64) float64 { return float64(h.percentile(q)) / 1e3 }
	return Percentiles{P01: us(0.01), P50: us(0.5), P99: us(0.99), P999: us(0.999), Max: float64(h.max) / 1e3}
}

// mean returns the mean in microseconds.
func (h *histogram) mean() float64 {
	if h.count == 0 {
		return 0
	}
	return float64(h.sum) / float64(h.count) / 1e3
}
