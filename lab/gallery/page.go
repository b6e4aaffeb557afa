package gallery

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
)

//go:embed page.tmpl
var source string

//go:embed page.css
var style string

//go:embed sort.js
var script string

var page = template.Must(template.New("gallery").Funcs(template.FuncMap{
	"style":    func() template.CSS { return template.CSS(report.Style() + style) },
	"script":   func() template.JS { return template.JS(script) },
	"policy":   policy,
	"arrivals": func(pattern string) string { return format.Pattern(pattern) },
}).Parse(source))

// policy returns the page's Content-Security-Policy: its own style and its own script, no request.
func policy() string {
	sum := sha256.Sum256([]byte(script))
	return fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'", base64.StdEncoding.EncodeToString(sum[:]))
}

// HTML returns the gallery as one page without external resources.
func (g *Gallery) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, g)
	return b.Bytes(), err
}

// Summary is the gallery's size in words: "3 runs on 2 machines, 24 cells".
func (g *Gallery) Summary() string {
	cells := 0
	if len(g.Tables) > 0 {
		cells = len(g.Tables[0].Rows)
	}
	return fmt.Sprintf("%s on %s, %s", format.Plural(len(g.Columns), "run", "runs"), format.Plural(len(g.Machines), "machine", "machines"), format.Plural(cells, "cell", "cells"))
}

// LoadNames returns the names of the loads, each once.
func (g *Gallery) LoadNames() []string {
	return names(g, func(r Row) string { return r.Load })
}

// Patterns returns the arrival patterns, each once.
func (g *Gallery) Patterns() []string {
	return names(g, func(r Row) string { return r.Pattern })
}

// names returns the different values of a property of rows, in their order.
func names(g *Gallery, of func(Row) string) (all []string) {
	seen := map[string]bool{}
	for _, t := range g.Tables {
		for _, r := range t.Rows {
			if v := of(r); !seen[v] {
				seen[v] = true
				all = append(all, v)
			}
		}
	}
	return all
}

// Markdown returns the gallery's tables as Markdown.
func (g *Gallery) Markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Weir: a gallery of runs\n\n%s.\n\n", g.Summary())
	for _, p := range g.Problems {
		fmt.Fprintf(&b, "- Left out: %s\n", report.EscapeMarkdown(p))
	}
	b.WriteString("\n## Machines\n\n")
	markRow(&b, "Machine", "Processor", "Cores", "Memory", "Kernel", "Virtual")
	b.WriteString("| --- | --- | ---: | ---: | --- | --- |\n")
	for _, m := range g.Machines {
		markRow(&b, m.Name, m.CPU, fmt.Sprint(m.Cores), m.Memory, m.Kernel, m.Virtual)
	}
	b.WriteString("\n## Runs\n\n")
	markRow(&b, "Run", "Machine", "Experiment", "Weir", "Started (UTC)", "Accepted trials", "Settings")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range g.Columns {
		markRow(&b, c.Name, c.Machine, c.Experiment, c.Weir, c.Started, c.Trials, c.Settings)
	}
	for _, t := range g.Tables {
		g.markTable(&b, t)
	}
	return []byte(b.String())
}

func (g *Gallery) markTable(b *strings.Builder, t Table) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", t.Title, t.How)
	head := []string{"Subject", "Load", "Connections", "Arrivals"}
	for _, c := range g.Columns {
		head = append(head, fmt.Sprintf("%s (%s, %s)", c.Name, c.Machine, c.Weir))
	}
	markRow(b, head...)
	fmt.Fprintf(b, "| --- | --- | ---: | --- |%s\n", strings.Repeat(" ---: |", len(g.Columns)))
	for _, r := range t.Rows {
		cells := []string{r.Subject, r.Workload + ": " + r.Load, fmt.Sprint(r.Connections), format.Pattern(r.Pattern)}
		for _, f := range r.Figures {
			cells = append(cells, f.String())
		}
		markRow(b, cells...)
	}
	if t.Omitted > 0 {
		fmt.Fprintf(b, "\n%s left out.\n", format.Plural(t.Omitted, "row is", "rows are"))
	}
}

// String is the figure with its interval and versions: "8.31 (8.10 to 8.52) go1.26.8".
func (f Figure) String() string {
	if !f.Known {
		return format.Absent
	}
	s := f.Text
	if f.Interval != "" {
		s += " (" + f.Interval + ")"
	}
	return strings.TrimSpace(s + " " + f.Version)
}

func markRow(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		fmt.Fprintf(b, "| %s ", report.EscapeMarkdown(c))
	}
	b.WriteString("|\n")
}
