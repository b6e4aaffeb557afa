package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"weir/lab/report/figure"
)

// TeXTable is a table for LaTeX. The first of a report can replace the paper's table by \input: it
// has the same label tab_results.
type TeXTable struct {
	Size, Space string // of the text and between columns; empty: \scriptsize and 2pt
	Align       string // for tabular
	Head        []string
	Groups      []TeXGroup
	Caption     string // in LaTeX, as Head
}

// TeXGroup is a group of rows with a line below it. A group with a name has it in a column of its
// own, before the cells of its rows.
type TeXGroup struct {
	Name string
	Rows [][]string
}

//go:embed tex.tmpl
var texSource string

var texTemplate = template.Must(template.New("tex").Funcs(template.FuncMap{
	"tex":   TeXEscape,
	"inc":   func(i int) int { return i + 1 },
	"cells": func(row []string, n int) string { return strings.Join(texCells(row, n%2 == 1), " & ") },
	// reports whether a column of names spans the rows of groups
	"spanning": func(tables []TeXTable) bool {
		return len(tables) == 0 || slices.ContainsFunc(tables, func(t TeXTable) bool { return len(t.Groups) > 0 && t.Groups[0].Name != "" })
	},
}).Parse(texSource))

// tex returns the tables of a run for LaTeX.
func (d *Digest) tex() ([]byte, error) {
	var b bytes.Buffer
	for _, s := range d.headlineSentences() {
		fmt.Fprintf(&b, "%% %s\n", TeXEscape(s))
	}
	err := texTemplate.Execute(&b, append(d.kneeTeX(), d.kind.TeX(d)...))
	return b.Bytes(), err
}

// TeXHead returns the column headings as a line of LaTeX.
func TeXHead(cells []string) string { return strings.Join(texCells(cells, false), " & ") }

// texCells escapes cells, and shades them if wanted.
func texCells(cells []string, shaded bool) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		if out[i] = TeXEscape(c); shaded {
			out[i] = `\cellcolor[gray]{0.9}` + out[i]
		}
	}
	return out
}

var texSpecial = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "µ", `$\mu$`, "–", "--", "×", `$\times$`, "\u00a0", " ")

// TeXEscape escapes s for LaTeX. Characters beyond ASCII, which old installations do not support,
// become question marks.
func TeXEscape(s string) string {
	s = texSpecial.Replace(figure.Clean(s))
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, s)
}
