package lab

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sweepBase is an experiment with an open and a closed loop.
const sweepBase = `
name = "mine"
workload = "requests"
connections = [10]
[[load]]
name = "1000/s"
total_rate = 1000
[[load]]
name = "closed loop"
`

// swept returns the loads of an experiment after changes, as "NAME at RATE on [CONNECTIONS] of
// SWEPT".
func swept(t *testing.T, change func(*Experiment) error) []string {
	t.Helper()
	e, err := ParseExperiment("mine.toml", []byte(sweepBase))
	must(t, err)
	must(t, change(e))
	must(t, e.Validate())
	must(t, e.Validate()) // validation may be repeated
	var all []string
	for _, l := range e.Loads {
		s := l.Shared()
		all = append(all, fmt.Sprintf("%s at %v on %v of %s", s.Name, s.Rate, e.connectionsOf(l), s.SweepOf))
	}
	return all
}

func TestASweepIsALoadForEachValue(t *testing.T) {
	for _, test := range []struct {
		what   string
		change func(*Experiment) error
		want   []string
	}{
		{"no sweep: a total rate is divided", func(*Experiment) error { return nil },
			[]string{"1000/s at 100 on [10] of ", "closed loop at 0 on [10] of "}},
		{"rates", func(e *Experiment) error { e.SweepRates([]float64{500, 2000}); return nil },
			[]string{"500/s at 50 on [10] of 1000/s", "2000/s at 200 on [10] of 1000/s"}},
		{"connections", func(e *Experiment) error { e.Connections = []int{10, 100}; return nil },
			[]string{"1000/s on 10 at 100 on [10] of 1000/s", "1000/s on 100 at 10 on [100] of 1000/s", "closed loop at 0 on [10 100] of "}},
		{"rates and connections", func(e *Experiment) error {
			e.Connections = []int{1, 2}
			e.SweepRates([]float64{10})
			return nil
		}, []string{"10/s on 1 at 10 on [1] of 1000/s", "10/s on 2 at 5 on [2] of 1000/s"}},
		{"rates of closed loops", func(e *Experiment) error {
			e.Loads = e.Loads[1:]
			e.SweepRates([]float64{10})
			return nil
		}, []string{"10/s at 1 on [10] of closed loop"}},
		{"sizes", func(e *Experiment) error { return e.Sweep("size", []int{1, 20}, "bytes") },
			[]string{"1000/s, 1 bytes at 100 on [10] of 1000/s", "1000/s, 20 bytes at 100 on [10] of 1000/s", "closed loop, 1 bytes at 0 on [10] of closed loop", "closed loop, 20 bytes at 0 on [10] of closed loop"}},
		{"one size is a setting", func(e *Experiment) error { return e.Sweep("size", []int{7}, "bytes") },
			[]string{"1000/s at 100 on [10] of ", "closed loop at 0 on [10] of "}},
	} {
		if got := swept(t, test.change); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.what, got, test.want)
		}
	}
}

func TestAnInvalidSweepIsRejected(t *testing.T) {
	for _, test := range []struct {
		what, text string
		change     func(*Experiment) error
		want       string
	}{
		{"both rates", sweepBase + "rate = 1\ntotal_rate = 1\n", nil, "give one of them"},
		{"a negative rate", sweepBase, func(e *Experiment) error { e.SweepRates([]float64{-1}); return nil }, "out of range"},
		{"the same rate twice", sweepBase, func(e *Experiment) error { e.SweepRates([]float64{5, 5}); return nil }, "is given twice"},
		{"a size of nothing", sweepBase + "path = \"/{size}\"\n", nil, "a size of 0 bytes is out of range"},
		{"a size of fixed pages", strings.Replace(sweepBase, "requests", "page", 1) + "size = 1\n", nil, "size is for the workload requests"},
		{"a size that no request has", sweepBase + "size = 1\nrequest = [{path = \"/a\"}]\n", nil, "none has it"},
		{"an unknown setting", sweepBase, func(e *Experiment) error { return e.Sweep("members", []int{1, 2}, "members") }, "have no setting members"},
	} {
		e, err := ParseExperiment("mine.toml", []byte(test.text))
		if err == nil && test.change != nil {
			err = test.change(e)
		}
		if err == nil {
			err = e.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.what, err, test.want)
		}
	}
}
