package stack

import (
	"fmt"
	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// Report is the kind of reports on TCP/IP stacks, whose operations differ from load to load.
type Report struct{}

// digest is a run of operations.
type digest struct{ *report.Digest }

// Units returns the words for an operation.
func (Report) Units() (one, many string) { return "operation", "operations" }

// Caption identifies a group: "pings, 10 flows".
func (Report) Caption(d *report.Digest, g *report.Group) string {
	return g.Load + ", " + digest{d}.clients(g)
}

// Busiest returns the groups with the most connections of the first load.
func (Report) Busiest(d *report.Digest) []*report.Group { return d.MostConnected() }

// Answer compares the stacks in each operation with the fewest clients.
func (Report) Answer(d *report.Digest) report.Answer {
	return digest{d}.answer()
}

// Sections returns the sections of a report.
func (Report) Sections(d *report.Digest) []report.Section {
	run := digest{d}
	return []report.Section{
		run.operationsSection(), run.growthSection(), run.coresSection(), d.RatiosSection(result.MetricRate, result.MetricLatency), d.ControlSection(), d.RejectionsSection(),
		run.paperSection(), run.collectorSection(), d.MemorySection(), d.SubjectsSection("Descriptions of the subjects"), d.MachineSection(), run.limitationsSection(), d.CommandSection(),
	}
}

// Summary returns the tables of the operations.
func (Report) Summary(d *report.Digest) []*report.Table { return digest{d}.operationTables() }

// TeX returns the tables of the operations.
func (Report) TeX(d *report.Digest) []report.TeXTable {
	var tables []report.TeXTable
	for _, t := range (digest{d}).operationTables() {
		x := report.TeXTable{Align: t.Align, Head: []string{report.TeXHead(t.Head)}, Caption: report.TeXEscape(t.Caption)}
		from := 0
		for _, to := range append(t.Groups, len(t.Rows)) {
			x.Groups = append(x.Groups, report.TeXGroup{Rows: t.Rows[from:to]})
			from = to
		}
		tables = append(tables, x)
	}
	return tables
}

// Describe describes a load: "bulk data to the stack".
func (Report) Describe(l result.Load) string {
	o := l.Operation
	words := map[string]string{
		result.OperationPing: fmt.Sprintf("one sender, %s pings/s of each flow, evenly spaced", format.Short(l.Rate)), result.OperationConnect: "connect, transfer 4 kB, close, repeatedly",
		result.OperationIn: "bulk data to the stack", result.OperationOut: "bulk data from the stack", result.OperationBulk: "bulk data",
		result.OperationRR: "a byte to the stack and back, one at a time on each connection", result.OperationIdle: "idle connections",
	}[o.Name]
	if o.Processes {
		words = "one process of the system's ping for each flow, a ping per second each"
	}
	if o.Inside {
		words += ", over the stack's own loopback"
	}
	if o.Cores > 0 {
		words += fmt.Sprintf("; the stack on %s, its peer on the others", format.Plural(o.Cores, "core", "cores"))
	}
	return words
}
