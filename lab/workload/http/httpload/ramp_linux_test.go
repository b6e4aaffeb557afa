package httpload

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
)

func TestARampClimbs(t *testing.T) {
	c := lenient(web(t))
	c.Duration = 50 * time.Millisecond
	var seen int
	steps, err := RunRamp(t.Context(), c, []float64{100, 200, 300}, time.Millisecond, load.Events{}, func(Report) { seen++ })
	if err != nil || len(steps) != 3 || seen != 3 {
		t.Fatalf("got error %v, %d steps and %d calls, want 3 and 3", err, len(steps), seen)
	}
	for i, r := range steps {
		if n := int64(5 * (i + 1)); r.Offered != n || r.Answered != n {
			t.Errorf("step %d: got %+v, want %d requests", i, r, n)
		}
	}
}

func TestARampEndsAtTheLimitOfErrors(t *testing.T) {
	c := Config{URL: rawServer(t, says("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", false)), Connections: 2, Duration: 100 * time.Millisecond,
		MaxErrors: 3, Timeout: time.Minute, Expect: []byte("x")}
	steps, err := RunRamp(t.Context(), c, []float64{100, 200, 300}, 0, load.Events{}, nil)
	if err != nil || len(steps) != 1 || steps[0].Stopped == "" || steps[0].Errors[kindStatus] < 3 {
		t.Errorf("got error %v and %+v, want one step that stopped", err, steps)
	}
}

// TestTheKneeOfASlowServer checks a server with one connection and responses of 10 ms. It cannot
// answer more than 100 requests per second on any machine.
func TestTheKneeOfASlowServer(t *testing.T) {
	slow := says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false)
	c := Config{URL: rawServer(t, func(conn net.Conn) { slow(&delayed{conn}) }), Connections: 1, Duration: 150 * time.Millisecond, Timeout: 300 * time.Millisecond, Expect: []byte("x")}
	k, err := load.FindKnee(t.Context(), load.Search{Criterion: load.Criterion{Percentile: "p99", Limit: 40 * time.Millisecond}, MinRate: 1e-3, MaxRate: MaxRate,
		Run: func(ctx context.Context, rate float64) (load.Reported, error) {
			c.Rate = rate
			r, err := Run(ctx, c, load.Events{})
			return &r, err
		}})
	if err != nil && strings.Contains(err.Error(), "nothing was answered") {
		t.Skip("this machine stalled")
	}
	if err != nil || k.High > 150 || len(k.Probes) < 3 || k.Probes[0].Rate != 0 {
		t.Errorf("got error %v and %+v, want a knee of at most 150/s", err, k)
	}
}

// delayed is a connection that takes 10 ms to write.
type delayed struct{ net.Conn }

func (d *delayed) Write(p []byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return d.Conn.Write(p)
}
