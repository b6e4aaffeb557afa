package chat

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"weir/lab/internal/rooms"
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

func TestSteering(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"open loop":   func(*Config) {},
		"closed loop": func(c *Config) { c.Rate = 0 },
		"replay":      func(c *Config) { c.Rate, c.Replay, c.Members = 0, 300, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := patient(serve(t, &rooms.Server{History: 100}))
			c.Duration = 0
			change(&c)
			s := steer(t, c)
			connected, sending := s.hear("connected"), s.hear("sending")
			for s.hear("progress").Sent < 20 {
			}
			s.say("measure 200ms")
			measuring, measured := s.hear("measuring"), s.hear("measured")
			s.say("stop")
			r := s.hear("report").Report
			s.in.Close()
			if err := <-s.ended; err != nil {
				t.Fatal(err)
			}
			if connected.AtNS > sending.AtNS || sending.AtNS > measuring.AtNS || measured.AtNS-measuring.AtNS != 200e6 {
				t.Errorf("connected %d, sending %d, measuring %d, measured %d", connected.AtNS, sending.AtNS, measuring.AtNS, measured.AtNS)
			}
			if r.StartedNS != measuring.AtNS || r.WindowNS != 200e6 || r.WarmMessages < 20 || len(r.Errors) != 0 || r.Interrupt {
				t.Errorf("the report is %+v", r)
			}
			if c.Rate > 0 && (r.Offered < 79*7 || r.Offered > 81*7 || r.Answered != r.Offered) { // 80 messages, by where the window lies
				t.Errorf("want 560 deliveries offered and answered, got %+v", r)
			}
		})
	}
}

func TestSteeringStops(t *testing.T) {
	s := steer(t, patient(serve(t, &rooms.Server{})))
	s.hear("connected")
	s.hear("sending")
	go io.WriteString(s.in, "stop\n") //nolint:errcheck // the load may be telling its progress meanwhile
	if r := s.hear("report").Report; !r.Interrupt || r.WindowNS != 0 {
		t.Errorf("want the report of no window, got %+v", r)
	}
	s.in.Close()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

func TestBadConfigsAreRefusedInASentence(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"0 members are out of range":        func(c *Config) { c.Members = 0 },
		"9 rooms are out of range":          func(c *Config) { c.Rooms = 9 },
		"9 senders are out of range":        func(c *Config) { c.Senders = 9 },
		"-1 idle connections":               func(c *Config) { c.Idle = -1 },
		"a replay of -1 messages":           func(c *Config) { c.Replay = -1 },
		"a replay has no rate":              func(c *Config) { c.Replay = 5 },
		"a rate of -1 messages a second":    func(c *Config) { c.Rate = -1 },
		"a text of 5 bytes is out of range": func(c *Config) { c.Size = 5 },
		"a timeout of 1ns":                  func(c *Config) { c.Timeout = 1 },
		"the CPUs [-1]":                     func(c *Config) { c.CPUs = []int{-1} },
		"has a blank or an end of line":     func(c *Config) { c.Pass = "a b" },
		`the prefix "W" is not`:             func(c *Config) { c.Prefix = "W" },
		"a duration of 0s is out of range":  func(c *Config) { c.Duration = 0 },
		`the target "nowhere" `:             func(c *Config) { c.Target = "nowhere" },
	} {
		c := patient("127.0.0.1:1")
		change(&c)
		if err := c.Check(false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
