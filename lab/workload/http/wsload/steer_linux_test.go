package wsload

import (
	"context"
	"io"
	"testing"

	"weir/lab/internal/steertest"
	"weir/lab/load"
)

func TestSteeringMeasuresItsWindow(t *testing.T) {
	for name, rate := range map[string]float64{"closed loop": 0, "constant rate": 400} {
		t.Run(name, func(t *testing.T) {
			server := echoes(t, nil)
			c := lenient(server.url)
			c.Rate, c.Duration = rate, 0
			s := steertest.Begin[Report](t, func(ctx context.Context, in io.Reader, out io.Writer) error {
				return load.Conduct(ctx, in, out, c, Run)
			})
			s.Hear("connected")
			s.Hear("sending")
			for s.Hear("progress").Sent < 20 {
			}
			s.Say("measure 200ms")
			measuring, measured := s.Hear("measuring"), s.Hear("measured")
			s.Say("stop")
			r := s.Hear("report").Report
			if err := s.End(); err != nil {
				t.Fatal(err)
			}
			if measured.AtNS-measuring.AtNS != 200e6 || r.StartedNS != measuring.AtNS || r.WindowNS != 200e6 || r.WarmMessages < 20 || r.Failed != 0 || len(r.Errors) != 0 || r.Interrupt {
				t.Errorf("got measuring %d, measured %d, the report %+v; want a window of 200 ms without errors", measuring.AtNS, measured.AtNS, r)
			}
			// 80, plus or minus one at the ends of the window
			if rate > 0 && (r.Offered < 79 || r.Offered > 81 || r.Answered != r.Offered) {
				t.Errorf("got %+v, want 80 offered and answered", r)
			}
			if server.closed.Load() != 4 {
				t.Errorf("the server received %d Close frames, want 4", server.closed.Load())
			}
		})
	}
}
