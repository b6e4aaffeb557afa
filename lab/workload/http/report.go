package http

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// Report is the kind of reports on web servers. A load has one arrival pattern.
type Report struct{}

// digest is a run of requests.
type digest struct{ *report.Digest }

// Units returns the words for a request.
func (Report) Units() (one, many string) { return "request", "requests" }

// Caption identifies a group: "4000/s, 100 connections".
func (Report) Caption(_ *report.Digest, g *report.Group) string {
	return g.Load + ", " + format.Connections(g.Connections)
}

// Busiest returns the group with the highest rate that every subject answered.
func (Report) Busiest(d *report.Digest) []*report.Group { return digest{d}.representative() }

// Answer names the server with the least CPU, the cost of composition, the rates that the servers
// kept up with, and the loads that cannot rank servers.
func (Report) Answer(d *report.Digest) report.Answer {
	if len(d.Groups) == 0 {
		return report.Answer{}
	}
	return report.Answer{Sentences: digest{d}.answer(), Figure: d.MainFigure(), Caveats: digest{d}.tlsCaveats()}
}

// Sections returns the sections of a report. Its loads differ in the rate and in the server's work.
func (Report) Sections(d *report.Digest) []report.Section {
	run := digest{d}
	return []report.Section{
		run.sweepSection(), d.SweepSection("rate"), run.closedSection(), run.filtersSection(), run.gzipSection(), run.costSection(), d.RatiosSection(result.MetricCV), d.ControlSection(), d.RejectionsSection(),
		d.FloorSection("the lowest CPU of this run", nil), d.MemorySection(), d.TimeSection(), d.TrialsSection(), d.AccountingSection(), d.WindowsSection(),
		d.SubjectsSection("How each subject handles a request"), d.OfferedSection(), d.ColdSection(), d.MachineSection(),
		d.LimitationsSection("One small file, requested repeatedly, is not a web site: it is always cached. These figures do not include many files, large files, TLS or slow clients."),
		d.CommandSection(),
	}
}

// Summary returns the ranking by CPU, and the tables that only loads of requests have.
func (Report) Summary(d *report.Digest) []*report.Table {
	run := digest{d}
	tables := slices.Concat(d.RankSummaries(run.representative()), run.sweepTables(run.sweep()))
	for _, g := range d.ClosedLoops() {
		tables = append(tables, run.loopTable(g))
	}
	return slices.Concat(tables, []*report.Table{run.filtersTable()}, run.gzipTables())
}

// TeX returns a table of what an answer cost and how soon it came, under the load that tells most
// and in closed loops.
func (Report) TeX(d *report.Digest) []report.TeXTable {
	if len(d.Groups) == 0 {
		return nil
	}
	t := report.TeXTable{Align: "c|lrrrr", Head: []string{`Load & Subject & $\mu$s & answers/s & p50 [ms] & p99 [ms]`},
		Caption: fmt.Sprintf(`CPU of the whole process tree per answered %s in $\mu$s, answered %s per second, and time to the answer, by load; -- means not measured.`, d.Unit(), d.Units())}
	groups := slices.Concat(digest{d}.representative(), d.ClosedLoops())
	for i, g := range groups {
		var rows [][]string
		for _, c := range g.Cells {
			if len(c.Trials) > 0 {
				rows = append(rows, []string{c.Subject, format.Sig(c.PerMessage.Mean), format.Short(c.Rate().Mean), format.Sig(c.Millis(report.P50)), format.Sig(c.Millis(report.P99))})
			}
		}
		if len(rows) > 0 && slices.Index(groups, g) == i {
			t.Groups = append(t.Groups, report.TeXGroup{Name: g.Load, Rows: rows})
		}
	}
	return []report.TeXTable{t}
}

// Describe describes a load: "40 requests/s per connection for /4k.html".
func (Report) Describe(l result.Load) string {
	s := fmt.Sprintf("%s requests/s per connection for %s", format.Short(l.Rate), l.Requests.Path)
	if l.Rate == 0 {
		s = "a closed loop for " + l.Requests.Path
	}
	if l.Requests.Mix != "" {
		s = strings.TrimSuffix(s, l.Requests.Path) + "described requests (" + l.Requests.Mix + ")"
	}
	switch {
	case l.Size > 0 && strings.Contains(s, sizeHere):
		s = strings.ReplaceAll(s, sizeHere, strconv.Itoa(l.Size))
	case l.Size > 0:
		s += ", a POST of " + format.Count(l.Size) + " bytes"
	}
	if l.Requests.HTTP2 {
		s += ", by HTTP/2 with " + format.Plural(max(l.Requests.Streams, 1), "stream", "streams")
	}
	return s + DescribeRest(l.Requests)
}

// DescribeRest describes the settings of loads of requests, of calls and of WebSocket messages that
// are described alike, to be appended: ", arrivals poisson, by TLS".
func DescribeRest(q result.Requests) (s string) {
	if q.Pattern != "" {
		s += ", arrivals " + format.Pattern(q.Pattern)
	}
	if q.Count > 0 {
		s += fmt.Sprintf(", %s requests", format.Count(q.Count))
	}
	if q.NoKeepAlive {
		s += ", a connection for each"
	}
	if q.TLS {
		s += ", by TLS"
	}
	if q.SleepEvery > 0 {
		s += fmt.Sprintf(", one in %d sleeps %s ms", q.SleepEvery, format.Count(q.SleepMS))
	}
	if q.Filters > 0 {
		s += ", " + format.Plural(q.Filters, "pass-through component", "pass-through components")
	}
	if q.Gzip {
		s += ", compressed"
	}
	if q.Cold {
		s += ", no warm-up"
	}
	return s
}
