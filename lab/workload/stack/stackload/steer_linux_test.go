package stackload

import (
	"context"
	"io"
	"testing"

	"weir/lab/internal/steertest"
	"weir/lab/load"
)

func steer(t *testing.T, c Config) *steertest.Conversation[Report] {
	c.Duration = 0
	return steertest.Begin[Report](t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return load.Conduct(ctx, in, out, c, Run)
	})
}

func TestSteeringMeasuresItsWindow(t *testing.T) {
	loads := map[string]Config{}
	for operation, service := range good {
		loads[operation] = lenient(operation, serve(t, service))
	}
	if mayPing(t) {
		loads[Ping] = pings()
	}
	for operation, c := range loads {
		t.Run(operation, func(t *testing.T) {
			s := steer(t, c)
			connected, sending := s.Hear("connected"), s.Hear("sending")
			for s.Hear("progress").Sent < 3 {
			}
			s.Say("measure 100ms")
			measuring, measured := s.Hear("measuring"), s.Hear("measured")
			s.Say("stop")
			r := s.Hear("report").Report
			if err := s.End(); err != nil {
				t.Fatal(err)
			}
			if connected.AtNS > sending.AtNS || sending.AtNS > measuring.AtNS || measured.AtNS-measuring.AtNS != 100e6 {
				t.Errorf("got connected %d, sending %d, measuring %d, measured %d; want this order and a window of 100 ms", connected.AtNS, sending.AtNS, measuring.AtNS, measured.AtNS)
			}
			if r.StartedNS != measuring.AtNS || r.WindowNS != 100e6 || operation != Idle && r.WarmMessages < 3 || len(r.Errors) != 0 || r.Interrupt {
				t.Errorf("got the report %+v, want a window of 100 ms without errors", r)
			}
			if operation == In && r.Confirmed != 3 {
				t.Errorf("got %d confirmed connections, want 3", r.Confirmed)
			}
		})
	}
}

func TestSteeringStops(t *testing.T) {
	c := lenient(RR, serve(t, echo))
	s := steer(t, c)
	s.Hear("connected")
	s.Hear("sending")
	go io.WriteString(s.In, "stop\n") //nolint:errcheck // the end tells
	if r := s.Hear("report").Report; !r.Interrupt || r.WindowNS != 0 {
		t.Errorf("got %+v, want a report without a window", r)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
}
