package grpc

import (
	"cmp"
	"fmt"

	"weir/lab/compare"
	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/workload/http"
)

// Report is the kind of reports on gRPC servers. Its other methods are those of HTTP requests.
type Report struct{ http.Report }

// Units returns the words for a call.
func (Report) Units() (one, many string) { return "call", "calls" }

// Compare implements report.Kind.
func (Report) Compare() compare.Kind { return http.CompareAs(Report{}, "call", "calls/s") }

// Answer names the server with the least CPU per call, and the fastest of each closed loop.
func (Report) Answer(d *report.Digest) report.Answer {
	if len(d.Groups) == 0 {
		return report.Answer{}
	}
	return report.Answer{Sentences: d.LoopAnswer(), Figure: d.MainFigure(), Caveats: http.Report{}.Answer(d).Caveats}
}

// Sections returns the sections of a report.
func (Report) Sections(d *report.Digest) []report.Section {
	return []report.Section{
		d.CostSection(""), d.ClosedSection("a stream"), answers(d), d.SweepSection(), d.RatiosSection(result.MetricCV), d.ControlSection(), d.RejectionsSection(), d.MemorySection(), d.TimeSection(), d.TrialsSection(),
		d.AccountingSection(), d.WindowsSection(), d.SubjectsSection("How each subject handles a call"), d.OfferedSection(), d.ColdSection(), d.MachineSection(),
		d.LimitationsSection("One method with one message, called repeatedly: these figures do not include streams, compression, or the work of a real service."),
		d.CommandSection(),
	}
}

// answers shows the share of the calls at a rate that were answered, their latency and errors.
func answers(d *report.Digest) report.Section {
	s := report.Section{ID: "answers", Title: "Answered calls at a rate, and their latency",
		How: "Calls were due at a constant rate (open loop). An answered call has the expected status and message before the client's timeout. Latency counts from the time at which a call was due."}
	for _, g := range d.Groups {
		if g.Pattern != result.Closed {
			s.Blocks = append(s.Blocks, report.Block{Table: answerTable(d, g)})
		}
	}
	return s
}

// answerTable lists the outcomes of the calls of a group.
func answerTable(d *report.Digest, g *report.Group) *report.Table {
	t := &report.Table{Caption: format.Upper(d.Caption(g)), Align: "lrrrl", Head: []string{"Subject", "Answered", "p50, ms", "p99, ms", "Errors, including the warm-ups"}}
	for _, c := range g.Measured() {
		t.Add(c.Subject, format.Percent(http.Answered(c)), format.Sig(c.Millis(report.P50)), format.Sig(c.Millis(report.P99)), cmp.Or(http.ErrorKinds(c), "none"))
	}
	return t
}

// Summary returns the ranking by CPU, and the tables of rates.
func (Report) Summary(d *report.Digest) []*report.Table { return d.LoopSummary() }

// Describe describes a load: "40 calls/s per connection of /helloworld.Greeter/SayHello, 7 bytes".
func (Report) Describe(l result.Load) string {
	s := fmt.Sprintf("%s calls/s per connection of %s", format.Short(l.Rate), l.Requests.Path)
	if l.Rate == 0 {
		s = "a closed loop of calls of " + l.Requests.Path
	}
	s += fmt.Sprintf(", %s (%s), %s", format.Plural(l.Size, "byte", "bytes"), l.Requests.Mix, format.Plural(max(l.Requests.Streams, 1), "stream", "streams"))
	return s + http.DescribeRest(l.Requests)
}
