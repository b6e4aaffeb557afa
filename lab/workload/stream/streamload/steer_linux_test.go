package streamload

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"weir/lab/internal/steertest"
	"weir/lab/load"
)

func steer(t *testing.T, c Config) *steertest.Conversation[Report] {
	return steertest.Begin[Report](t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return load.Conduct(ctx, in, out, c, Run)
	})
}

func TestSteeringMeasuresItsWindow(t *testing.T) {
	var k sink
	c := small(serve(t, "127.0.0.1:0", k.handle).addr)
	s := steer(t, c)
	connected := s.Hear("connected")
	sending := s.Hear("sending")
	for sent := int64(0); sent < 100; {
		sent = s.Hear("progress").Sent
	}
	s.Say("measure 250ms")
	e := s.Hear("measuring")
	measured := s.Hear("measured")
	s.Say("stop")
	r := *s.Hear("report").Report
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	if connected.AtNS > sending.AtNS || sending.AtNS > e.AtNS || measured.AtNS-e.AtNS != 250e6 {
		t.Errorf("got connected %d, sending %d, measuring %d, measured %d; want this order and a window of 250 ms", connected.AtNS, sending.AtNS, e.AtNS, measured.AtNS)
	}
	if r.StartedNS != e.AtNS || r.WindowNS != 250e6 || r.Offered != 8*50 || r.WarmMessages < 100 || r.Messages+r.Owed != r.Offered {
		t.Errorf("got report %+v, want the window of 250 ms with 400 messages offered, after 100 or more for warm-up", r)
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
	s := steer(t, c)
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
	s := steer(t, Config{Target: serve(t, "127.0.0.1:0", echo).addr, Churn: 500, Size: 100})
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

func TestSteeringStops(t *testing.T) {
	c := small(serve(t, "127.0.0.1:0", new(sink).handle).addr)
	for name, order := range map[string]func(*steertest.Conversation[Report]){
		"by stop":            func(s *steertest.Conversation[Report]) { s.Say("stop") },
		"by the input's end": func(s *steertest.Conversation[Report]) { s.In.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := steer(t, c)
			s.Hear("connected")
			s.Hear("sending")
			order(s)
			all := s.Rest()
			e := all[len(all)-1]
			if e.Event != "report" || !e.Report.Interrupt || e.Report.WindowNS != 0 {
				t.Errorf("got last event %+v, want a report without a window", e)
			}
			if err := s.End(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInvalidCommandIsRejected(t *testing.T) {
	c := small(serve(t, "127.0.0.1:0", new(sink).handle).addr)
	s := steer(t, c)
	s.Hear("connected")
	s.Hear("sending")
	s.Say("faster")
	for _, e := range s.Rest() {
		if e.Event != "progress" {
			t.Errorf("got event %+v, want none", e)
		}
	}
	if err := s.End(); !errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), `"faster" is unknown: write measure DURATION or stop`) {
		t.Errorf("an unknown command: got error %v, want load.ErrUsage with the commands", err)
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
