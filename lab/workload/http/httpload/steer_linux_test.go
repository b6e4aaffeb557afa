package httpload

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"weir/lab/internal/oneloop"

	"weir/lab/internal/steertest"
	"weir/lab/load"
)

func steer(t *testing.T, c Config) *steertest.Conversation[Report] {
	return steertest.Begin[Report](t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return load.Conduct(ctx, in, out, c, Run)
	})
}

func TestSteeringMeasuresItsWindow(t *testing.T) {
	url := web(t)
	overHTTP2 := clearHTTP2(t, answers(200, page))
	for name, change := range map[string]func(*Config){
		"HTTP/2, closed loop":          func(c *Config) { *c = withStreams(overHTTP2, 3) },
		"HTTP/2, constant rate":        func(c *Config) { *c = withStreams(overHTTP2, 3); c.Rate = 400 },
		"closed loop":                  func(*Config) {},
		"closed loop, no keep-alive":   func(c *Config) { c.Close = true },
		"constant rate":                func(c *Config) { c.Rate = 400 },
		"constant rate, no keep-alive": func(c *Config) { c.Rate, c.Close, c.Connections = 400, true, 500 },
	} {
		t.Run(name, func(t *testing.T) {
			c := lenient(url)
			change(&c)
			s := steer(t, c)
			connected, sending := s.Hear("connected"), s.Hear("sending")
			for s.Hear("progress").Sent < 20 {
			}
			s.Say("measure 200ms")
			measuring, measured := s.Hear("measuring"), s.Hear("measured")
			s.Say("stop")
			r := s.Hear("report").Report
			if err := s.End(); err != nil {
				t.Fatal(err)
			}
			if connected.AtNS > sending.AtNS || sending.AtNS > measuring.AtNS || measured.AtNS-measuring.AtNS != 200e6 {
				t.Errorf("got connected %d, sending %d, measuring %d, measured %d; want this order and a window of 200 ms", connected.AtNS, sending.AtNS, measuring.AtNS, measured.AtNS)
			}
			if r.StartedNS != measuring.AtNS || r.WindowNS != 200e6 || r.WarmMessages < 20 || r.Failed != 0 || len(r.Errors) != 0 || r.Interrupt {
				t.Errorf("got the report %+v, want a window of 200 ms without errors", r)
			}
			// 80, plus or minus one at the ends of the window
			if c.Rate > 0 && (r.Offered < 79 || r.Offered > 81 || r.Answered != r.Offered) {
				t.Errorf("got %+v, want 80 offered and answered", r)
			}
		})
	}
}

// TestTheWindowsRequestsAreCompleteAfterIt checks that a stop after the window does not cut off the
// requests that were due in it.
func TestTheWindowsRequestsAreCompleteAfterIt(t *testing.T) {
	c := Config{URL: rawServer(t, says("", false)), Connections: 4, Rate: 100, Timeout: 500 * time.Millisecond, Expect: []byte("x")}
	s := steer(t, c)
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

func TestSteeringStops(t *testing.T) {
	c := lenient(web(t))
	for name, order := range map[string]func(*steertest.Conversation[Report]){
		"by stop":            func(s *steertest.Conversation[Report]) { io.WriteString(s.In, "stop\n") }, //nolint:errcheck // the end tells
		"by the input's end": func(s *steertest.Conversation[Report]) { s.In.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := steer(t, c)
			s.Hear("connected")
			s.Hear("sending")
			go order(s) // the load can be writing its progress at the same time
			if r := s.Hear("report").Report; !r.Interrupt || r.WindowNS != 0 {
				t.Errorf("got %+v, want a report without a window", r)
			}
			if err := s.End(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSteeringRejectsUnknownCommands(t *testing.T) {
	s := steer(t, lenient(web(t)))
	s.Hear("connected")
	s.Hear("sending")
	go io.WriteString(s.In, "faster\n") //nolint:errcheck // the end tells
	s.Rest()
	if err := s.End(); !errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), `"faster" is unknown`) {
		t.Errorf("got the error %v, want that \"faster\" is unknown", err)
	}
	c := lenient("http://127.0.0.1:1/")
	c.Requests = 5
	if err := load.Conduct(t.Context(), strings.NewReader(""), io.Discard, c, Run); !errors.Is(err, load.ErrUsage) {
		t.Errorf("number of requests, steered: got %v, want a usage error", err)
	}
}
