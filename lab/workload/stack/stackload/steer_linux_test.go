package stackload

import (
	"testing"

	"weir/lab/internal/steertest"
)

func TestSteering(t *testing.T) {
	loads := map[string]steertest.Load{}
	for operation, service := range good {
		c := lenient(operation, serve(t, service))
		c.Duration = 0
		l := steertest.Of(c, Run)
		l.Warm, l.NoWarm = 3, operation == Idle
		loads[operation] = l
	}
	if mayPing(t) {
		c := pings()
		c.Duration = 0
		loads[Ping] = steertest.Of(c, Run)
	}
	steertest.Conform(t, loads)
}

// TestInIsConfirmedAfterTheWindow checks that a stop after the window does not cut off what
// confirms its data.
func TestInIsConfirmedAfterTheWindow(t *testing.T) {
	c := lenient(In, serve(t, good[In]))
	c.Duration = 0
	s := steertest.Begin[Report](t, steertest.Of(c, Run).Steer)
	s.Hear("connected")
	s.Hear("sending")
	s.Say("measure 100ms")
	s.Hear("measuring")
	s.Hear("measured")
	s.Say("stop")
	if r := s.Hear("report").Report; r.Confirmed != 3 {
		t.Errorf("got %d confirmed connections, want 3", r.Confirmed)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
}
