package wsload

import (
	"testing"

	"weir/lab/internal/steertest"
)

func TestSteering(t *testing.T) {
	url, loads := echoes(t, nil).url, map[string]steertest.Load{}
	for name, rate := range map[string]float64{"closed loop": 0, "constant rate": 400} {
		c := lenient(url)
		c.Rate, c.Duration = rate, 0
		l := steertest.Of(c, Run)
		if rate > 0 {
			l.Offered, l.Within, l.Answers = 80, 1, true // one at the ends of the window
		}
		loads[name] = l
	}
	steertest.Conform(t, loads)
}
