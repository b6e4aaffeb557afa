package report

import (
	"testing"
	"weir/lab/compare"
	"weir/lab/report/format"
	"weir/lab/report/reporttest"
	"weir/lab/result"
)

// plain is a kind with every section that this package has.
type plain struct{}

func (plain) Units() (one, many string) { return "message", "messages" }

func (plain) Compare() compare.Kind { return compare.Kind{Units: plain{}.Units, Short: "msg"} }

func (plain) Describe(l result.Load) string { return "the load " + l.Name }

func (plain) Caption(d *Digest, g *Group) string {
	return format.Connections(g.Connections) + ", " + format.Pattern(g.Pattern) + d.LoadSuffix(g.Load)
}

func (plain) Busiest(d *Digest) []*Group { return d.MostConnected() }

func (plain) Answer(d *Digest) Answer {
	g, l := d.FirstLead(result.MetricCPU, d.Busiest())
	if g == nil {
		return Answer{Sentences: []string{"No CPU was measured."}}
	}
	return Answer{Sentences: []string{l.Sentence("used the least CPU") + "."}, Figure: d.MainFigure()}
}

func (plain) Sections(d *Digest) []Section {
	return []Section{
		{ID: "cost", Title: "Cost", How: "CPU.", Blocks: d.PerGroupTable(d.RankTable)}, d.RatiosSection(result.MetricCV), d.ControlSection(), d.RejectionsSection(),
		d.FloorSection("the lowest", nil), d.MemorySection(), d.TimeSection(), d.TrialsSection(), d.AccountingSection(), d.WindowsSection(),
		d.SubjectsSection("Descriptions"), d.OfferedSection(), d.ColdSection(), d.MachineSection(), d.LimitationsSection("None."), d.CommandSection(),
	}
}

func (plain) Summary(d *Digest) []*Table { return d.RankSummaries(d.Groups) }

func (plain) TeX(d *Digest) []TeXTable {
	var tables []TeXTable
	for _, g := range d.Groups {
		t := d.RankTable(g)
		tables = append(tables, TeXTable{Align: t.Align, Head: []string{TeXHead(t.Head)}, Groups: []TeXGroup{{Name: g.Load, Rows: t.Rows}}})
	}
	return tables
}

func digestOf(r *result.Results) *Digest { return NewDigest(r, plain{}) }

// runs are the runs of the tests.
var runs = map[string]func() *result.Results{"full": reporttest.Full, "quick": reporttest.Quick, "published": reporttest.Published,
	"empty": func() *result.Results { return &result.Results{Version: result.Version} }}

// markdownOf returns the report of r as Markdown.
func markdownOf(t *testing.T, r *result.Results) string {
	t.Helper()
	text, err := documentOf(digestOf(r)).markdown()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
