package websocket

import (
	"flag"
	"io"
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

// messagesRun is a synthetic run of two servers, with a sweep of rates and a closed loop.
func messagesRun() *result.Results {
	s := reporttest.New([]int{10}, 5)
	s.Experiment, s.Question, s.Command = "websocket", "What does a WebSocket message cost each of these servers?", "weir lab run websocket --seed 7"
	s.Plan.Workload, s.Plan.Patterns, s.Plan.AAControl, s.Plan.Loads = Name, []string{load.Staggered, result.Closed}, "talk-a", nil
	s.Subjects = []result.Subject{{Name: "talk-a", Language: "Go", Paradigm: "goroutine per connection", About: "Echoes."}, {Name: "talk-b", Language: "?", Paradigm: "?", About: "Given by its commands."}}
	costs := map[string]float64{"talk-a": 20, "talk-b": 28, "talk-a" + result.ControlSuffix: 20}
	for _, l := range []Load{
		{Common: workload.Common{Name: "500/s", SweepOf: "1000/s", Rate: 50}},
		{Common: workload.Common{Name: "2000/s", SweepOf: "1000/s", Rate: 200}},
		{Common: workload.Common{Name: "closed loop"}, Message: "hello"},
	} {
		l.Check(workload.Context{Workload: Name, Connections: []int{10}})
		s.Plan.Loads = append(s.Plan.Loads, l.Recorded())
		for block := range s.Plan.Blocks {
			for position, name := range []string{"talk-a", "talk-b", "talk-a" + result.ControlSuffix, "talk-a" + result.ControlSuffix, "talk-b", "talk-a"} {
				addMessages(s, &l, block, position, name, costs[name])
			}
		}
	}
	s.Comparisons = Report{}.Compare().All(s.Results)
	return s.Results
}

// addMessages adds a trial of a server with a cost in us per message.
func addMessages(s *reporttest.Synthetic, l *Load, block, position int, name string, cost float64) {
	cost *= 1 + 0.02*s.Rand.NormFloat64()
	rate := l.Rate
	if rate == 0 {
		rate = 9e4 / cost
	}
	s.Add(result.Load{Name: l.Name, Rate: rate}, 10, l.Pattern(), block, position, name, cost)
	t := &s.Trials[len(s.Trials)-1]
	t.HTTP = &result.HTTP{Attempted: t.Messages, Answered: t.Messages}
}

func TestReportOfMessages(t *testing.T) {
	reporter.Golden(t, "../../report/testdata/websocket", messagesRun())
	reporttest.CheckSentences(t, "websocket", Report{}.Answer(report.NewDigest(messagesRun(), Report{})).Sentences, 5)
}
