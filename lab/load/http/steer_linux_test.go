package http

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
)

// heard is a line that Steer wrote.
type heard struct {
	Event  string
	AtNS   int64 `json:"at_ns"`
	Sent   int64
	Report *Report
}

// steering is a conversation with Steer.
type steering struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error // Steer's goroutine -> test; one result
}

func steer(t *testing.T, c Config) *steering {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &steering{t: t, in: inW, lines: bufio.NewScanner(outR), ended: make(chan error, 1)}
	go func() {
		err := Steer(t.Context(), c, inR, outW)
		inR.Close()
		outW.Close()
		s.ended <- err
	}()
	return s
}

func (s *steering) say(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// hear reads up to the next event of this kind, past progress, and fails at any other.
func (s *steering) hear(want string) heard {
	s.t.Helper()
	for s.lines.Scan() {
		var h heard
		if err := json.Unmarshal(s.lines.Bytes(), &h); err != nil || h.Event != want && h.Event != "progress" {
			s.t.Fatalf("heard %s (%v), want %q", s.lines.Bytes(), err, want)
		}
		if h.Event == want {
			return h
		}
	}
	s.t.Fatalf("the events end, want %q: %v", want, <-s.ended)
	return heard{}
}

// end waits for the last line and the result.
func (s *steering) end() error {
	s.t.Helper()
	for s.lines.Scan() {
		s.t.Errorf("heard %s, want silence", s.lines.Bytes())
	}
	s.in.Close()
	return <-s.ended
}

func TestSteering(t *testing.T) {
	url := web(t)
	for name, change := range map[string]func(*Config){
		"closed loop":                  func(*Config) {},
		"closed loop, no keep-alive":   func(c *Config) { c.Close = true },
		"constant rate":                func(c *Config) { c.Rate = 400 },
		"constant rate, no keep-alive": func(c *Config) { c.Rate, c.Close, c.Connections = 400, true, 500 },
	} {
		t.Run(name, func(t *testing.T) {
			c := patient(url)
			change(&c)
			s := steer(t, c)
			connected, sending := s.hear("connected"), s.hear("sending")
			for s.hear("progress").Sent < 20 {
			}
			s.say("measure 200ms")
			measuring, measured := s.hear("measuring"), s.hear("measured")
			s.say("stop")
			r := s.hear("report").Report
			if err := s.end(); err != nil {
				t.Fatal(err)
			}
			if connected.AtNS > sending.AtNS || sending.AtNS > measuring.AtNS || measured.AtNS-measuring.AtNS != 200e6 {
				t.Errorf("connected %d, sending %d, measuring %d, measured %d", connected.AtNS, sending.AtNS, measuring.AtNS, measured.AtNS)
			}
			if r.StartedNS != measuring.AtNS || r.WindowNS != 200e6 || r.WarmMessages < 20 || r.Failed != 0 || len(r.Errors) != 0 || r.Interrupt {
				t.Errorf("the report is %+v", r)
			}
			if c.Rate > 0 && (r.Offered < 79 || r.Offered > 81 || r.Answered != r.Offered) { // 80, by where the window lies
				t.Errorf("want 80 offered and answered, got %+v", r)
			}
		})
	}
}

// What is undecided when the window ends is decided afterwards, a stop in between or not.
func TestTheWindowsRequestsAreDecidedAfterIt(t *testing.T) {
	c := Config{URL: rawServer(t, says("", false)), Connections: 4, Rate: 100, Timeout: 500 * time.Millisecond, Expect: []byte("x")}
	s := steer(t, c)
	s.hear("connected")
	s.hear("sending")
	s.say("measure 100ms")
	s.hear("measuring")
	s.hear("measured")
	s.say("stop")
	r := s.hear("report").Report
	if err := s.end(); err != nil || r.Offered < 9 || r.Failed != r.Offered || r.Unfinished != 0 || r.Errors[kindTimeout] < r.Failed {
		t.Errorf("%v, want every request of the window to time out, got %+v", err, r)
	}
}

func TestSteeringStops(t *testing.T) {
	c := patient(web(t))
	for name, order := range map[string]func(*steering){
		"by stop":            func(s *steering) { io.WriteString(s.in, "stop\n") }, //nolint:errcheck // the end tells
		"by the input's end": func(s *steering) { s.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := steer(t, c)
			s.hear("connected")
			s.hear("sending")
			go order(s) // the load may be telling its progress meanwhile
			if r := s.hear("report").Report; !r.Interrupt || r.WindowNS != 0 {
				t.Errorf("want the report of no window, got %+v", r)
			}
			if err := s.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSteeringRefusesNonsense(t *testing.T) {
	s := steer(t, patient(web(t)))
	s.hear("connected")
	s.hear("sending")
	go io.WriteString(s.in, "faster\n") //nolint:errcheck // the end tells
	for s.lines.Scan() {
	}
	if err := s.end(); !errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), `"faster" is unknown`) {
		t.Errorf("ended with %v", err)
	}
	c := patient("http://127.0.0.1:1/")
	c.Requests = 5
	if err := Steer(t.Context(), c, strings.NewReader(""), io.Discard); !errors.Is(err, load.ErrUsage) {
		t.Errorf("so many requests, steered: %v", err)
	}
}
