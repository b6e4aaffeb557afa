package grpc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
func (Report) Compare() compare.Kind {
	k := http.Report{}.Compare()
	k.Units, k.Short, k.OrMeans, k.Describe = Report{}.Units, "call", ", or answered more calls per second", Report{}.Describe
	k.Figures = slices.Clone(k.Figures)
	k.Figures[0].Unit = "calls/s"
	return k
}

// maxSentences is the number of sentences of an answer.
const maxSentences = 3

// Answer names the server with the least CPU per call, and the fastest of each closed loop.
func (Report) Answer(d *report.Digest) report.Answer {
	if len(d.Groups) == 0 {
		return report.Answer{}
	}
	said := []string{least(d, d.Busiest()[0])}
	for _, g := range d.ClosedLoops() {
		if cells := g.ByRate(); len(cells) > 0 && len(said) < maxSentences {
			said = append(said, fastest(d, g, cells))
		}
	}
	return report.Answer{Sentences: said, Figure: d.MainFigure(), Caveats: http.Report{}.Answer(d).Caveats}
}

// least names the server with the least CPU in a group.
func least(d *report.Digest, g *report.Group) string {
	l, ok := d.Lead(result.MetricCPU, g)
	if !ok {
		return fmt.Sprintf("With %s, no CPU was measured.", d.Caption(g))
	}
	return fmt.Sprintf("With %s, %s.", d.Caption(g), l.Sentence(fmt.Sprintf("used the least CPU (%s µs per call)", format.Sig(l.Value.Mean))))
}

// fastest names the server that answered the most calls in a closed loop, and those that cannot be
// distinguished from it. The cells are in the order of their rates.
func fastest(d *report.Digest, g *report.Group, cells []*report.Cell) string {
	s := fmt.Sprintf("With %s, %s answered the most calls (%s per second)", d.Caption(g), cells[0].Subject, format.Rate(cells[0].Rate().Mean))
	var tied []string
	for _, c := range cells[1:] {
		if v, ok := d.Versus(result.MetricRate, g, cells[0].Subject, c.Subject); !ok || v.Verdict != result.Different {
			tied = append(tied, c.Subject)
		}
	}
	if len(tied) == 0 {
		return s + "."
	}
	return s + "; not significantly different: " + format.List(tied) + "."
}

// Sections returns the sections of a report.
func (Report) Sections(d *report.Digest) []report.Section {
	return []report.Section{
		cost(d), closed(d), answers(d), d.SweepSection(), d.RatiosSection(result.MetricCV), d.ControlSection(), d.RejectionsSection(), d.MemorySection(), d.TimeSection(), d.TrialsSection(),
		d.AccountingSection(), d.WindowsSection(), d.SubjectsSection("How each subject handles a call"), d.OfferedSection(), d.ColdSection(), d.MachineSection(),
		d.LimitationsSection("One method with one message, called repeatedly: these figures do not include streams, compression, or the work of a real service."),
		d.CommandSection(),
	}
}

// cost ranks the subjects under every load.
func cost(d *report.Digest) report.Section {
	return report.Section{ID: "cost", Title: "CPU per call",
		How:    "CPU of the server's whole process tree, lowest first. Generator and Machine are the CPU of the load generator and of the whole machine per call, in the same trials. " + d.Correction(result.MetricCPU),
		Blocks: d.PerGroupTable(d.RankTable)}
}

// closed shows the rates of closed loops.
func closed(d *report.Digest) report.Section {
	s := report.Section{ID: "closed", Title: "Calls per second in a closed loop",
		How: "A stream sends its next call when it has the answer, so the server sets the rate. " + d.Correction(result.MetricRate)}
	for _, g := range d.ClosedLoops() {
		s.Blocks = append(s.Blocks, report.Block{Table: d.RateTable(g)}, d.GeneratorBound(g))
	}
	return s
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
		attempted, answered, errors := outcome(c)
		t.Add(c.Subject, format.Percent(min(1, answered/attempted)), format.Sig(c.Millis(report.P50)), format.Sig(c.Millis(report.P99)), errors)
	}
	return t
}

// outcome returns how many calls of a cell were due and how many were answered, and the errors.
func outcome(c *report.Cell) (attempted, answered float64, errors string) {
	var kinds format.Tally
	for _, t := range c.Trials {
		if t.HTTP == nil {
			continue
		}
		attempted, answered = attempted+float64(t.HTTP.Attempted), answered+float64(t.Messages)
		for _, kind := range slices.Sorted(maps.Keys(t.HTTP.Errors)) {
			kinds.Add(kind, t.HTTP.Errors[kind])
		}
	}
	if errors = strings.Join(kinds.ByCount().Phrases("%s %s"), ", "); errors == "" {
		errors = "none"
	}
	return attempted, answered, errors
}

// Summary returns the ranking by CPU, and the tables of rates.
func (Report) Summary(d *report.Digest) []*report.Table {
	tables := d.RankSummaries(d.Busiest())
	for _, g := range d.ClosedLoops() {
		tables = append(tables, d.RateTable(g))
	}
	return tables
}

// TeX returns the table of HTTP requests, in the words of calls.
func (Report) TeX(d *report.Digest) []report.TeXTable {
	tables := http.Report{}.TeX(d)
	for i := range tables {
		tables[i].Caption = strings.ReplaceAll(tables[i].Caption, "request", "call")
	}
	return tables
}

// Describe describes a load: "40 calls/s per connection of /helloworld.Greeter/SayHello, 7 bytes".
func (Report) Describe(l result.Load) string {
	s := fmt.Sprintf("%s calls/s per connection of %s", format.Short(l.Rate), l.Requests.Path)
	if l.Rate == 0 {
		s = "a closed loop of calls of " + l.Requests.Path
	}
	s += fmt.Sprintf(", %s (%s), %s", format.Plural(l.Size, "byte", "bytes"), l.Requests.Mix, format.Plural(max(l.Requests.Streams, 1), "stream", "streams"))
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
