package httpload

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/steertest"
	"weir/lab/load"
)

func TestSteering(t *testing.T) {
	url, loads := web(t), map[string]steertest.Load{}
	overHTTP2 := clearHTTP2(t, answers(200, page))
	for name, change := range map[string]func(*Config){
		"HTTP/2, closed loop":          func(c *Config) { *c = withStreams(overHTTP2, 3) },
		"HTTP/2, constant rate":        func(c *Config) { *c = withStreams(overHTTP2, 3); c.Rate = 400 },
		"closed loop":                  func(*Config) {},
		"closed loop, no keep-alive":   func(c *Config) { c.Close = true },
		"constant rate":                func(c *Config) { c.Rate = 400 },
		"constant rate, no keep-alive": func(c *Config) { c.Rate, c.Close, c.Connections = 400, true, 500 },
	} {
		c := lenient(url)
		change(&c)
		l := steertest.Of(c, Run)
		if c.Rate > 0 {
			l.Offered, l.Within, l.Answers = 80, 1, true // one at the ends of the window
		}
		loads[name] = l
	}
	steertest.Conform(t, loads)
}

// TestTheWindowsRequestsAreCompleteAfterIt checks that a stop after the window does not cut off the
// requests that were due in it.
func TestTheWindowsRequestsAreCompleteAfterIt(t *testing.T) {
	c := Config{URL: rawServer(t, says("", false)), Connections: 4, Rate: 100, Timeout: 500 * time.Millisecond, Expect: []byte("x")}
	s := steertest.Begin[Report](t, steertest.Of(c, Run).Steer)
	s.Hear("connected")
	s.Hear("sending")
	s.Say("measure 100ms")
	s.Hear("measuring")
	s.Hear("measured")
	s.Say("stop")
	r := s.Hear("report").Report
	if err := s.End(); err != nil || r.Offered < 9 || r.Failed != r.Offered || r.Unfinished != 0 || r.Errors[oneloop.KindTimeout] < r.Failed {
		t.Errorf("got error %v and %+v, want every request of the window to time out", err, r)
	}
}

func TestANumberOfRequestsCannotBeSteered(t *testing.T) {
	c := lenient("http://127.0.0.1:1/")
	c.Requests = 5
	if err := load.Conduct(t.Context(), strings.NewReader(""), io.Discard, c, Run); !errors.Is(err, load.ErrUsage) {
		t.Errorf("number of requests, steered: got %v, want a usage error", err)
	}
}
