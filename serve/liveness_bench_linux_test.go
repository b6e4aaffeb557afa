package serve

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// besideLoops measures a 1 ms ticker and the garbage collector while loops wait raw.
type besideLoops struct {
	ticks        int
	maxTickDelay time.Duration // largest delay of a tick
	cycles       int
	maxCycle     time.Duration // longest runtime.GC, which stops the world twice
}

// observe measures for about d.
func observe(d time.Duration) besideLoops {
	var b besideLoops
	var stop atomic.Bool
	collected := make(chan struct{}) // closed by the collecting goroutine
	go func() {
		defer close(collected)
		for !stop.Load() {
			began := time.Now()
			runtime.GC()
			b.cycles++
			b.maxCycle = max(b.maxCycle, time.Since(began))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); {
		due := <-tick.C
		b.ticks++
		b.maxTickDelay = max(b.maxTickDelay, time.Since(due))
	}
	stop.Store(true)
	<-collected
	return b
}

// BenchmarkBeside measures how late a 1 ms ticker is, and how long the garbage collector stops the
// world, while a loop is idle or busy. Goroutine is there for comparison.
func BenchmarkBeside(b *testing.B) {
	for _, w := range []Way{Goroutine, Loop, Coroutine} {
		for _, load := range []string{"idle", "busy"} {
			b.Run(w.String()+"/"+load, func(b *testing.B) {
				r := startService(b, w, Ways[w].form(), services["echo"], Options{})
				stop := func() {}
				if load == "busy" {
					stop = chatter(r, 4)
				}
				defer func() { stop() }()
				before := gcPauses()
				var worst besideLoops
				for b.Loop() {
					got := observe(100 * time.Millisecond)
					worst.maxTickDelay = max(worst.maxTickDelay, got.maxTickDelay)
					worst.maxCycle = max(worst.maxCycle, got.maxCycle)
				}
				b.ReportMetric(float64(worst.maxTickDelay.Microseconds()), "worst-tick-us")
				b.ReportMetric(longestPause(before, gcPauses())*1e6, "worst-pause-us")
				b.ReportMetric(float64(worst.maxCycle.Microseconds()), "worst-cycle-us")
			})
		}
	}
}

// gcPauses returns the runtime's histogram of garbage collection pauses.
func gcPauses() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64Histogram()
}

// longestPause returns the upper bound, in seconds, of the highest bucket that grew.
func longestPause(before, after *metrics.Float64Histogram) float64 {
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if after.Counts[i] > before.Counts[i] {
			return after.Buckets[i+1]
		}
	}
	return 0
}
