package streamload

import (
	"encoding/json"
	"reflect"
	"testing"

	"weir/lab/internal/steertest"
	"weir/lab/load"
)

func TestSteering(t *testing.T) {
	loads := map[string]steertest.Load{}
	for name, change := range map[string]func(*Config){
		"echo":     func(c *Config) { c.Echo = true },
		"together": func(c *Config) { c.Pattern = load.Together },
		"poisson":  func(c *Config) { c.Pattern = load.Poisson },
		"bits":     func(c *Config) { c.Rate, c.Bits = 0, 1e6 },
		"churn":    func(c *Config) { c.Churn, c.Connections = 200, 0 },
	} {
		c := small(serve(t, "127.0.0.1:0", echo).addr)
		c.Duration = 0
		change(&c)
		l := steertest.Of(c, Run)
		if name == "echo" || name == "together" {
			l.Offered, l.Answers = 8*40, c.Echo
		}
		loads[name] = l
	}
	steertest.Conform(t, loads)
}

// TestAWindowHasWholeMessages: what was sent before and in a window has arrived after it.
func TestAWindowHasWholeMessages(t *testing.T) {
	var k sink
	c := small(serve(t, "127.0.0.1:0", k.handle).addr)
	s := steertest.Begin[Report](t, steertest.Of(c, Run).Steer)
	s.Hear("connected")
	s.Hear("sending")
	for s.Hear("progress").Sent < 100 {
	}
	s.Say("measure 250ms")
	s.Hear("measuring")
	s.Hear("measured")
	s.Say("stop")
	r := *s.Hear("report").Report
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	if r.Offered != 8*50 || r.WarmMessages < 100 || r.Messages+r.Owed != r.Offered {
		t.Errorf("got report %+v, want 400 messages offered, after 100 or more for warm-up", r)
	}
	if got := total(k.received(t, c.Connections)); got < (r.Messages+r.WarmMessages)*100 {
		t.Errorf("got %d bytes received, want at least %d for %d messages, warm-up included", got, (r.Messages+r.WarmMessages)*100, r.Messages+r.WarmMessages)
	}
}

// TestProgressWithBitsCountsWholeMessages: progress counts messages, not the writes of about 125
// bytes into which they are cut.
func TestProgressWithBitsCountsWholeMessages(t *testing.T) {
	var k sink
	c := Config{Target: serve(t, "127.0.0.1:0", k.handle).addr, Connections: 2, Bits: 1e6, Size: 1000}
	s := steertest.Begin[Report](t, steertest.Of(c, Run).Steer)
	s.Hear("connected")
	s.Hear("sending")
	sent := int64(0)
	for sent < 20 {
		sent = s.Hear("progress").Sent
	}
	s.In.Close()
	for _, e := range s.Rest() {
		sent = max(sent, e.Sent)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	if got := total(k.received(t, c.Connections)) / 1000; got < sent {
		t.Errorf("got progress of %d messages, want at most the %d that were received", sent, got)
	}
}

// TestProgressCountsShortConnections: short connections warm a server up as other messages do.
func TestProgressCountsShortConnections(t *testing.T) {
	s := steertest.Begin[Report](t, steertest.Of(Config{Target: serve(t, "127.0.0.1:0", echo).addr, Churn: 500, Size: 100}, Run).Steer)
	s.Hear("connected")
	s.Hear("sending")
	for s.Hear("progress").Sent < 20 {
	}
	s.Say("measure 100ms")
	s.Hear("measuring")
	s.Hear("measured")
	s.Say("stop")
	r := s.Hear("report").Report
	if err := s.End(); err != nil || r.WarmMessages < 20 || r.Churn.Offered != 50 {
		t.Errorf("got error %v, report %+v with churn %+v, want 50 offered after 20 or more", err, r, r.Churn)
	}
}

func TestReportsAreTheSameAfterJSON(t *testing.T) {
	s := serve(t, "127.0.0.1:0", echo)
	c := small(s.addr)
	c.Echo, c.Pattern, c.Churn = true, load.Together, 50
	r, err := Run(t.Context(), c, load.Events{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("error %v: got %+[3]v after JSON, want %+[2]v", err, r, again)
	}
}
