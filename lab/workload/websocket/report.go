package websocket

import (
	"fmt"

	"weir/lab/compare"
	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/workload/http"
)

// Report is the kind of reports on WebSocket servers. Its other methods are those of HTTP requests.
type Report struct{ http.Report }

// Units returns the words for a message.
func (Report) Units() (one, many string) { return "message", "messages" }

// Compare implements report.Kind.
func (Report) Compare() compare.Kind { return http.CompareAs(Report{}, "msg", "msg/s") }

// Answer names the server with the least CPU per message, and the fastest of each closed loop.
func (Report) Answer(d *report.Digest) report.Answer {
	if len(d.Groups) == 0 {
		return report.Answer{}
	}
	return report.Answer{Sentences: d.LoopAnswer(), Figure: d.MainFigure(), Caveats: http.Report{}.Answer(d).Caveats}
}

// Sections returns the sections of a report.
func (Report) Sections(d *report.Digest) []report.Section {
	return []report.Section{
		d.CostSection("A message includes its answer. "), d.ClosedSection("a connection"), d.SweepSection(), d.RatiosSection(result.MetricCV), d.ControlSection(), d.RejectionsSection(), d.MemorySection(), d.TimeSection(), d.TrialsSection(),
		d.AccountingSection(), d.WindowsSection(), d.SubjectsSection("How each subject handles a message"), d.OfferedSection(), d.ColdSection(), d.MachineSection(),
		d.LimitationsSection("Connections stay open, and each message has one answer: these figures do not include upgrades, compression, or messages that a server sends unasked."),
		d.CommandSection(),
	}
}

// Summary returns the ranking by CPU, and the tables of rates.
func (Report) Summary(d *report.Digest) []*report.Table { return d.LoopSummary() }

// Describe describes a load: "15 messages/s of 100 bytes per connection to /echo".
func (Report) Describe(l result.Load) string {
	s := fmt.Sprintf("%s messages/s of %s bytes per connection to %s", format.Short(l.Rate), format.Count(l.Size), l.Requests.Path)
	if l.Rate == 0 {
		s = fmt.Sprintf("a closed loop of messages of %s bytes to %s", format.Count(l.Size), l.Requests.Path)
	}
	if l.Requests.Mix != "" {
		s += ", " + l.Requests.Mix
	}
	return s + http.DescribeRest(l.Requests)
}
