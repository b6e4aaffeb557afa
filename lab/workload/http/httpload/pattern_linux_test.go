package httpload

import (
	"fmt"
	"net"
	"testing"
	"time"

	"weir/lab/internal/schedule"
	"weir/lab/load"
)

// scheduled returns how many requests of c are due in its window.
func scheduled(c Config) (n int64) {
	order := schedule.Schedule{Pattern: c.Pattern, N: c.Connections, Period: float64(c.Connections) * 1e9 / c.Rate, Seed: c.Seed}.Order()
	for at, _ := order.Peek(); at < int64(c.Duration); at, _ = order.Peek() {
		order.Advance()
		n++
	}
	return n
}

// TestArrivalsFollowThePatternAndTheSeed checks that a run offers exactly the requests of its
// pattern and seed, so that it can be repeated.
func TestArrivalsFollowThePatternAndTheSeed(t *testing.T) {
	url := web(t)
	for _, pattern := range load.Patterns {
		for _, noKeepAlive := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, no keep-alive %v", pattern, noKeepAlive), func(t *testing.T) {
				c := lenient(url)
				c.Rate, c.Duration, c.Pattern, c.Close, c.Connections = 1000, 100*time.Millisecond, pattern, noKeepAlive, 200
				counts := map[int64]bool{}
				for _, seed := range []uint64{1, 1, 2} {
					c.Seed = seed
					r, want := mustRun(t, c), scheduled(c)
					counts[r.Offered] = true
					if r.Offered != want || r.Answered != want || len(r.Errors) != 0 || r.Pattern != pattern {
						t.Errorf("seed %d: got %d requests offered and %d answered with the pattern %q and errors %v, want %d of both with %q", seed, r.Offered, r.Answered, r.Pattern, r.Errors, want, pattern)
					}
				}
				if want := map[bool]int{false: 1, true: 2}[pattern == load.Poisson]; len(counts) != want {
					t.Errorf("got %d different numbers of requests with the seeds 1 and 2, want %d", len(counts), want)
				}
			})
		}
	}
}

// TestRequestsTogetherAreDueAtTheSameTime checks a pattern whose first 50 requests are due at once.
func TestRequestsTogetherAreDueAtTheSameTime(t *testing.T) {
	c := lenient(web(t))
	c.Rate, c.Duration, c.Pattern, c.Connections = 50, 10*time.Millisecond, load.Together, 50
	if r := mustRun(t, c); r.Offered != 50 || r.Answered != 50 {
		t.Errorf("got %d offered and %d answered, want the 50 that are due at the start", r.Offered, r.Answered)
	}
}

// TestOpenLoopReportsAStall checks that there is no coordinated omission: a stall of the server of
// 300 ms is part of the latency of every request that is due in it.
func TestOpenLoopReportsAStall(t *testing.T) {
	for _, pattern := range []string{load.Staggered, load.Poisson} {
		t.Run(pattern, func(t *testing.T) {
			c := Config{URL: rawServer(t, stalls(20, 300*time.Millisecond)), Connections: 1, Rate: 200, Duration: time.Second, Timeout: time.Minute,
				Expect: []byte("x"), Pattern: pattern, Seed: 1}
			r, want := mustRun(t, c), scheduled(c)
			if r.Offered != want || r.Answered != want || len(r.Errors) != 0 {
				t.Fatalf("got %+v, want %d requests answered", r, want)
			}
			// About 60 of 200 are due in the stall: high percentiles show it, the median does not.
			if r.LatencyUS.Max < 295e3 || r.LatencyUS.P99 < 280e3 || r.Behind < 40 {
				t.Errorf("got %d behind and the latency %+v, want at least 40 and the stall", r.Behind, r.LatencyUS)
			}
		})
	}
}

// stalls returns a server of one connection that waits before response n.
func stalls(n int, wait time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		buffer := make([]byte, 4096)
		for k := 1; ; k++ {
			if _, err := c.Read(buffer); err != nil {
				return
			}
			if k == n {
				time.Sleep(wait)
			}
			if _, err := c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")); err != nil {
				return
			}
		}
	}
}
