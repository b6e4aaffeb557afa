package grpc

import (
	"flag"
	"io"
	"slices"
	"testing"

	"weir/lab/load"
	"weir/lab/report"
	"weir/lab/report/reporttest"
	"weir/lab/result"
	"weir/lab/workload"
)

var update = flag.Bool("update", false, "write the golden files")

// reporter writes reports of this kind.
var reporter = reporttest.Reporter{
	Update: update,
	Write:  func(dir string, r *result.Results) error { return report.Write(dir, r, Report{}) },
	Terminal: func(w io.Writer, r *result.Results, colour bool, width int) {
		report.Terminal(w, r, Report{}, colour, width)
	},
}

// madeUp is a made-up gRPC server: its CPU in us per call and the highest rate that it answers.
type madeUp struct {
	subject  result.Subject
	us, rate float64
}

var servers = []madeUp{
	{result.Subject{Name: "grpc-a", Language: "Go", Paradigm: "goroutine per connection", About: "A transport of its own."}, 25, 38_000},
	{result.Subject{Name: "grpc-b", Language: "JavaScript", Paradigm: "event loop", About: "One process."}, 60, 900},
}

// callsRun returns a synthetic run of calls at two rates and in a closed loop. The second server
// cannot answer the higher rate.
func callsRun() *result.Results {
	s := reporttest.New([]int{8}, 5)
	s.Experiment, s.Question, s.Command = "grpc", "What does a unary gRPC call cost?", "weir lab run grpc --seed 7"
	s.Plan.Workload, s.Plan.Patterns, s.Plan.AAControl, s.Plan.Loads, s.Subjects = Name, []string{load.Poisson, result.Closed}, "grpc-a", nil, nil
	for _, m := range servers {
		s.Subjects = append(s.Subjects, m.subject)
	}
	for _, l := range []*Load{
		{Common: workload.Common{Name: "400/s", Rate: 50}, Arrivals: load.Poisson},
		{Common: workload.Common{Name: "4000/s", Rate: 500}, Arrivals: load.Poisson, Streams: 8},
		{Common: workload.Common{Name: "closed loop"}, Streams: 8},
	} {
		l.Method, l.Message = greeting().Method, greeting().Message
		s.Plan.Loads = append(s.Plan.Loads, l.Recorded())
		for block := range s.Plan.Blocks {
			for turn := range 2 {
				for i, m := range append(servers, servers[0]) {
					addCalls(s, l, m, block, 2*i+turn, i == len(servers))
				}
			}
		}
	}
	s.Skipped = []result.Skip{{Subject: "grpc-c", Reason: "it is not installed"}}
	s.Comparisons = Report{}.Compare().All(s.Results)
	return s.Results
}

// addCalls adds a trial of a server.
func addCalls(s *reporttest.Synthetic, l *Load, m madeUp, block, position int, control bool) {
	name, due := m.subject.Name, l.Rate*8
	if control {
		name += result.ControlSuffix
	}
	rate := m.rate
	if due > 0 {
		rate = min(due, m.rate)
	}
	rate *= 1 + 0.03*s.Rand.NormFloat64()
	s.Add(result.Load{Name: l.Name, Rate: rate / 8}, 8, l.Pattern(), block, position, name, m.us*(1+0.03*s.Rand.NormFloat64()))
	t := &s.Trials[len(s.Trials)-1]
	t.Messages, t.OfferedRate = int64(rate*t.WindowS), due
	t.HTTP = &result.HTTP{Attempted: int64(max(due, rate) * t.WindowS), Answered: t.Messages, BodyBytes: t.Messages * 13}
	t.LatencyUS = result.Percentiles{P50: 100 + m.us, P99: 900 + 20*m.us, P999: 5000, Max: 9000}
	if lost := t.HTTP.Attempted - t.Messages; lost > t.HTTP.Attempted/10 {
		t.HTTP.Failed, t.HTTP.Errors = lost, map[string]int64{"timeout": lost - 12, "grpc UNAVAILABLE": 12}
	}
}

func TestReportOfCalls(t *testing.T) { reporter.Golden(t, "../../report/testdata/grpc", callsRun()) }

func TestAnswersAreShort(t *testing.T) {
	reporttest.CheckSentences(t, "grpc", Report{}.Answer(report.NewDigest(callsRun(), Report{})).Sentences, 3)
}

// TestARunWithoutTrialsHasAReport checks that nothing is measured is said.
func TestARunWithoutTrialsHasAReport(t *testing.T) {
	r := callsRun()
	r.Trials, r.Comparisons = nil, nil
	if err := report.Write(t.TempDir(), r, Report{}); err != nil {
		t.Errorf("got error %v, want a report", err)
	}
}

// TestASweepOfCallsHasAFigure: loads that differ in the streams alone are shown together.
func TestASweepOfCallsHasAFigure(t *testing.T) {
	r := callsRun()
	r.Plan.Loads[1].Rate, r.Plan.Loads[1].SweepOf = r.Plan.Loads[0].Rate, r.Plan.Loads[0].Name
	var figures []string
	for _, s := range (Report{}).Sections(report.NewDigest(r, Report{})) {
		for _, b := range s.Blocks {
			for _, f := range b.Figures {
				if s.ID == "sweep" {
					figures = append(figures, f.Title)
				}
			}
		}
	}
	if want := []string{"CPU, µs per call by streams: 400/s"}; !slices.Equal(figures, want) {
		t.Errorf("got the figures %q of sweeps, want %q", figures, want)
	}
}
