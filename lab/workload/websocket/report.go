package websocket

import (
	"fmt"
	"slices"
	"strings"

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
func (Report) Compare() compare.Kind {
	k := http.Report{}.Compare()
	k.Units, k.Short, k.OrMeans, k.Describe = Report{}.Units, "msg", ", or answered more messages per second", Report{}.Describe
	k.Figures = slices.Clone(k.Figures)
	k.Figures[0].Unit = "msg/s"
	return k
}

// Answer names the server with the least CPU per message, and the fastest of each closed loop.
func (Report) Answer(d *report.Digest) report.Answer {
	if len(d.Groups) == 0 {
		return report.Answer{}
	}
	var said []string
	g := d.Busiest()[0]
	if l, ok := d.Lead(result.MetricCPU, g); ok {
		said = append(said, fmt.Sprintf("With %s, %s.", d.Caption(g), l.Sentence(fmt.Sprintf("used the least CPU (%s µs per message)", format.Sig(l.Value.Mean)))))
	} else {
		said = append(said, fmt.Sprintf("With %s, no CPU was measured.", d.Caption(g)))
	}
	for _, g := range d.ClosedLoops() {
		if cells := g.ByRate(); len(cells) > 0 {
			said = append(said, fmt.Sprintf("With %s, %s had the highest mean (%s messages per second); the table has the verdicts.", d.Caption(g), cells[0].Subject, format.Rate(cells[0].Rate().Mean)))
		}
	}
	return report.Answer{Sentences: said, Figure: d.MainFigure(), Caveats: http.Report{}.Answer(d).Caveats}
}

// Sections returns the sections of a report.
func (Report) Sections(d *report.Digest) []report.Section {
	return []report.Section{
		cost(d), closed(d), d.SweepSection(), d.RatiosSection(result.MetricCV), d.ControlSection(), d.RejectionsSection(), d.MemorySection(), d.TimeSection(), d.TrialsSection(),
		d.AccountingSection(), d.WindowsSection(), d.SubjectsSection("How each subject handles a message"), d.OfferedSection(), d.ColdSection(), d.MachineSection(),
		d.LimitationsSection("Connections stay open, and each message has one answer: these figures do not include upgrades, compression, or messages that a server sends unasked."),
		d.CommandSection(),
	}
}

// cost ranks the subjects under every load.
func cost(d *report.Digest) report.Section {
	return report.Section{ID: "cost", Title: "CPU per message",
		How:    "CPU of the server's whole process tree, lowest first. A message includes its answer. Generator and Machine are the CPU of the load generator and of the whole machine per message, in the same trials. " + d.Correction(result.MetricCPU),
		Blocks: d.PerGroupTable(d.RankTable)}
}

// closed shows the rates of closed loops.
func closed(d *report.Digest) report.Section {
	s := report.Section{ID: "closed", Title: "Messages per second in a closed loop",
		How: "A connection sends its next message when it has the answer, so the server sets the rate. " + d.Correction(result.MetricRate)}
	for _, g := range d.ClosedLoops() {
		s.Blocks = append(s.Blocks, report.Block{Table: d.RateTable(g)}, d.GeneratorBound(g))
	}
	return s
}

// Summary returns the ranking by CPU, and the tables of rates.
func (Report) Summary(d *report.Digest) []*report.Table {
	tables := d.RankSummaries(d.Busiest())
	for _, g := range d.ClosedLoops() {
		tables = append(tables, d.RateTable(g))
	}
	return tables
}

// TeX returns the table of HTTP requests, in the words of messages.
func (Report) TeX(d *report.Digest) []report.TeXTable {
	tables := http.Report{}.TeX(d)
	for i := range tables {
		tables[i].Caption = strings.ReplaceAll(tables[i].Caption, "request", "message")
	}
	return tables
}

// Describe describes a load: "15 messages/s of 100 bytes per connection to /echo".
func (Report) Describe(l result.Load) string {
	s := fmt.Sprintf("%s messages/s of %s bytes per connection to %s", format.Short(l.Rate), format.Count(l.Size), l.Requests.Path)
	if l.Rate == 0 {
		s = fmt.Sprintf("a closed loop of messages of %s bytes to %s", format.Count(l.Size), l.Requests.Path)
	}
	if l.Requests.Mix != "" {
		s += ", " + l.Requests.Mix
	}
	if l.Requests.Pattern != "" {
		s += ", arrivals " + format.Pattern(l.Requests.Pattern)
	}
	if l.Requests.TLS {
		s += ", by TLS"
	}
	if l.Requests.Cold {
		s += ", no warm-up"
	}
	return s
}
