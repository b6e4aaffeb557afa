package chatload

import (
	"context"
	"io"
	"strings"
	"testing"

	"weir/lab/internal/rooms"
	"weir/lab/internal/steertest"
	"weir/lab/load"
)

func steer(t *testing.T, c Config) *steertest.Conversation[Report] {
	return steertest.Begin[Report](t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return load.Conduct(ctx, in, out, c, Run)
	})
}

func TestSteeringMeasuresItsWindow(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"open loop":   func(*Config) {},
		"closed loop": func(c *Config) { c.Rate = 0 },
		"replay":      func(c *Config) { c.Rate, c.Replay, c.Members = 0, 300, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := slowConfig(serve(t, &rooms.Server{History: 100}))
			c.Duration = 0
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
			if r.StartedNS != measuring.AtNS || r.WindowNS != 200e6 || r.WarmMessages < 20 || len(r.Errors) != 0 || r.Interrupt {
				t.Errorf("got report %+v, want the window of 200 ms after 20 messages or more for warm-up, without an error", r)
			}
			// 80 messages, depending on the position of the window
			if c.Rate > 0 && (r.Offered < 79*7 || r.Offered > 81*7 || r.Answered != r.Offered) {
				t.Errorf("want 560 deliveries offered and answered, got %+v", r)
			}
		})
	}
}

func TestSteeringStops(t *testing.T) {
	s := steer(t, slowConfig(serve(t, &rooms.Server{})))
	s.Hear("connected")
	s.Hear("sending")
	// the load may be telling its progress meanwhile
	go io.WriteString(s.In, "stop\n") //nolint:errcheck
	if r := s.Hear("report").Report; !r.Interrupt || r.WindowNS != 0 {
		t.Errorf("got report %+v, want one without a window", r)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
}

func TestInvalidConfigsAreRejectedInOneSentence(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"0 members are out of range":         func(c *Config) { c.Members = 0 },
		"9 rooms are out of range":           func(c *Config) { c.Rooms = 9 },
		"9 senders are out of range":         func(c *Config) { c.Senders = 9 },
		"-1 idle connections":                func(c *Config) { c.Idle = -1 },
		"a replay of -1 messages":            func(c *Config) { c.Replay = -1 },
		"a replay has no rate":               func(c *Config) { c.Replay = 5 },
		"a rate of -1 messages a second":     func(c *Config) { c.Rate = -1 },
		"a text of 5 bytes is out of range":  func(c *Config) { c.Size = 5 },
		"a timeout of 1ns":                   func(c *Config) { c.Timeout = 1 },
		"the CPUs [-1]":                      func(c *Config) { c.CPUs = []int{-1} },
		"contains a blank or an end of line": func(c *Config) { c.Pass = "a b" },
		`the prefix "W" is not`:              func(c *Config) { c.Prefix = "W" },
		"a duration of 0s is out of range":   func(c *Config) { c.Duration = 0 },
		`the target "nowhere" `:              func(c *Config) { c.Target = "nowhere" },
	} {
		c := slowConfig("127.0.0.1:1")
		change(&c)
		if err := c.Check(false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}
