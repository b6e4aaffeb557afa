package serve

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// beside measures what else goes on in the process while loops wait raw: a 1 ms ticker and the
// collector.
type beside struct {
	ticks     int
	tickLate  time.Duration // latest tick against its schedule
	cycles    int
	cycleLong time.Duration // longest runtime.GC, which stops the world twice
}

// observe measures for about d.
func observe(d time.Duration) beside {
	var b beside
	var stop atomic.Bool
	collected := make(chan struct{}) // closed by the collecting goroutine
	go func() {
		defer close(collected)
		for !stop.Load() {
			began := time.Now()
			runtime.GC()
			b.cycles++
			b.cycleLong = max(b.cycleLong, time.Since(began))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); {
		due := <-tick.C
		b.ticks++
		b.tickLate = max(b.tickLate, time.Since(due))
	}
	stop.Store(true)
	<-collected
	return b
}

// BenchmarkBeside tells how late a 1 ms ticker comes and how long the collector stops the world
// beside a loop that is idle or busy; Goroutine is there to compare with.
func BenchmarkBeside(b *testing.B) {
	for _, w := range []Way{Goroutine, Loop, Coroutine} {
		for _, load := range []string{"idle", "busy"} {
			b.Run(w.String()+"/"+load, func(b *testing.B) {
				r := begin(b, w, Ways[w].form(), services["echo"], Options{})
				stop := func() {}
				if load == "busy" {
					stop = chatter(r, 4)
				}
				defer func() { stop() }()
				before := pauses()
				var worst beside
				for b.Loop() {
					got := observe(100 * time.Millisecond)
					worst.tickLate = max(worst.tickLate, got.tickLate)
					worst.cycleLong = max(worst.cycleLong, got.cycleLong)
				}
				b.ReportMetric(float64(worst.tickLate.Microseconds()), "worst-tick-us")
				b.ReportMetric(longestPause(before, pauses())*1e6, "worst-pause-us")
				b.ReportMetric(float64(worst.cycleLong.Microseconds()), "worst-cycle-us")
			})
		}
	}
}

// pauses is the runtime's histogram of the collector's pauses.
func pauses() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64Histogram()
}

// longestPause is the upper bound, in seconds, of the highest bucket that grew.
func longestPause(before, after *metrics.Float64Histogram) float64 {
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if after.Counts[i] > before.Counts[i] {
			return after.Buckets[i+1]
		}
	}
	return 0
}
