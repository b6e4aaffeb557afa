package stream

import (
	"fmt"
	"slices"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/report/paper"
	"weir/lab/result"
)

// Report is the kind of reports on streams of messages.
type Report struct{}

// digest is a run of streams with the subjects that correspond to the published programs.
type digest struct{ paper.Run }

func digestOf(d *report.Digest) digest {
	return digest{paper.RunOf(d, []string{publishedC, "c-fork"}, []string{publishedGo, "go-goroutine"})}
}

// Units returns the words for a message.
func (Report) Units() (one, many string) { return "message", "messages" }

// Describe describes a load: "125 messages/s of 1,000 bytes per connection".
func (Report) Describe(l result.Load) string {
	s := fmt.Sprintf("%s messages/s of %s bytes per connection", format.Short(l.Rate), format.Count(l.Size))
	if l.Bits > 0 {
		s = fmt.Sprintf("%s Mbit/s per connection in small writes, as tcpkali sends them", format.Short(l.Bits/1e6))
	}
	switch brief := fmt.Sprintf("%s short connections/s of one message of %s bytes", format.Short(l.Churn), format.Count(l.Size)); {
	case l.Churn > 0 && l.Rate == 0:
		s = brief
	case l.Churn > 0:
		s += ", " + brief
	}
	if l.Idle > 0 {
		s += fmt.Sprintf(", %s idle", format.Connections(l.Idle))
	}
	if l.WorkUS > 0 {
		s += fmt.Sprintf(", %s µs of work per message", format.Count(l.WorkUS))
	}
	if l.WaitMS > 0 {
		s += fmt.Sprintf(", %s ms of waiting per message", format.Count(l.WaitMS))
	}
	return s
}

// Caption identifies a group: "64 connections, staggered".
func (Report) Caption(d *report.Digest, g *report.Group) string {
	return format.Connections(g.Connections) + ", " + format.Pattern(g.Pattern) + d.LoadSuffix(g.Load)
}

// Busiest returns the groups with the most connections of the first load.
func (Report) Busiest(d *report.Digest) []*report.Group { return d.MostConnected() }

// Answer compares the subjects by CPU and its variation, the published programs by their ratio, or
// the capacities.
func (Report) Answer(d *report.Digest) report.Answer {
	run := digestOf(d)
	var a report.Answer
	switch {
	case len(d.Trials) == 0:
		a = run.capacityAnswer()
	case run.asPublished():
		a = report.Answer{Sentences: run.publishedAnswer(), Figure: d.MainFigure()}
	default:
		a = run.Answer()
	}
	a.Caveats = run.capacityCaveats()
	return a
}

// Sections returns the sections of a report.
func (Report) Sections(d *report.Digest) []report.Section {
	run := digestOf(d)
	return []report.Section{
		run.publishedSection(), run.detailSection(), run.orderSection(), run.ConnectionsSection(), d.SweepSection("connections"), run.saturationSection(),
		d.RatiosSection(result.MetricCV), d.ControlSection(), d.RejectionsSection(),
		d.FloorSection("the lowest CPU of this run; a floor such as c-splice would use less", run.eventBlocks()), d.MemorySection(), run.TableSection(),
		d.TimeSection(), d.TrialsSection(), d.AccountingSection(), d.WindowsSection(), run.questionsSection(), d.SubjectsSection("How each subject handles a message"),
		d.OfferedSection(), d.ColdSection(), d.MachineSection(),
		d.LimitationsSection("A server that only transfers bytes is not a service. One that parses, stores or computes uses most of its CPU for that, and the share of the concurrency model is smaller: --work-us and --wait-ms show by how much."),
		d.CommandSection(),
	}
}

// Summary returns the capacities and the ranking of each group.
func (Report) Summary(d *report.Digest) []*report.Table {
	return slices.Concat(digestOf(d).capacityTables(), d.RankSummaries(d.Groups))
}

// TeX returns the paper's tables.
func (Report) TeX(d *report.Digest) []report.TeXTable { return digestOf(d).TeX() }
